import { lazy } from '../../collections/lazy.ts';
import { sameTaint, type Taint, taintIdentity, valuesOf } from '../../kubernetes/taint.ts';
import { NOT_READY_KEY } from '../../kubernetes/well-known-taints.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import {
  enforcedAmong,
  enforcedWithoutAuditAmong,
  isProtectedBy,
  protectorsOf,
  selectingPolicies,
} from '../../policy/policy-index.ts';
import { isRemovalAllowed, keepsOff, parseAllowedRemovals } from '../allow-removal.ts';
import { allAllowRemovalByAnnotation } from '../ended-startup-taints.ts';
import type { StoredNode } from '../node-view.ts';
import { abandonedTaints, type TrackedTaint, type UndeclaredTaint, undeclaredTaints } from './abandoned-taints.ts';
import type { Blocker } from './blocker.ts';
import { lastingObstaclesOn } from './lasting-obstacles.ts';
import { type BootChange, bootChange, rebootBlockers, recordedReboot, waitsSince } from './reboot.ts';
import type { RemovableTaint } from './removable-taint.ts';
import { givenUpText, readyText } from './removal-reason.ts';
import {
  carriedAmong,
  type StartupRequirement,
  type StartupTaints,
  startupRequirements,
  startupTaintsOf,
} from './startup-requirement.ts';
import { isDueToDelete, type UnusedRecord, unusedRecordOf } from './unused-record.ts';
import type { WaitingTaint } from './waiting-taint.ts';

/** For how long after its creation a node gets a startup taint late, in milliseconds. Nodes register while the webhook is unavailable. */
export const REGISTRATION_MS = 600_000;

/** The taint of the node lifecycle controller on a node that is not Ready. */
const NOT_READY: Taint = { key: NOT_READY_KEY, effect: 'NoSchedule' };

export interface StartupFacts {
  /** The parts of `readyWhen` that do not hold on the node, or are not known to. None if all hold. */
  readonly blockers: (requirement: StartupRequirement, startup: StartupTaints) => readonly Blocker[];
  /** What {@link StartupStep.tracked} was before. */
  readonly tracked: readonly TrackedTaint[];
  /** What {@link StartupStep.unusedRecord} was before. */
  readonly unusedRecord: UnusedRecord;
  /** The taints that the leader set again after the last reboot, that the API server did not store, and that are still missing. */
  readonly unstored: readonly Taint[];
  /** Whether all policies could be read: one that could not may have the taint. */
  readonly isComplete: boolean;
  /** In milliseconds of the monotonic clock. */
  readonly now: number;
  /** The time of the API server, in milliseconds since the epoch. */
  readonly apiTime: number;
}

export interface StartupStep {
  /** The taints to remove. */
  readonly removable: readonly RemovableTaint[];
  /** The taints for which the annotation allow-removal gets an entry, so that the next write may remove them. */
  readonly needEntry: readonly Pick<RemovableTaint, 'taint' | 'policyNames'>[];
  /** The taints to set on the node, which is registering, lacks them and is not ready. How it lost them is not known. */
  readonly toSetLate: readonly StartupRequirement[];
  /** What to record of the boot of the node, in the same write as {@link toSetAgain}; or that no policy has used the record for ten seconds. */
  readonly boot: BootChange | undefined;
  readonly unusedRecord: UnusedRecord;
  /** The taints to set on the node again, because it has rebooted: with the record of the boot, or later if the API server did not store them. */
  readonly toSetAgain: readonly StartupRequirement[];
  /** Those of {@link StartupFacts.unstored} that would still have to wait. Once `readyWhen` has held, a taint of this boot is not set again. */
  readonly stillDue: readonly Taint[];
  /** The taints that wait. */
  readonly waiting: readonly WaitingTaint[];
  readonly tracked: readonly TrackedTaint[];
}

/** The taints with `afterReboot: SetAgain` among those that are set again or still wait. */
export function rebootTaints({
  toSetAgain,
  waiting,
}: Pick<StartupStep, 'toSetAgain' | 'waiting'>): StartupRequirement[] {
  return [...toSetAgain, ...waiting.map(({ requirement }) => requirement)].filter(({ setsAgain }) => setsAgain);
}

const NOTHING: StartupStep = {
  removable: [],
  needEntry: [],
  toSetLate: [],
  boot: undefined,
  unusedRecord: undefined,
  toSetAgain: [],
  stillDue: [],
  waiting: [],
  tracked: [],
};

/**
 * What a node needs for its startup taints. A taint is removed whenever the node carries it and `readyWhen` holds, or its policies give up: at any
 * age of the node, and also after another writer brought it back. Another policy that protects it, or requires it, wins.
 *
 * With `--audit`, no taint is set, and those that are on nodes are removed all the same: nothing else would remove them.
 *
 * The boot of a node is recorded for `afterReboot: SetAgain` also where its taints are not set again, because another policy protects them or an entry
 * keeps them off: once that ends, the node has run for long. Where no policy uses the record any more, it is deleted, also with `--audit`.
 */
export function startupStep(
  node: StoredNode,
  policies: readonly CompiledTaintPolicy[],
  facts: StartupFacts,
): StartupStep {
  const inAnyMode = selectingPolicies(policies, node.labels);
  const enforcing = enforcedWithoutAuditAmong(inAnyMode);
  const requirements = startupRequirements(enforcing);
  const unusedRecord = unusedRecordOf(node, requirements, facts);
  if (requirements.length + facts.tracked.length === 0 && unusedRecord === undefined) return NOTHING;
  const valueByTaint = valuesOf(node.taints);
  const carriedRequirements = carriedAmong(requirements, valueByTaint, enforcing);
  const startup = startupTaintsOf(carriedRequirements, enforcing);
  const situation: Situation = { node, enforcing, valueByTaint, startup, facts };
  const settable = startupRequirements(enforcedAmong(inAnyMode));
  const boot = bootChangeFor([...settable, ...carriedRequirements], unusedRecord, situation);
  const missing = settable.filter((requirement) => isMissing(requirement, situation));
  const stillDue = missing.filter((requirement) => isStillDue(requirement, situation));
  const isDueAgain = (requirement: StartupRequirement) =>
    requirement.setsAgain && (boot?.kind === 'SetAgain' || stillDue.includes(requirement));
  const actions = carriedRequirements.map((requirement) => nextActionFor(requirement, situation));
  const waits = actions.flatMap((action) => (action.kind === 'Wait' ? action.taint : []));
  const undeclared = undeclaredTaints(situation);
  const lastingObstaclesTo = lastingObstaclesOn(waits, keptTaints(situation, undeclared));
  const waiting = waits.map((one) => ({ ...one, lastingObstacles: lastingObstaclesTo(one) }));
  const abandoned = abandonedTaints(undeclared, node, facts.now);
  return {
    removable: [...actions.flatMap((action) => (action.kind === 'Remove' ? action.taint : [])), ...abandoned.removable],
    needEntry: abandoned.needEntry,
    toSetLate: missing.filter((requirement) => !isDueAgain(requirement) && isSetLate(requirement, situation)),
    boot,
    unusedRecord,
    toSetAgain: missing.filter((requirement) => isDueAgain(requirement) && !isKeptOff(requirement, situation)),
    stillDue: stillDue.map(({ taint }) => taint),
    waiting,
    tracked: [
      // Also those to remove: the write may fail, and their policy may end before the next one.
      ...carriedRequirements.map((requirement) => ({ requirement, undeclaredSince: undefined })),
      ...undeclared.map(({ requirement, undeclaredSince }) => ({ requirement, undeclaredSince })),
    ],
  };
}

/** A node, with what decides about its startup taints. */
interface Situation {
  readonly node: StoredNode;
  /** The policies that select the node and are enforced, or would be without `--audit`: see {@link enforcedWithoutAuditAmong}. */
  readonly enforcing: readonly CompiledTaintPolicy[];
  /** The value of each taint of the node: see {@link valuesOf}. */
  readonly valueByTaint: ReadonlyMap<string, string>;
  readonly startup: StartupTaints;
  readonly facts: StartupFacts;
}

function bootChangeFor(
  requirements: readonly StartupRequirement[],
  unusedRecord: UnusedRecord,
  { node, facts }: Situation,
): BootChange | undefined {
  if (requirements.some(followsBoot)) return bootChange(node, facts.apiTime);
  return isDueToDelete(unusedRecord, facts.now) ? { kind: 'Delete', startupBoot: null } : undefined;
}

/** Whether the boot of the node is recorded for it. */
function followsBoot({ setsAgain, unknownParts }: StartupRequirement): boolean {
  return setsAgain && unknownParts.length === 0;
}

/** Whether the node lacks the taint, and policies and version let taintkeeper set it. */
function isMissing({ taint, unknownParts }: StartupRequirement, { enforcing, valueByTaint }: Situation): boolean {
  // A policy with an unknown part is left to a version that knows it.
  return !valueByTaint.has(taintIdentity(taint)) && unknownParts.length === 0 && !isProtectedBy(enforcing, taint);
}

/** Whether the node gets the taint now, because it is registering, lacks it and is not ready. Perhaps it registered without it, or a user has removed it. */
function isSetLate(requirement: StartupRequirement, situation: Situation): boolean {
  return (
    isRegistering(situation) &&
    !isGivenUp(requirement, situation) &&
    !isKeptOff(requirement, situation) &&
    // Asked last: it may begin watches of the node.
    isUnready(requirement, situation)
  );
}

function isRegistering(situation: Situation): boolean {
  return ageMs(situation) < REGISTRATION_MS && situation.valueByTaint.has(taintIdentity(NOT_READY));
}

/** Whether a part of `readyWhen` certainly does not hold, by the taints that the node would have. */
function isUnready(requirement: StartupRequirement, situation: Situation): boolean {
  const { startup, facts } = withTaint(requirement, situation);
  return facts.blockers(requirement, startup).some(({ state }) => state === 'Unmet');
}

/** Whether the API server did not store the taint after the reboot, and it would stay on the node if it were there. */
function isStillDue(requirement: StartupRequirement, situation: Situation): boolean {
  return (
    situation.facts.unstored.some((taint) => sameTaint(taint, requirement.taint)) &&
    nextActionFor(requirement, withTaint(requirement, situation)).kind === 'Wait'
  );
}

/** The situation if the node had the taint. */
function withTaint({ taint }: StartupRequirement, situation: Situation): Situation {
  const { startup } = situation;
  return { ...situation, startup: { ...startup, untilReady: [...startup.untilReady, taint] } };
}

/** Whether an entry of the annotation allow-removal keeps the taint off the node. */
function isKeptOff({ taint, policyNames, values }: StartupRequirement, { node, enforcing }: Situation): boolean {
  const allowed = parseAllowedRemovals(node.allowRemoval);
  return (
    keepsOff(allowed, { taint, anyValue: values === undefined }) &&
    enforcing.some(({ name, allowsRemovalByAnnotation }) => allowsRemovalByAnnotation && policyNames.includes(name))
  );
}

/** What is to be done about a startup taint that the node carries. */
type NextAction =
  | { readonly kind: 'Remove'; readonly taint: RemovableTaint }
  | { readonly kind: 'Wait'; readonly taint: Omit<WaitingTaint, 'lastingObstacles'> };

function nextActionFor(requirement: StartupRequirement, situation: Situation): NextAction {
  const { taint, policyNames, setsAgain } = requirement;
  const { node, startup, facts } = situation;
  const blockers = [
    ...unknownBlockers(requirement),
    ...(setsAgain ? rebootBlockers(node, facts.apiTime) : []),
    ...facts.blockers(requirement, startup),
  ];
  if (blockers.length === 0) return { kind: 'Remove', taint: { taint, policyNames, reason: readyText(requirement) } };
  if (isGivenUp(requirement, situation) && blockers.every(mayBeGivenUp)) {
    const reason = givenUpText(requirement, blockers);
    return { kind: 'Remove', taint: { taint, policyNames, reason, isGivenUp: true } };
  }
  const forMs = waitedMs(requirement, situation);
  const isOverdue = forMs > requirement.progressDeadlineMs;
  const rebootedAt = setsAgain ? recordedReboot(node, facts.apiTime) : undefined;
  return { kind: 'Wait', taint: { requirement, rebootedAt, blockers, forMs, isOverdue } };
}

/** Whether a policy keeps a taint on the node: it protects the taint, exempts no user, and no entry allows the removal. */
function keptTaints({ node, enforcing }: Situation, undeclared: readonly UndeclaredTaint[]): (taint: Taint) => boolean {
  const allowed = lazy(() => parseAllowedRemovals(node.allowRemoval));
  return (taint) => {
    // One whose policy has ended is removed in some seconds.
    const isEnding = undeclared.some(
      (one) => sameTaint(one.taint, taint) && allAllowRemovalByAnnotation(one.protectors),
    );
    if (isEnding) return false;
    return protectorsOf(enforcing, taint).some(
      ({ exemptsUsers, allowsRemovalByAnnotation }) =>
        !exemptsUsers && !(allowsRemovalByAnnotation && isRemovalAllowed(allowed(), taint)),
    );
  };
}

function ageMs({ node, facts }: Situation): number {
  return Math.max(0, facts.apiTime - (node.createdAt ?? 0));
}

/** For how long the node has waited, or would have waited, with the taint. */
function waitedMs({ setsAgain }: StartupRequirement, situation: Situation): number {
  const { node, facts } = situation;
  return setsAgain ? Math.max(0, facts.apiTime - waitsSince(node, facts.apiTime)) : ageMs(situation);
}

/** Whether the policies no longer keep the taint on a node that has waited for so long. */
function isGivenUp(requirement: StartupRequirement, situation: Situation): boolean {
  const { removeAfterMs = Number.POSITIVE_INFINITY } = requirement;
  return waitedMs(requirement, situation) > removeAfterMs;
}

/**
 * What has not been read yet may hold, and the reason for the removal would be wrong. A missing right may stay missing, and an object unreadable. A newer
 * version of the program may know the part.
 */
function mayBeGivenUp({ state }: Blocker): boolean {
  return state !== 'Unread' && state !== 'Unknown';
}

/** An earlier version of the program would otherwise remove the taint before the part holds. */
function unknownBlockers({ unknownParts }: StartupRequirement): Blocker[] {
  if (unknownParts.length === 0) return [];
  const fields = unknownParts.join(', ');
  return [{ text: `what this version of taintkeeper does not know: ${fields}`, state: 'Unknown' }];
}

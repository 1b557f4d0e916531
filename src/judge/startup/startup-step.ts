import { formatTaint, identity, sameTaint, type Taint, valuesOf } from '../../kubernetes/taint.ts';
import { rfc3339 } from '../../kubernetes/time.ts';
import { enforcedPolicies, isProtectedBy } from '../../policy/policy-index.ts';
import type { CompiledTaintPolicy } from '../../policy/policy-set.ts';
import { joinedParts, type ReadyDaemonSet, type ReadyParts } from '../../policy/ready-when.ts';
import { oncePer } from '../../runtime/once-per.ts';
import { keepsOff, parseAllowedRemovals } from '../allow-removal.ts';
import { POLICY_GONE_MS } from '../ended-startup-taints.ts';
import type { NodeView, StoredNode } from '../node-view.ts';
import { allocatableText } from './allocatable.ts';
import type { Blocker } from './blocker.ts';
import { conditionText } from './conditions.ts';
import { csiDriverText } from './csi-drivers.ts';
import { type BootChange, bootChange, rebootBlockers, recordedReboot, waitsSince } from './reboot.ts';

/** For how long after its creation a node gets a startup taint late, in milliseconds: it registered while the webhook was unavailable. */
export const REGISTRATION_MS = 600_000;

/** The taint of the node lifecycle controller on a node that is not Ready. */
const NOT_READY: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

/** A taint of `ensure: UntilReady` on a node, with what policies say of it together. */
export interface StartupRequirement {
  readonly taint: Taint;
  /** The values with which policies set it. Absent if one of them names none: then any value counts. */
  readonly values?: readonly string[];
  readonly policies: readonly string[];
  /** Of all these policies. */
  readonly parts: ReadyParts;
  /** What this version does not know of these policies, for example `TaintPolicy network (spec.taints[0].readyWhen.future)`. */
  readonly unknownParts: readonly string[];
  /** After how long a node that waits is reported: the earliest deadline of these policies. Counted from the creation of the Node. */
  readonly progressDeadlineMs: number;
  /**
   * After how long the taint is removed although `readyWhen` does not hold: the latest deadline of these policies. Undefined if one of them keeps the
   * taint.
   */
  readonly removeAfterMs: number | undefined;
  /** Whether one of the policies sets it again after a reboot. */
  readonly setsAgain: boolean;
}

/** A startup taint that the leader has seen on a node, by a policy. */
export interface AwaitedTaint {
  readonly requirement: StartupRequirement;
  /** Since when no policy has it on the node, in milliseconds of the monotonic clock. Undefined while one does. */
  readonly unrequiredSince: number | undefined;
}

/** The startup taints that policies set on a node. */
export interface StartupTaints {
  /** Those of `ensure: UntilReady` that the node carries, or is about to get. */
  readonly untilReady: readonly Taint[];
  /** Those of `ensure: AtRegistration`, which another client removes. */
  readonly atRegistration: readonly Taint[];
}

export interface StartupFacts {
  /** The parts of `readyWhen` that do not hold on the node, or are not known to. None if all hold. */
  readonly blockers: (requirement: StartupRequirement, startup: StartupTaints) => readonly Blocker[];
  /** What {@link StartupStep.awaited} was before. */
  readonly awaited: readonly AwaitedTaint[];
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
  /** The taints to set on the node, which registered without them and is not ready yet. */
  readonly late: readonly StartupRequirement[];
  /** What to record of the boot of the node, in the same write as {@link again}. */
  readonly boot: BootChange | undefined;
  /** The taints to set on the node again, because it has rebooted. */
  readonly again: readonly StartupRequirement[];
  /** The taints that wait. */
  readonly waiting: readonly WaitingTaint[];
  readonly awaited: readonly AwaitedTaint[];
}

export interface RemovableTaint {
  readonly taint: Taint;
  readonly policies: readonly string[];
  /** Why it is removed, in words. */
  readonly reason: string;
  /** `readyWhen` does not hold: the policies remove the taint after the deadline. */
  readonly isOverdue?: true;
}

export interface WaitingTaint {
  readonly requirement: StartupRequirement;
  /** When the leader recorded the reboot after which the taint waits, in milliseconds since the epoch. */
  readonly rebootedAt?: number;
  readonly blockers: readonly Blocker[];
  readonly forMs: number;
  readonly isOverdue: boolean;
}

/** The taints of `ensure: UntilReady` that these policies have on a node, each once. Many nodes have the same policies. */
const startupRequirements = oncePer((selecting: readonly CompiledTaintPolicy[]): readonly StartupRequirement[] => {
  const stated = selecting.flatMap((policy) =>
    policy.untilReady.map(({ value }) => ({ policy: policy.name, ...value })),
  );
  return [...Map.groupBy(stated, ({ taint }) => identity(taint)).values()].flatMap((alike) => {
    const [first] = alike;
    if (!first) return [];
    return {
      taint: first.taint,
      ...(alike.some(({ anyValue }) => anyValue)
        ? {}
        : { values: [...new Set(alike.map(({ taint }) => taint.value ?? ''))] }),
      policies: [...new Set(alike.map(({ policy }) => policy))].sort(),
      parts: joinedParts(alike.map(({ parts }) => parts)),
      unknownParts: alike.flatMap(({ policy, unknownParts }) =>
        unknownParts.map((field) => `TaintPolicy ${policy} (${field})`),
      ),
      progressDeadlineMs: Math.min(...alike.map(({ progressDeadlineMs }) => progressDeadlineMs)),
      removeAfterMs: latest(alike.map(({ removeAfterMs }) => removeAfterMs)),
      setsAgain: alike.some(({ setsAgain }) => setsAgain),
    };
  });
});

/** The startup taints that policies have set on the node. */
export function startupTaintsBy(node: NodeView, selecting: readonly CompiledTaintPolicy[]): StartupTaints {
  const atRegistration = selecting.flatMap(({ startup, untilReady }) => {
    const waiting = new Set(untilReady.map(({ field }) => field));
    return startup.flatMap(({ value, field }) => (waiting.has(field) ? [] : value.taint));
  });
  const untilReady = requirementsCarried(node, selecting);
  return { untilReady: untilReady.map(({ taint }) => taint), atRegistration };
}

/** The startup taints that a node carries and that the leader removes once `readyWhen` holds. */
export function carriedStartup(node: NodeView, policies: readonly CompiledTaintPolicy[]): StartupRequirement[] {
  return requirementsCarried(node, enforcedPolicies(policies, node.labels));
}

/** Another policy that protects the taint wins. With another value, it is the taint of another writer. */
function requirementsCarried(
  { taints }: Pick<NodeView, 'taints'>,
  selecting: readonly CompiledTaintPolicy[],
): StartupRequirement[] {
  const requirements = startupRequirements(selecting);
  if (requirements.length === 0) return [];
  const carried = valuesOf(taints);
  return requirements.filter((requirement) => {
    const { taint } = requirement;
    const value = carried.get(identity(taint));
    return value !== undefined && isSetBy(requirement, value) && !isProtectedBy(selecting, { ...taint, value });
  });
}

const NOTHING: StartupStep = { removable: [], late: [], boot: undefined, again: [], waiting: [], awaited: [] };

/**
 * What a node needs for its startup taints. A taint is removed whenever the node carries it and `readyWhen` holds, or its policies give up: at any
 * age of the node, and also after another writer brought it back. Another policy that protects it, or requires it, wins.
 *
 * The boot of a node is recorded for `afterReboot: SetAgain` also where its taints are not set again, because another policy protects them or an entry
 * keeps them off: once that ends, the node has run for long.
 */
export function startupStep(
  node: StoredNode,
  policies: readonly CompiledTaintPolicy[],
  { blockers: blockersOf, awaited, isComplete, now, apiTime }: StartupFacts,
): StartupStep {
  const selecting = enforcedPolicies(policies, node.labels);
  const requirements = startupRequirements(selecting);
  if (requirements.length + awaited.length === 0) return NOTHING;
  const carried = valuesOf(node.taints);
  const ageMs = Math.max(0, apiTime - (node.createdAt ?? 0));
  const isRegistering = ageMs < REGISTRATION_MS && carried.has(identity(NOT_READY));
  const startup = startupTaintsBy(node, selecting);
  const removable: RemovableTaint[] = [];
  const late: StartupRequirement[] = [];
  const again: StartupRequirement[] = [];
  const followsBoot = ({ setsAgain, unknownParts }: StartupRequirement) => setsAgain && unknownParts.length === 0;
  const boot = requirements.some(followsBoot) ? bootChange(node, apiTime) : undefined;
  const waiting: WaitingTaint[] = [];
  const after: AwaitedTaint[] = [];

  for (const requirement of requirements) {
    const { taint } = requirement;
    const value = carried.get(identity(taint));
    if (isProtectedBy(selecting, { ...taint, value: value ?? taint.value })) continue;
    if (value === undefined) {
      // A policy with an unknown part is left to a version that knows it.
      if (requirement.unknownParts.length > 0) continue;
      const isUnready = () => {
        const withTaint = { ...startup, untilReady: [...startup.untilReady, taint] };
        return blockersOf(requirement, withTaint).some(({ state }) => state === 'Unmet');
      };
      if (boot?.kind === 'SetAgain' && requirement.setsAgain) {
        if (!isKeptOff(requirement)) again.push(requirement);
      } else if (isRegistering && !isGivenUp(requirement) && isUnready() && !isKeptOff(requirement)) {
        late.push(requirement);
      }
      continue;
    }
    // With another value, it is the taint of another writer.
    if (!isSetBy(requirement, value)) continue;
    const { setsAgain } = requirement;
    const blockers = [
      ...unknownBlockers(requirement),
      ...(setsAgain ? rebootBlockers(node, apiTime) : []),
      ...blockersOf(requirement, startup),
    ];
    if (blockers.length === 0) {
      removable.push({ taint, policies: requirement.policies, reason: readyText(requirement) });
    } else if (isGivenUp(requirement) && blockers.every(mayBeGivenUp)) {
      const reason = givenUpText(requirement, blockers);
      removable.push({ taint, policies: requirement.policies, reason, isOverdue: true });
    } else {
      const forMs = waitedMs(requirement);
      const isOverdue = forMs > requirement.progressDeadlineMs;
      const rebootedAt = setsAgain ? recordedReboot(node, apiTime) : undefined;
      waiting.push({ requirement, ...(rebootedAt === undefined ? {} : { rebootedAt }), blockers, forMs, isOverdue });
      after.push({ requirement, unrequiredSince: undefined });
    }
  }

  for (const { requirement, unrequiredSince } of awaited) {
    const { taint } = requirement;
    const value = carried.get(identity(taint));
    if (value === undefined || !isSetBy(requirement, value)) continue;
    if (requirements.some((one) => sameTaint(one.taint, taint) && isSetBy(one, value))) continue;
    if (isProtectedBy(selecting, { ...taint, value })) continue;
    const since = isComplete ? (unrequiredSince ?? now) : now;
    if (now - since >= POLICY_GONE_MS) {
      removable.push({ taint, policies: requirement.policies, reason: 'no policy has it on the node any more' });
    }
    after.push({ requirement, unrequiredSince: since });
  }
  return { removable, late, boot, again, waiting, awaited: after };

  function waitedMs({ setsAgain }: StartupRequirement): number {
    return setsAgain ? Math.max(0, apiTime - waitsSince(node, apiTime)) : ageMs;
  }

  /** Whether the policies no longer keep the taint on a node of this age. */
  function isGivenUp(requirement: StartupRequirement): boolean {
    const { removeAfterMs } = requirement;
    return removeAfterMs !== undefined && waitedMs(requirement) > removeAfterMs;
  }

  function isKeptOff({ taint, policies: names, values }: StartupRequirement): boolean {
    const allowed = parseAllowedRemovals(node.allowRemoval);
    return (
      keepsOff(allowed, { taint, anyValue: values === undefined }) &&
      selecting.some(({ name, allowsRemovalByAnnotation }) => allowsRemovalByAnnotation && names.includes(name))
    );
  }
}

/** What to do about a node that waits for too long. */
export function overdueAdvice({ parts }: StartupRequirement): string[] {
  return parts.allDaemonSets.length === 0
    ? []
    : ['a DaemonSet whose pods wait until the taint is removed belongs into allDaemonSets.except'];
}

/** Undefined if one of them is: then there is no latest. */
function latest(times: readonly (number | undefined)[]): number | undefined {
  return times.reduce((last, ms) => (last === undefined || ms === undefined ? undefined : Math.max(last, ms)));
}

/** What has not been read yet may hold, and the reason for the removal would be wrong. A missing right may stay missing. */
function mayBeGivenUp({ state }: Blocker): boolean {
  return state === 'Unmet' || state === 'Refused';
}

function givenUpText({ removeAfterMs = 0 }: StartupRequirement, blockers: readonly Blocker[]): string {
  return `the deadline of ${removeAfterMs / 1_000} s has passed, though it waits for ${textOf(blockers)}`;
}

/** An earlier version of the program would otherwise remove the taint before the part holds. */
function unknownBlockers({ unknownParts }: StartupRequirement): Blocker[] {
  if (unknownParts.length === 0) return [];
  const fields = unknownParts.join(', ');
  return [{ text: `what this version of taintkeeper does not know: ${fields}`, state: 'Unknown' }];
}

function isSetBy({ values }: StartupRequirement, value: string): boolean {
  return values === undefined || values.includes(value);
}

/** `NAMESPACE/NAME` */
export function daemonSetName({ namespace, name }: ReadyDaemonSet): string {
  return `${namespace}/${name}`;
}

/** Why a taint is removed, in words. */
function readyText({ parts }: StartupRequirement): string {
  const { daemonSets, allDaemonSets, conditions, csiDrivers, allocatable } = parts;
  const names = daemonSets.map(daemonSetName);
  const are = names.length === 1 ? `DaemonSet ${names[0]} is` : `DaemonSets ${names.join(', ')} are`;
  return [
    ...(names.length === 0 ? [] : [`${are} ready`]),
    ...(allDaemonSets.length === 0 ? [] : ['all DaemonSets that run on the node are ready']),
    ...conditionText(conditions),
    ...csiDriverText(csiDrivers),
    ...allocatableText(allocatable),
  ].join(', ');
}

/**
 * For example `startup taint example.com/network:NoSchedule waits for DaemonSet kube-system/cilium: its pod is not Ready`. After a reboot, it says since when:
 * `… waits, since the reboot recorded at 2026-11-28T12:00:00Z, for …`.
 */
export function waitingText({
  requirement,
  rebootedAt,
  blockers,
}: Pick<WaitingTaint, 'requirement' | 'rebootedAt' | 'blockers'>): string {
  const since = rebootedAt === undefined ? '' : `, since the reboot recorded at ${rfc3339(rebootedAt)},`;
  return `startup taint ${formatTaint(requirement.taint)} waits${since} for ${textOf(blockers)}`;
}

function textOf(blockers: readonly Blocker[]): string {
  return blockers.map(({ text }) => text).join(', and ');
}

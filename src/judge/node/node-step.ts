import { equalTaints, identity, sameTaint, type Taint, withTaints } from '../../kubernetes/taint.ts';
import { enforcedPolicies, isProtectedBy } from '../../policy/policy-index.ts';
import type { CompiledTaintPolicy } from '../../policy/policy-set.ts';
import {
  ALLOW_REMOVAL_LIFE_MS,
  isRemovalAllowed,
  parseAllowedRemovals,
  rewriteAllowRemoval,
} from '../allow-removal.ts';
import { isStartupTaintOf } from '../declared-taints.ts';
import { POLICY_GONE_MS } from '../ended-startup-taints.ts';
import { type NodeDrift, nodeDrift } from '../node-drift.ts';
import type { DesiredNode, StoredNode } from '../node-view.ts';
import { type BootChange, settlesInMs, withOwnReboot } from '../startup/reboot.ts';
import { type StartupFacts, type StartupStep, startupStep } from '../startup/startup-step.ts';
import {
  allowedByLeader,
  conflictChangesInMs,
  conflictsNow,
  isAsWritten,
  isInConflict,
  lastRebootMsAgo,
  type NodeMemory,
  newMemory,
  rebootsPausedForMs,
  rebootTaints,
  stillUnstored,
  unstoredIn,
  type WrittenChange,
  type WrittenStep,
} from './node-memory.ts';
import { NO_TIMES, type TaintTime, type TaintTimes, timeOf } from './taint-times.ts';

/** What a step depends on besides the Node and what the leader knows of it. */
export interface StepFacts extends Omit<StartupFacts, 'tracked' | 'unstored'> {
  readonly policies: readonly CompiledTaintPolicy[];
  /** In how many milliseconds the boot of the node may be written; 0 for at once, which is the default. Called only if there is something to write. */
  readonly bootDueInMs?: (kind: BootChange['kind']) => number;
}

/**
 * A startup taint that another writer sets or removes each time that the leader does the opposite; or one of a node whose boot ID changes repeatedly.
 */
export interface ConflictingChange {
  readonly taint: Taint;
  /** What the leader leaves. */
  readonly change: 'set' | 'remove' | 'setAgain';
  readonly policies: readonly string[];
}

/** What the leader has to do for a Node. */
export interface NodeStep extends WrittenStep {
  readonly drift: NodeDrift;
  /** Without what another writer undoes repeatedly. */
  readonly startup: StartupStep;
  /** The startup taints that the leader leaves alone, because another writer undoes its change repeatedly. */
  readonly conflicting: readonly ConflictingChange[];
  /** The node as it should be made; undefined when there is nothing to do. */
  readonly desired: DesiredNode | undefined;
  /** What the leader knows after the step, if it writes nothing. */
  readonly memory: NodeMemory;
  /** In how many milliseconds the step changes without an event. Undefined for never. */
  readonly nextInMs: number | undefined;
}

/**
 * Compares a Node with the policies. Leaders with the same memory determine the same step from the same objects. A new leader begins without one: see
 * {@link NodeMemory}.
 * @param before what the leader knows of the Node of that name, if anything
 */
export function nodeStep(node: StoredNode, before: NodeMemory | undefined, facts: StepFacts): NodeStep {
  const { policies, now, apiTime } = facts;
  const { uid = '' } = node;
  const known = before?.uid === uid ? before : newMemory(uid);
  const isLeftAlone = (taint: Taint) => isInConflict(known, taint, now) && !isAsWritten(known, node, taint, now);
  const rebooted = withOwnReboot(node, lastRebootMsAgo(known, now), apiTime);

  const drift = nodeDrift(node, policies, isLeftAlone);
  const complete = startupStep(rebooted, policies, {
    ...facts,
    tracked: known.tracked,
    unstored: stillUnstored(known, node),
  });
  const { due, conflicting, paused, bootInMs } = withoutConflicts(complete, known, isLeftAlone, facts);
  const { carriedWithEntry, ended, revoked, allowRemoval } = entryChanges(node, known, due, facts);
  // The annotation may have no room for an entry.
  const allowed = parseAllowedRemovals(allowRemoval);
  const startup = { ...due, allowing: due.allowing.filter(({ taint }) => isRemovalAllowed(allowed, taint)) };
  const memory = {
    ...known,
    conflicts: conflictsNow(known, [...conflictsOf(drift), ...conflicting.flatMap(forEachPolicy)], now),
    carriedWithEntry,
    tracked: startup.tracked,
    unstored: unstoredIn(node.bootId, startup.unstored),
  };
  return {
    drift,
    startup,
    conflicting: [...conflicting, ...paused],
    ended,
    revoked,
    changes: changesOf(drift, startup).map((one) => ({
      ...one,
      wasAsWritten: isAsWritten(known, node, one.taint, now),
    })),
    desired: desiredNode(node, drift, startup, allowRemoval),
    memory,
    nextInMs: nextChangeInMs(memory, startup, { now, bootInMs, settlingMs: settlesInMs(rebooted, apiTime) }),
  };
}

/** A {@link StartupStep} without what another writer undoes repeatedly, and without a reboot that is not recorded yet. */
interface DueStep {
  readonly due: StartupStep;
  readonly conflicting: readonly ConflictingChange[];
  /** The taints that are not set again, because the boot ID changes back and forth. */
  readonly paused: readonly ConflictingChange[];
  /** In how many milliseconds the boot of the node may be written. */
  readonly bootInMs: number;
}

function withoutConflicts(
  step: StartupStep,
  known: NodeMemory,
  isLeftAlone: (taint: Taint) => boolean,
  { now, bootDueInMs = () => 0 }: StepFacts,
): DueStep {
  const byConflict = <One extends { readonly taint: Taint }>(all: readonly One[]) => {
    const { inConflict = [], due = [] } = Object.groupBy(all, ({ taint }) =>
      isLeftAlone(taint) ? 'inConflict' : 'due',
    );
    return { inConflict, due };
  };
  const { boot } = step;
  const late = byConflict(step.late);
  const removable = byConflict(step.removable);
  const allowing = byConflict(step.allowing);
  // What happened in an earlier boot is no conflict.
  const again = boot ? { inConflict: [], due: step.again } : byConflict(step.again);
  const pausedForMs = boot?.kind === 'SetAgain' ? rebootsPausedForMs(known, now) : 0;
  const bootInMs = boot === undefined ? 0 : pausedForMs || bootDueInMs(boot.kind);
  return {
    due: {
      ...step,
      late: late.due,
      removable: removable.due,
      allowing: allowing.due,
      ...(bootInMs === 0 ? { again: again.due } : { boot: undefined, again: [] }),
    },
    conflicting: [
      ...conflictingBy('set', [...late.inConflict, ...again.inConflict]),
      ...conflictingBy('remove', [...removable.inConflict, ...allowing.inConflict]),
    ],
    paused: pausedForMs === 0 ? [] : conflictingBy('setAgain', rebootTaints(step)),
    bootInMs,
  };
}

/** What happens to the entries of the annotation `allow-removal`: see {@link WrittenStep} and {@link NodeMemory}. */
interface EntryChanges extends Pick<WrittenStep, 'ended' | 'revoked'>, Pick<NodeMemory, 'carriedWithEntry'> {
  /** The annotation after the step. */
  readonly allowRemoval: string | undefined;
}

function entryChanges(
  node: StoredNode,
  known: NodeMemory,
  { tracked, removable, allowing }: StartupStep,
  { policies, now }: StepFacts,
): EntryChanges {
  const carriedWithEntry = taintsWithEntry(node, policies, known.carriedWithEntry, now);
  const ended = carriedWithEntry.filter((one) => entryEndsAt(one, known) <= now).map(({ taint }) => taint);
  const revoked = revokedTaints(node, known, tracked, now);
  const allowRemoval = rewriteAllowRemoval(node.allowRemoval, {
    ended: [...ended, ...revoked, ...removable.filter(({ endsEntry }) => endsEntry).map(({ taint }) => taint)],
    more: allowing.map(({ taint }) => taint),
  });
  return { carriedWithEntry, ended, revoked, allowRemoval };
}

/** When the entry of a taint ends that the node carries, in milliseconds of the monotonic clock. */
function entryEndsAt({ at }: TaintTime, { entriesEndedAt = at }: NodeMemory): number {
  return Math.max(at, entriesEndedAt) + ALLOW_REMOVAL_LIFE_MS;
}

function conflictsOf({ missing }: NodeDrift) {
  return missing.flatMap(({ taint, policy, blockedBy }) =>
    blockedBy === 'Conflict' ? { taint, policy: policy.name } : [],
  );
}

function forEachPolicy({ taint, policies }: ConflictingChange) {
  return policies.map((policy) => ({ taint, policy }));
}

/** Undefined if the node is as it should be. */
function desiredNode(
  node: StoredNode,
  drift: NodeDrift,
  startup: StartupStep,
  allowRemoval: string | undefined,
): DesiredNode | undefined {
  const taints = withStartup(drift.taints, startup);
  const { boot } = startup;
  if (taints === node.taints && allowRemoval === node.allowRemoval && boot === undefined) return undefined;
  return { taints, allowRemoval, ...(boot === undefined ? {} : { startupBoot: boot.startupBoot }) };
}

interface Delays {
  readonly now: number;
  readonly bootInMs: number;
  /** See {@link settlesInMs}. */
  readonly settlingMs: number | undefined;
}

function nextChangeInMs(
  memory: NodeMemory,
  { waiting }: StartupStep,
  { now, bootInMs, settlingMs }: Delays,
): number | undefined {
  const timers = [
    ...memory.carriedWithEntry.map((one) => entryEndsAt(one, memory) - now),
    ...Array.from(memory.conflicts.values(), ({ taint }) => conflictChangesInMs(memory, taint, now)),
    ...waiting.flatMap(({ requirement: { progressDeadlineMs, removeAfterMs, setsAgain }, forMs }) => [
      progressDeadlineMs - forMs + 1,
      removeAfterMs === undefined ? undefined : removeAfterMs - forMs + 1,
      setsAgain ? settlingMs : undefined,
    ]),
    bootInMs,
    ...memory.tracked.map(({ unrequiredSince }) =>
      unrequiredSince === undefined ? undefined : unrequiredSince + POLICY_GONE_MS - now,
    ),
  ].filter((ms): ms is number => ms !== undefined && ms > 0);
  return timers.length === 0 ? undefined : Math.min(...timers);
}

/** What a step writes about taints. Of several changes of one, the last one is in force: see {@link withStartup}. */
function changesOf(
  drift: NodeDrift,
  { late, again, removable, allowing }: StartupStep,
): Omit<WrittenChange, 'wasAsWritten'>[] {
  const restored = drift.missing.filter(({ blockedBy }) => blockedBy === undefined);
  return [
    ...allowing.map(({ taint }) => ({ taint, change: 'allow' as const })),
    ...[...restored, ...late, ...again].map(({ taint }) => ({ taint, change: 'set' as const })),
    ...removable.map(({ taint }) => ({ taint, change: 'remove' as const })),
  ];
}

function conflictingBy(
  change: ConflictingChange['change'],
  inConflict: readonly Pick<ConflictingChange, 'taint' | 'policies'>[],
): ConflictingChange[] {
  return inConflict.map(({ taint, policies }) => ({ taint, change, policies }));
}

/**
 * The taints that entries name while the node carries them, and since when the leader has seen that. Where a policy sets a taint with any value, another
 * value counts as well: the entry would keep the taint off for as long as it stands.
 */
function taintsWithEntry(
  { labels, taints, allowRemoval }: StoredNode,
  policies: readonly CompiledTaintPolicy[],
  before: TaintTimes,
  now: number,
): TaintTimes {
  const { entries } = parseAllowedRemovals(allowRemoval);
  if (entries.length === 0) return NO_TIMES;
  const selecting = enforcedPolicies(policies, labels);
  // An entry keeps off a startup taint as well: the leader does not set it late, or again after a reboot.
  const isOfPolicies = (taint: Taint) => isProtectedBy(selecting, taint) || isStartupTaintOf(selecting, taint);
  const alike = selecting.flatMap(({ ensured }) => ensured.filter(({ anyValue }) => anyValue));
  const isCarried = (named: Taint) =>
    alike.some(({ taint }) => sameTaint(taint, named))
      ? taints.some((one) => sameTaint(one, named))
      : taints.some((one) => equalTaints(one, named)) && isOfPolicies(named);
  return entries.flatMap(({ taint }) =>
    taint !== undefined && isCarried(taint) ? { taint, at: timeOf(before, taint) ?? now } : [],
  );
}

/**
 * The taints with an entry that this leader has written to remove them, and does not need any more: a policy has the taint again, or another writer has
 * removed it. With another leader, it ends as that of a user.
 */
function revokedTaints(
  { allowRemoval }: StoredNode,
  memory: NodeMemory,
  tracked: StartupStep['tracked'],
  now: number,
): readonly Taint[] {
  const isNeeded = (taint: Taint) =>
    tracked.some(
      ({ requirement, unrequiredSince }) => unrequiredSince !== undefined && sameTaint(requirement.taint, taint),
    );
  return allowedByLeader(memory, now).filter(
    (taint) => isRemovalAllowed(parseAllowedRemovals(allowRemoval), taint) && !isNeeded(taint),
  );
}

function withStartup(taints: readonly Taint[], { removable, late, again }: StartupStep): readonly Taint[] {
  if ([...removable, ...late, ...again].length === 0) return taints;
  const removed = new Set(removable.map(({ taint }) => identity(taint)));
  return withTaints(
    taints.filter((taint) => !removed.has(identity(taint))),
    [...late, ...again].map(({ taint }) => taint),
  );
}

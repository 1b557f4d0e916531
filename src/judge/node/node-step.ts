import { type Taint, taintIdentity, withTaints } from '../../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { isRemovalAllowed, parseAllowedRemovals } from '../allow-removal.ts';
import { POLICY_GONE_MS } from '../ended-startup-taints.ts';
import { type NodeDrift, nodeDrift } from '../node-drift.ts';
import type { DesiredNode, StoredNode } from '../node-view.ts';
import { settlesInMs, withOwnReboot } from '../startup/reboot.ts';
import { type StartupFacts, type StartupStep, startupStep } from '../startup/startup-step.ts';
import { deletedAt } from '../startup/unused-record.ts';
import { type BootDelay, type ConflictingChange, dueStep } from './due-step.ts';
import { entryChanges, entryEndsAt } from './entry-changes.ts';
import type { WrittenChange, WrittenStep } from './memory-after-write.ts';
import { type NodeMemory, newMemory } from './node-memory.ts';
import { lastRebootMsAgo } from './recorded-reboots.ts';
import { conflictChangesInMs, conflictsNow, isAsWritten, isInConflict } from './undone-changes.ts';
import { stillUnstored, unstoredIn } from './unstored-taints.ts';

/** What a step depends on besides the Node and what the leader knows of it. */
export interface StepFacts extends Omit<StartupFacts, 'tracked' | 'unusedRecord' | 'unstored'>, BootDelay {
  readonly policies: readonly CompiledTaintPolicy[];
}

/** What the leader has to do for a Node. */
export interface NodeStep extends WrittenStep {
  readonly drift: NodeDrift;
  /** Without what another writer undoes repeatedly. */
  readonly startup: StartupStep;
  /** The startup taints that the leader leaves alone, because another writer undoes its change repeatedly, or the boot ID changes back and forth. */
  readonly leftAlone: readonly ConflictingChange[];
  /** Whether the boot of the node is to be written or deleted, now or later. */
  readonly hasBootToWrite: boolean;
  /** The node as it should be made; undefined when there is nothing to do. */
  readonly desired: DesiredNode | undefined;
  /** What the leader knows after the step, if it writes nothing. */
  readonly memoryIfUnwritten: NodeMemory;
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
  const isUndoneByOther = (taint: Taint) => isInConflict(known, taint, now) && !isAsWritten(known, node, taint, now);
  const rebooted = withOwnReboot(node, lastRebootMsAgo(known, now), apiTime);

  const drift = nodeDrift(node, policies, isUndoneByOther);
  const complete = startupStep(rebooted, policies, {
    ...facts,
    tracked: known.tracked,
    unusedRecord: known.unusedRecord,
    unstored: stillUnstored(known.unstored, node),
  });
  const { due, conflicting, paused, bootInMs } = dueStep(complete, known, isUndoneByOther, facts);
  const { carriedWithEntry, expired, revoked, allowRemoval } = entryChanges(node, known, due, policies, now);
  // The annotation may have no room for an entry.
  const allowed = parseAllowedRemovals(allowRemoval);
  const startup = { ...due, needEntry: due.needEntry.filter(({ taint }) => isRemovalAllowed(allowed, taint)) };
  const memoryIfUnwritten = {
    ...known,
    conflicts: conflictsNow(known, [...conflictsOf(drift), ...conflicting.flatMap(forEachPolicy)], now),
    carriedWithEntry,
    tracked: startup.tracked,
    unusedRecord: startup.unusedRecord,
    unstored: unstoredIn(node.bootId, startup.stillDue),
  };
  return {
    drift,
    startup,
    leftAlone: [...conflicting, ...paused],
    expired,
    revoked,
    changes: changesOf(drift, startup).map((one) => ({
      ...one,
      wasAsWritten: isAsWritten(known, node, one.taint, now),
    })),
    hasBootToWrite: complete.boot !== undefined,
    desired: desiredNode(node, drift, startup, allowRemoval),
    memoryIfUnwritten,
    nextInMs: nextChangeInMs(memoryIfUnwritten, startup, { now, bootInMs, settlingMs: settlesInMs(rebooted, apiTime) }),
  };
}

function forEachPolicy({ taint, policyNames }: ConflictingChange) {
  return policyNames.map((policy) => ({ taint, policy }));
}

function conflictsOf({ missing }: NodeDrift) {
  return missing.flatMap(({ taint, policy, blockedBy }) =>
    blockedBy === 'Conflict' ? { taint, policy: policy.name } : [],
  );
}

/** Undefined if the node is as it should be. */
export function desiredNode(
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
  const deletionAt = deletedAt(memory.unusedRecord);
  const timers = [
    ...memory.carriedWithEntry.map((one) => entryEndsAt(one, memory) - now),
    ...Array.from(memory.conflicts.values(), ({ taint }) => conflictChangesInMs(memory, taint, now)),
    ...waiting.flatMap(({ requirement: { progressDeadlineMs, removeAfterMs, setsAgain }, forMs }) => [
      progressDeadlineMs - forMs + 1,
      removeAfterMs === undefined ? undefined : removeAfterMs - forMs + 1,
      setsAgain ? settlingMs : undefined,
    ]),
    bootInMs,
    deletionAt === undefined ? undefined : deletionAt - now,
    ...memory.tracked.map(({ undeclaredSince }) =>
      undeclaredSince === undefined ? undefined : undeclaredSince + POLICY_GONE_MS - now,
    ),
  ].filter((ms): ms is number => ms !== undefined && ms > 0);
  return timers.length === 0 ? undefined : Math.min(...timers);
}

/** What a step writes about taints. Of several changes of one, the last one is in force: see {@link withStartup}. */
export function changesOf(
  drift: NodeDrift,
  { toSetLate, toSetAgain, removable, needEntry }: StartupStep,
): Omit<WrittenChange, 'wasAsWritten'>[] {
  const restored = drift.missing.filter(({ blockedBy }) => blockedBy === undefined);
  return [
    ...needEntry.map(({ taint }) => ({ taint, change: 'allow' as const })),
    ...[...restored, ...toSetLate, ...toSetAgain].map(({ taint }) => ({ taint, change: 'set' as const })),
    ...removable.map(({ taint }) => ({ taint, change: 'remove' as const })),
  ];
}

function withStartup(taints: readonly Taint[], { removable, toSetLate, toSetAgain }: StartupStep): readonly Taint[] {
  if ([...removable, ...toSetLate, ...toSetAgain].length === 0) return taints;
  const removed = new Set(removable.map(({ taint }) => taintIdentity(taint)));
  return withTaints(
    taints.filter((taint) => !removed.has(taintIdentity(taint))),
    [...toSetLate, ...toSetAgain].map(({ taint }) => taint),
  );
}

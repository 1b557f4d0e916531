import type { Machine } from '../kubernetes/machine.ts';
import { isPattern } from '../kubernetes/pattern.ts';
import { formatTaint, identity, type Taint, valuesOf } from '../kubernetes/taint.ts';
import { selectingPolicies } from '../policy/policy-index.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { ALLOW_REMOVAL_LIFE_MS } from './allow-removal.ts';
import { type WriteFacts, whyBlocked } from './blocked.ts';
import { establishment } from './establishment.ts';
import { type Loss, type NodeDrift, nodeDrift } from './node-drift.ts';
import {
  allowRemovalAgeMs,
  carriedMs,
  conflictChangesInMs,
  conflictsNow,
  isInConflict,
  type NodeHistory,
  type WatchedNode,
  wasRemovedWithNotice,
} from './node-history.ts';
import {
  establishedIn,
  isKept,
  lostTaints,
  MAX_KEPT_TAINTS,
  MISSING_AFTER_MS,
  type NodeRecord,
  type RecordedTaint,
  recordedTaints,
  recordedTime,
  withRecord,
} from './node-record.ts';
import { retainedTaints } from './node-return.ts';
import type { RetainedTaint } from './node-view.ts';
import { FORGET_LOST_MS, nextRecord, protectingRule, type RecordedNode, type RecordKeeping } from './record-keeping.ts';
import { NO_TIMES, type TaintTime, type TaintTimes, timeOf } from './taint-times.ts';
import { acceptedTaints, type UnseenAddition, unseenAdditions, withoutReverted } from './unseen-additions.ts';

/** A Node that the leader keeps as the policies declare it. */
export interface KeptNode extends WatchedNode {
  readonly machine: Machine;
}

/** What a step depends on besides the Node, its record and its history. */
export interface StepOptions extends RecordKeeping, WriteFacts {
  /** In milliseconds of the monotonic clock. `now` is the time of the API server. */
  readonly monotonicMs: number;
  /** Whether the record is stored as it is, and the other replicas have seen it. */
  readonly isSpread: (record: NodeRecord | undefined) => boolean;
}

/** What the leader has to do for a Node. */
export interface NodeStep extends NodeDrift {
  /** The record as it is to be. Undefined for none, and while the records have not been read. */
  readonly record: NodeRecord | undefined;
  /** Whether more taints of the Node are established than a record lists. */
  readonly isRecordFull: boolean;
  /** The taints that a Node which has registered again carries as the one before it did. Given once. */
  readonly returned: readonly RetainedTaint[];
  readonly additions: readonly UnseenAddition[];
  /** The history after the step, without the additions. */
  readonly history: NodeHistory;
  /** The taints that are accepted once the additions were reported, and removed where nothing prevents it. */
  readonly accepted: NodeHistory['accepted'];
  /** In how many milliseconds the step changes without an event. Undefined for never. */
  readonly nextInMs: number | undefined;
}

const NO_DRIFT: NodeDrift = { losses: [], removed: [], expired: [], desired: undefined };

/**
 * Compares a Node with the policies, its record and what the leader has seen of it.
 *
 * @param known the record of the name of the Node, which may be that of an earlier Node. Undefined while the records have not been read: then
 * nothing is known to be missing, because it may have been removed with permission.
 */
export function nodeStep(
  node: KeptNode,
  history: NodeHistory,
  known: { readonly record: NodeRecord | undefined } | undefined,
  options: StepOptions,
): NodeStep {
  const { policies, monotonicMs } = options;
  const hasConflict = (taint: Taint) => isInConflict(history, taint, monotonicMs);
  // While the records are not known, nothing would restore a value that was replaced.
  const additions = known
    ? unseenAdditions(node, policies, { accepted: history.accepted, now: monotonicMs, isInConflict: hasConflict })
    : [];
  // The record lists no taint that is to be removed, for however long that fails.
  const target = withoutReverted(node, additions);
  const recording = known && recordingOf(target, history, known.record, options);
  const recorded = recordedTaints(recording?.record, node.uid);
  const expiresInMs =
    ALLOW_REMOVAL_LIFE_MS - allowRemovalAgeMs(history, node, { now: monotonicMs, apiTime: options.now });
  const drift = recording
    ? nodeDrift(withRecord(target, recording.record, node.uid), policies, {
        isInConflict: hasConflict,
        isAllowRemovalExpired: expiresInMs <= 0,
        // Only entries of the annotation depend on it.
        isRecordWritten: node.allowRemoval !== undefined && options.isSpread(recording.record),
      })
    : NO_DRIFT;
  const reverted = target === node ? undefined : { taints: target.taints, allowRemoval: node.allowRemoval };
  const inConflict = drift.losses.filter(({ blockedBy }) => blockedBy === 'Conflict');
  const conflicts = conflictsNow(history, inConflict, monotonicMs);
  const lost = lostTaints(recorded, node.taints);
  const forgetsInMs = history.labelsSince + FORGET_LOST_MS - monotonicMs;
  const before = recordedTaints(known?.record, node.uid);
  const missing = markMissing(recorded, { lost, losses: drift.losses, before, since: history.missingSince }, options);
  const waits = [
    recording?.nextInMs,
    missing.nextInMs,
    forgetsInMs > 0 && recorded.some((taint) => !isKept(taint) || lost.includes(taint)) ? forgetsInMs : undefined,
    node.allowRemoval !== undefined && expiresInMs > 0 ? expiresInMs : undefined,
    ...Array.from(conflicts.values(), ({ taint }) => conflictChangesInMs(history, taint, monotonicMs)),
  ].filter((ms) => ms !== undefined);
  return {
    ...drift,
    desired: drift.desired ?? reverted,
    record: recording?.record && { ...recording.record, taints: missing.taints },
    isRecordFull: recording?.isFull ?? false,
    returned: recording?.returned ?? [],
    additions,
    history: { ...history, conflicts, missingSince: missing.since },
    accepted: known
      ? acceptedTaints(history.accepted, node, policies, { additions, lost, now: monotonicMs })
      : history.accepted,
    nextInMs: waits.length === 0 ? undefined : Math.max(1, Math.min(...waits)),
  };
}

interface Recording {
  readonly record: NodeRecord | undefined;
  readonly isFull: boolean;
  readonly returned: readonly RetainedTaint[];
  /** In how many milliseconds the next taint of the Node is established. */
  readonly nextInMs: number | undefined;
}

function recordingOf(
  node: KeptNode,
  history: NodeHistory,
  before: NodeRecord | undefined,
  { policies, now, policiesUnchangedMs, monotonicMs }: StepOptions,
): Recording {
  const { established, nextInMs } = establishment(node, before, policies, (taint) =>
    carriedMs(history, taint, monotonicMs),
  );
  const removedInOneStep = (taint: Taint) => wasRemovedWithNotice(history, taint);
  const labelsUnchangedMs = monotonicMs - history.labelsSince;
  const recordedNode: RecordedNode = { ...node, established, removedInOneStep, labelsUnchangedMs };
  const record = nextRecord(before, recordedNode, { policies, now, policiesUnchangedMs });
  const isFull = record !== undefined && record.taints.length >= MAX_KEPT_TAINTS;
  const isReturn = before !== undefined && before.uid !== node.uid;
  const carried = valuesOf(node.taints);
  return {
    record,
    isFull: isFull && leavesOut(record, recordedNode, policies),
    returned: isReturn
      ? retainedTaints(before, node, policies, now).filter(({ taint }) => carried.get(identity(taint)) === taint.value)
      : [],
    nextInMs,
  };
}

/** Whether the Node carries an established taint that only patterns protect, and the record does not list. */
function leavesOut(
  record: NodeRecord,
  { taints, labels, established }: RecordedNode,
  policies: readonly CompiledTaintPolicy[],
): boolean {
  const isListed = establishedIn(record);
  const enforcing = selectingPolicies(policies, labels).filter(({ declared }) => declared !== 'Audit');
  const isOfPatternsOnly = (taint: Taint) => {
    const rules = enforcing.flatMap((policy) => protectingRule(policy, taint) ?? []);
    return rules.length > 0 && rules.every(({ key }) => isPattern(key));
  };
  return taints.some((taint) => !isListed(taint) && established(taint) && isOfPatternsOnly(taint));
}

/** What is known of the taints that a record lists. */
interface Listed {
  /** Those that the Node does not carry. */
  readonly lost: readonly RecordedTaint[];
  readonly losses: readonly Loss[];
  /** What the record listed before the step. */
  readonly before: readonly RecordedTaint[];
  /** Since when policies miss them. */
  readonly since: TaintTimes;
}

interface Marked {
  /** The taints of the record. Those that have been missing for long enough say so, and why. */
  readonly taints: readonly RecordedTaint[];
  /** As in {@link Listed}, after the step. */
  readonly since: TaintTimes;
  /** In how many milliseconds the next taint has been missing for long enough. */
  readonly nextInMs: number | undefined;
}

function markMissing(
  recorded: readonly RecordedTaint[],
  { lost, losses, before, since: knownSince }: Listed,
  { now, monotonicMs, ...facts }: StepOptions,
): Marked {
  if (lost.length === 0) return { taints: recorded, since: NO_TIMES, nextInMs: undefined };
  const known = new Map(before.map((taint) => [formatTaint(taint), taint]));
  const since: TaintTime[] = [];
  const waits: number[] = [];
  const taints = recorded.map((taint): RecordedTaint => {
    const loss = lost.includes(taint) ? losses.find((one) => identity(one.taint) === identity(taint)) : undefined;
    if (loss === undefined) return taint;
    const from = timeOf(knownSince, taint) ?? monotonicMs;
    since.push({ taint, at: from });
    const earlier = known.get(formatTaint(taint));
    // An earlier leader may have recorded it.
    const isRecorded = earlier?.missingSince !== undefined || earlier?.blocked !== undefined;
    const leftMs = MISSING_AFTER_MS - (monotonicMs - from);
    if (!isRecorded && leftMs > 0) {
      waits.push(leftMs);
      return taint;
    }
    const blocked = whyBlocked(loss, facts);
    const missingSince = earlier?.missingSince ?? recordedTime(now - (monotonicMs - from));
    return {
      ...taint,
      ...(taint.earlierDeletedAt === undefined ? { missingSince } : {}),
      ...(blocked === undefined ? {} : { blocked }),
    };
  });
  return {
    taints,
    since,
    nextInMs: waits.length === 0 ? undefined : Math.min(...waits),
  };
}

import type { Machine } from '../kubernetes/machine.ts';
import type { Taint } from '../kubernetes/taint.ts';
import { selectingPolicies } from '../policy/policy-index.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { establishment } from './establishment.ts';
import { type NodeDrift, nodeDrift } from './node-drift.ts';
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
import { establishedIn, MAX_KEPT_TAINTS, type NodeRecord, recordedTaints } from './node-record.ts';
import { owedTaints } from './node-return.ts';
import type { OwedTaint } from './node-view.ts';
import { type RecordedNode, type RecordKeeping, recordOf } from './record-keeping.ts';
import { ALLOW_REMOVAL_LIFE_MS } from './removal.ts';
import { acceptedTaints, type UnseenAddition, unseenAdditions, withoutReverted } from './unseen-additions.ts';

/** A Node that the leader keeps as the policies declare it. */
export interface KeptNode extends WatchedNode {
  readonly machine: Machine;
}

/** What a step depends on besides the Node, its record and its history. */
export interface StepOptions extends RecordKeeping {
  /** In milliseconds of the monotonic clock. `now` is the time of the API server. */
  readonly monotonicMs: number;
  /** With --audit, the leader removes no taints. */
  readonly audit: boolean;
  /** Whether a taint that evicts pods may be set now. */
  readonly hasTurn: boolean;
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
  readonly returned: readonly OwedTaint[];
  readonly additions: readonly UnseenAddition[];
  /** The history once the step is done. */
  readonly checked: NodeHistory;
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
  const { policies, monotonicMs, audit } = options;
  const isContested = (taint: Taint) => isInConflict(history, taint, monotonicMs);
  const kept = known && keepRecord(node, history, known.record, options);
  const recorded = recordedTaints(kept?.record, node.uid);
  const additions = audit
    ? []
    : unseenAdditions(node, policies, { accepted: history.accepted, now: monotonicMs, isContested });
  const wanted = withoutReverted(node, additions);
  const expiresInMs =
    ALLOW_REMOVAL_LIFE_MS - allowRemovalAgeMs(history, node, { now: monotonicMs, apiTime: options.now });
  const drift = kept
    ? nodeDrift({ ...wanted, recorded }, policies, {
        isContested,
        hasTurn: options.hasTurn,
        isAllowRemovalExpired: expiresInMs <= 0,
        // Only entries of the annotation depend on it.
        isRecordWritten: node.allowRemoval !== undefined && options.isSpread(kept.record),
      })
    : NO_DRIFT;
  const reverted = wanted === node ? undefined : { taints: wanted.taints, allowRemoval: node.allowRemoval };
  const contested = drift.losses.filter(({ hindrance }) => hindrance === 'contested');
  const conflicts = conflictsNow(history, contested, monotonicMs);
  const waits = [
    kept?.nextInMs,
    node.allowRemoval !== undefined && expiresInMs > 0 ? expiresInMs : undefined,
    ...Array.from(conflicts.values(), ({ taint }) => conflictChangesInMs(history, taint, monotonicMs)),
  ].filter((ms) => ms !== undefined);
  return {
    ...drift,
    desired: drift.desired ?? reverted,
    record: kept?.record,
    isRecordFull: kept?.isFull ?? false,
    returned: kept?.returned ?? [],
    additions,
    checked: {
      ...history,
      conflicts,
      accepted: acceptedTaints(history.accepted, node, policies, { additions, recorded, now: monotonicMs }),
    },
    nextInMs: waits.length === 0 ? undefined : Math.max(1, Math.min(...waits)),
  };
}

interface KeptRecord {
  readonly record: NodeRecord | undefined;
  readonly isFull: boolean;
  readonly returned: readonly OwedTaint[];
  /** In how many milliseconds the next taint of the Node is established. */
  readonly nextInMs: number | undefined;
}

function keepRecord(
  node: KeptNode,
  history: NodeHistory,
  before: NodeRecord | undefined,
  { policies, now, monotonicMs, ...keeping }: StepOptions,
): KeptRecord {
  const { established, nextInMs } = establishment(node, before, policies, (taint) =>
    carriedMs(history, taint, monotonicMs),
  );
  const removedInOneStep = (taint: Taint) => wasRemovedWithNotice(history, taint);
  const recordedNode: RecordedNode = { ...node, established, removedInOneStep };
  const record = recordOf(before, recordedNode, { ...keeping, policies, now });
  const isFull = record !== undefined && record.taints.length >= MAX_KEPT_TAINTS;
  const isReturn = before !== undefined && before.uid !== node.uid;
  return {
    record,
    isFull: isFull && leavesOut(record, recordedNode, policies),
    returned: isReturn ? owedTaints(before, node, policies, now).filter(({ taint }) => isCarried(node, taint)) : [],
    nextInMs,
  };
}

/** Whether the Node carries an established taint that a pattern protects, and the record does not list. */
function leavesOut(
  record: NodeRecord,
  { taints, labels, established }: RecordedNode,
  policies: readonly CompiledTaintPolicy[],
): boolean {
  const isListed = establishedIn(record);
  const waiting = selectingPolicies(policies, labels).filter(({ establishes }) => establishes);
  return taints.some(
    (taint) =>
      !isListed(taint) && established(taint) && waiting.some(({ protectedBy }) => protectedBy(taint) !== undefined),
  );
}

function isCarried({ taints }: WatchedNode, taint: Taint): boolean {
  return taints.some(
    (one) => one.key === taint.key && one.effect === taint.effect && (one.value ?? '') === taint.value,
  );
}

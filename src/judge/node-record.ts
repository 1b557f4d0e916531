import type { Machine } from '../kubernetes/machine.ts';
import { formatTaint, identity, sameTaint, type Taint, valuesAmong } from '../kubernetes/taint.ts';

/** The NodeTaintRecord of a node: what is kept outside of the Node, where users who may patch nodes cannot write. */
export interface NodeRecord {
  /** The uid of the Node: another Node of that name has another one. */
  readonly uid: string;
  readonly machine: Machine;
  /** In the order of their keys and effects, each once. */
  readonly taints: readonly RecordedTaint[];
  /** When the Node was deleted, in milliseconds since the epoch; undefined while it exists, or before the leader has seen the deletion. */
  readonly deletedAt?: number | undefined;
  /** How far the Node is with its startup taints; absent where it has none. */
  readonly startup?: readonly StartupProgress[];
}

/** A taint that the Node is to carry, or one that was removed from it with permission. */
export interface RecordedTaint extends Taint {
  /** The empty text for a taint without one. */
  readonly value: string;
  /** The names of the policies that have it recorded. */
  readonly policies: readonly string[];
  /**
   * Set where an earlier Node of that name carried the taint, and this one has not got it back: when the earlier Node was deleted, in
   * milliseconds since the epoch.
   */
  readonly earlierDeletedAt?: number;
  /**
   * Set where this Node lost the taint, and did not get it back within {@link MISSING_AFTER_MS}: since when, in milliseconds since the epoch.
   */
  readonly missingSince?: number;
  /** Why the Node does not get the taint back. */
  readonly blocked?: Blocked;
  /**
   * Set for a required taint that was removed by an exempt user, or as the annotation `allow-removal` said: when the leader recorded it, in
   * milliseconds since the epoch. The Node does without it until it carries it again, or no policy requires it there any more.
   */
  readonly removedAt?: number;
}

/**
 * The progress of a taint of `ensure: UntilReady` on a node. Waiting: the node carries the taint. Ready: the taint is to be removed. Removed: the node
 * no longer carries it. Missed: the node registered without it. Removed and Missed are final.
 */
export const STARTUP_STATES = ['Waiting', 'Ready', 'Removed', 'Missed'] as const;
export type StartupState = (typeof STARTUP_STATES)[number];

/** What the NodeTaintRecord of a node says of one startup taint. */
export interface StartupProgress {
  readonly key: string;
  readonly effect: string;
  readonly state: StartupState;
  /** The policies by which the taint is recorded. */
  readonly policies: readonly string[];
  /** When the state became what it is, in milliseconds since the epoch: whole seconds. */
  readonly since: number;
}

/** Why a missing taint is not restored. */
export interface Blocked {
  /** One of {@link BLOCKED_REASONS}, or one that a later version knows. */
  readonly reason: string;
  readonly message: string;
}

/** Why a taint that a node should carry is not restored, as far as node and policies say it. */
const BLOCKED_BY = [
  /** No policy restores it: see {@link isRestoredBy}. */
  'ModeDoesNotRestore',
  /** It would evict pods: the leader sets no NoExecute taint on a running node. */
  'WouldEvictPods',
  /** The node carries it with another value, which is protected as well. */
  'OtherValuePresent',
  /** Another writer removes it repeatedly. */
  'Conflict',
] as const;
export type BlockedBy = (typeof BLOCKED_BY)[number];

/** The same, and that the API server refused the update which restores the taint. */
export const BLOCKED_REASONS = [...BLOCKED_BY, 'UpdateRefused'] as const;

/** The longest message, in characters: one of the API server may be longer. */
export const MAX_BLOCKED_MESSAGE = 1_024;

/** A taint that is restored within this time, in milliseconds, is not recorded as missing: it would cost two writes. */
export const MISSING_AFTER_MS = 5_000;

/** A time as records have it: in whole seconds. In milliseconds since the epoch. */
export function recordedTime(time: number): number {
  return Math.floor(time / 1000) * 1000;
}

/** The most taints that one record lists for the Node to carry. */
export const MAX_KEPT_TAINTS = 64;
/** The most taints of one record, and policies of one taint: the definition has the same limits. */
export const MAX_RECORDED_TAINTS = 128;
export const MAX_RECORDED_POLICIES = 64;
/** The most startup taints of one record: the definition has the same limit. */
export const MAX_STARTUP_TAINTS = 16;

/** Where nothing is known of a node, or it is new. */
export const NONE_ESTABLISHED = (): boolean => false;

/** What a record says of one Node. */
export interface RecordedState {
  /** Whether the record lists the taint as one that the Node is to carry: a pattern protects only those. */
  established(this: void, taint: Taint): boolean;
  /** The taints of the record. */
  readonly recorded: readonly RecordedTaint[];
}

/** A Node of which nothing is recorded. */
export const NOTHING_RECORDED: RecordedState = { established: NONE_ESTABLISHED, recorded: [] };

/**
 * The Node with what its record says. Only the leader writes records: an annotation would not do, because users who may patch nodes, or
 * their status, could write it.
 *
 * @param record of the name of the Node
 * @param uid of the Node: the record of an earlier one of that name says nothing of it
 */
export function withRecord<Node extends object>(
  node: Node,
  record: NodeRecord | undefined,
  uid: string | undefined,
): Node & RecordedState {
  if (record === undefined || record.uid !== uid) return { ...node, ...NOTHING_RECORDED };
  return { ...node, established: establishedIn(record), recorded: record.taints };
}

/** The record without what it says of missing taints: that changes nothing of what is restored or allowed. */
export function withoutMissing(record: NodeRecord): NodeRecord {
  return { ...record, taints: record.taints.map(({ missingSince: _, blocked: __, ...taint }) => taint) };
}

/** What the record lists of the Node with this uid. */
export function recordedTaints(record: NodeRecord | undefined, uid: string): readonly RecordedTaint[] {
  return record?.uid === uid ? record.taints : [];
}

/** The progress of the startup taints of the Node with this uid. */
export function startupIn(record: NodeRecord | undefined, uid: string | undefined): readonly StartupProgress[] {
  return (record?.uid === uid ? record?.startup : undefined) ?? [];
}

/** Whether nothing more is done about the taint on this node. */
export function isOver({ state }: Pick<StartupProgress, 'state'>): boolean {
  return state === 'Removed' || state === 'Missed';
}

/** Whether a record lists a taint as one that its Node is to carry. */
export function establishedIn({ taints }: Pick<NodeRecord, 'taints'>): (taint: Taint) => boolean {
  const listed = new Set(taints.filter(isKept).map(formatTaint));
  return (taint) => listed.has(formatTaint(taint));
}

/** Whether the Node is to carry the recorded taint. */
export function isKept({ removedAt }: RecordedTaint): boolean {
  return removedAt === undefined;
}

/** The recorded taints that the Node is to carry and does not: one with another value counts as missing. */
export function lostTaints(recorded: readonly RecordedTaint[], carried: readonly Taint[]): RecordedTaint[] {
  if (recorded.length === 0) return [];
  const values = valuesAmong(carried, recorded);
  return recorded.filter((taint) => isKept(taint) && values.get(identity(taint)) !== taint.value);
}

/** Whether the record says that the required taint was removed with permission. */
export function isRemoved(
  recorded: readonly RecordedTaint[],
  { taint, anyValue }: { readonly taint: Taint; readonly anyValue: boolean },
): boolean {
  return recorded.some(
    (one) => !isKept(one) && sameTaint(one, taint) && (anyValue || one.value === (taint.value ?? '')),
  );
}

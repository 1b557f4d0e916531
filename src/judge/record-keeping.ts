import { type Machine, sameMachine } from '../kubernetes/machine.ts';
import { isPattern } from '../kubernetes/pattern.ts';
import { identity, sameTaint, type Taint, valuesOf } from '../kubernetes/taint.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import { selectingPolicies } from '../policy/policy-index.ts';
import { type CompiledTaintPolicy, type EnsuredTaint, ONCE_ESTABLISHED } from '../policy/policy-set.ts';
import type { CompiledTaintRule } from '../policy/taint-rule.ts';
import {
  isRemovableByAnnotation,
  isRemovalNoted,
  isRequiredRemovalNamed,
  parseAllowedRemovals,
} from './allow-removal.ts';
import { type DeclaredTaint, isReplaced, missingRequired, requiredTaints } from './declared-taints.ts';
import {
  isKept,
  isOver,
  MAX_KEPT_TAINTS,
  MAX_RECORDED_POLICIES,
  MAX_RECORDED_TAINTS,
  type NodeRecord,
  type RecordedTaint,
  recordedTime,
  type StartupProgress,
} from './node-record.ts';
import { retainedBy } from './node-return.ts';
import type { NodeView } from './node-view.ts';

/** A Node that exists, as records are made of it. */
export interface RecordedNode extends NodeView {
  readonly uid: string;
  readonly machine: Machine;
  /** Whether the Node has carried the taint for long enough, or its record lists it. */
  established(this: void, taint: Taint): boolean;
  /**
   * Whether one update of the Node removed the taint and left the notice of it in the annotation `allow-removal`, as mutation does for
   * exempt users. A user who is not exempt can write a notice, but not in the update that removes the taint.
   */
  removedInOneStep(this: void, taint: Taint): boolean;
  /** For how long its labels have not changed, in milliseconds. */
  readonly labelsUnchangedMs: number;
}

export interface RecordKeeping {
  readonly policies: readonly CompiledTaintPolicy[];
  /** In milliseconds since the epoch. */
  readonly now: number;
  /**
   * For how long the policies have not changed, in milliseconds. Undefined while not all of them are known: one that is not known may require
   * anything.
   */
  readonly policiesUnchangedMs: number | undefined;
}

/** Recorded taints that no policy asks for are kept for this time after a policy has changed: some tools delete policies and create them again. */
const FORGET_MS = 3_600_000;

/**
 * What a node lost, and no policy records any more, is forgotten so long after the policies, and the labels of the node, last changed: a command
 * that replaces a policy, or a label that is set again, must not make the leader forget a loss. In milliseconds.
 */
export const FORGET_LOST_MS = 10_000;

/** A time that is further in the future was not written by a leader with a working clock. */
const MAX_SKEW_MS = 300_000;

/** A Node that was deleted, whose taints are recorded. */
interface Deleted {
  readonly since: number;
  /** Whether the Node of that name, if there is one, is on the same machine. */
  readonly isSame: boolean;
  /** Whether it was recorded as deleted before this step. */
  readonly wasRetained: boolean;
}

/**
 * The record of a name as it is to be; undefined for none. Of a Node that is there, it lists
 * - what the Node carries, and what it was recorded to carry, unless that was removed with permission;
 * - the required taints that were removed with permission;
 * - what an earlier Node of that name, on the same machine, carried, until this one has it or the time is over: also where the labels by
 *   which a policy selects it come later.
 *
 * @param node the Node of that name; undefined where there is none any more
 */
export function nextRecord(
  before: NodeRecord | undefined,
  node: RecordedNode | undefined,
  { policies, now, policiesUnchangedMs = 0 }: RecordKeeping,
): NodeRecord | undefined {
  const forgets = policiesUnchangedMs >= FORGET_MS;
  const isReplacing = policiesUnchangedMs < FORGET_LOST_MS;
  const surviving = policies.filter(({ deletedNodeRetentionMs }) => deletedNodeRetentionMs !== undefined);
  const recording = policies.filter(listsTaints);
  const isUnprotected = (taint: Taint) =>
    recording.every((policy) => policy.removalRestrictedBy(taint, ONCE_ESTABLISHED) === undefined);
  // A policy that is being replaced is absent for a moment, whichever other policies protect the taint.
  const isPerhapsReplaced = (taint: Taint) =>
    isReplacing && surviving.every((policy) => policy.removalRestrictedBy(taint, ONCE_ESTABLISHED) === undefined);
  const left = (taints: readonly RecordedTaint[], { since, isSame, wasRetained }: Deleted) =>
    taints.filter(isKept).flatMap((taint) => {
      const asking = surviving.filter((policy) => retainedBy(taint, policy, now - since, isSame) !== undefined);
      // Of a deleted node, nothing says which policies select it.
      const recorded = asking.filter(({ name }) => taint.policies.includes(name));
      if (asking.length > 0) return { ...taint, policies: namesOf(recorded.length > 0 ? recorded : asking) };
      if (wasRetained && isSame && isPerhapsReplaced(taint)) return taint;
      return !forgets && isUnprotected(taint) ? taint : [];
    });
  const thisSecond = recordedTime(now);
  const past = (time: number) => (time > now + MAX_SKEW_MS ? thisSecond : time);
  const deletedAt = past(before?.deletedAt ?? thisSecond);
  const wasDeleted = before?.deletedAt !== undefined;
  if (node === undefined) {
    if (before === undefined) return undefined;
    const taints = left(before.taints, { since: deletedAt, isSame: true, wasRetained: wasDeleted }).map(withoutState);
    return taints.length > 0 ? { uid: before.uid, machine: before.machine, taints, deletedAt } : undefined;
  }
  const { uid } = node;
  const isKnown = before?.uid === uid;
  const isSame = isKnown || before === undefined || sameMachine(before.machine, node.machine);
  const machine = isKnown ? firstKnown(before.machine, node.machine) : node.machine;
  const forgetsLost = Math.min(policiesUnchangedMs, node.labelsUnchangedMs) >= FORGET_LOST_MS;
  const isPermitted = permittedRemovals(node, policies);
  const earlier = (before?.taints ?? []).flatMap((taint) => {
    const since = isKnown ? taint.earlierDeletedAt : deletedAt;
    if (since === undefined || !isKept(taint)) return [];
    const earlierDeletedAt = past(since);
    const one = { ...withoutState(taint), earlierDeletedAt };
    return left([one], { since: earlierDeletedAt, isSame, wasRetained: isKnown || wasDeleted });
  });
  const own = isKnown ? before.taints.filter((taint) => taint.earlierDeletedAt === undefined) : [];
  // Without the earlier taints that are forgotten in this step: the next one does not know them either.
  const removed = removedFrom(node, [...own, ...earlier], policies, { isPermitted, thisSecond, forgetsLost });
  const carried = valuesOf(node.taints);
  const required = requiredTaints(node.labels, policies);
  // What a policy requires comes before what was recorded, also where the leader restores a taint.
  const isGone = (taint: RecordedTaint) =>
    isReplaced(taint, carried, required) ||
    (carried.get(identity(taint)) !== taint.value && isPermitted({ taint, anyValue: false }));
  // A node may leave a policy for a moment: a lost taint is not forgotten at once.
  const isSpared = (taint: RecordedTaint) =>
    carried.get(identity(taint)) === taint.value ? isUnprotected(taint) && !forgets : !forgetsLost;
  const taints = keptOn(
    node,
    selectingPolicies(policies, node.labels).filter(listsTaints),
    own.filter((taint) => isKept(taint) && !isGone(taint)),
    isSpared,
  ).filter((taint) => !removed.some((one) => identity(one) === identity(taint)));
  const present = valuesOf([...node.taints, ...taints, ...removed]);
  const missing = earlier.filter((taint) => !isGone(taint) && !present.has(identity(taint)));
  const all = [...taints, ...removed, ...missing].slice(0, MAX_RECORDED_TAINTS);
  const startup = isKnown ? startupOf(before, policies, forgets) : [];
  if (all.length + startup.length === 0) return undefined;
  return { uid, machine, taints: all.toSorted(byKey), ...(startup.length === 0 ? {} : { startup }) };
}

/**
 * A Node is about one machine for as long as it exists. Any writer of `nodes/status` can change what it says of that, and would so take the
 * taints from the next Node of that name.
 */
function firstKnown(recorded: Machine, { systemUUID, providerID }: Machine): Machine {
  return { systemUUID: recorded.systemUUID || systemUUID, providerID: recorded.providerID || providerID };
}

/** What is kept of startup taints: all that wait, and the others while a policy requires them. */
function startupOf(
  { startup = [] }: NodeRecord,
  policies: readonly CompiledTaintPolicy[],
  forgets: boolean,
): readonly StartupProgress[] {
  const isRequired = (one: StartupProgress) =>
    policies.some(({ untilReady }) => untilReady.some(({ value }) => sameTaint(value.taint, one)));
  return forgets ? startup.filter((one) => !isOver(one) || isRequired(one)) : startup;
}

/** Whether anything of nodes is recorded for the policy: taints, or that a required one was removed with permission. */
export function recordsTaints(policy: CompiledTaintPolicy): boolean {
  return listsTaints(policy) || (policy.declared !== 'Audit' && policy.required.length > 0);
}

/** Whether records list taints for it: where it restricts a removal, or with `deletedNodeRetentionSeconds`. */
function listsTaints({ deletedNodeRetentionMs, declared, removalRules }: CompiledTaintPolicy): boolean {
  return (
    deletedNodeRetentionMs !== undefined ||
    (declared !== 'Audit' && removalRules.some(({ ensure, value }) => ensure !== 'Always' || value === undefined))
  );
}

/** A taint as records list it, without what they say of it. */
type ListedTaint = Pick<RecordedTaint, 'key' | 'value' | 'effect'>;

/** The policy itself says with which value it requires the taint: no record is needed. */
function isDeclared({ ensure, value }: CompiledTaintRule, taint: ListedTaint): boolean {
  return ensure === 'Always' && (value ?? '') === taint.value;
}

/** The rule by which the policy protects the taint, now or once it is established. */
export function protectingRule(policy: CompiledTaintPolicy, taint: Taint): CompiledTaintRule | undefined {
  const field = policy.removalRestrictedBy(taint, ONCE_ESTABLISHED);
  return policy.removalRules.find((one) => one.field === field);
}

/** @param policy one of those that {@link listsTaints} */
function isRecordedBy(
  taint: ListedTaint,
  policy: CompiledTaintPolicy,
  established: (taint: Taint) => boolean,
): boolean {
  const rule = protectingRule(policy, taint);
  if (rule === undefined) return false;
  // A taint that a pattern names is not protected before it is ten minutes old, with --audit too.
  if (isPattern(rule.key) && policy.establishes && !established(taint)) return false;
  return policy.deletedNodeRetentionMs !== undefined || !isDeclared(rule, taint);
}

/**
 * The required taints that the node does without, because they were removed with permission. One stays listed until the node carries it
 * again, or no policy requires it there any more.
 *
 * @param known what the record lists of this very Node, and what an earlier Node of that name carried
 */
function removedFrom(
  node: RecordedNode,
  known: readonly RecordedTaint[],
  policies: readonly CompiledTaintPolicy[],
  {
    isPermitted,
    thisSecond,
    forgetsLost,
  }: {
    readonly isPermitted: (one: TaintMatch) => boolean;
    readonly thisSecond: number;
    readonly forgetsLost: boolean;
  },
): RecordedTaint[] {
  const before = new Map(known.filter((taint) => !isKept(taint)).map((taint) => [identity(taint), taint]));
  if (before.size === 0 && node.allowRemoval === undefined) return [];
  const isEnforceable = ({ policy }: DeclaredTaint) => policy.declared !== 'Audit';
  const missing = Map.groupBy(
    missingRequired(node, policies).filter((one) => isEnforceable(one) && !isTransientTaintKey(one.taint.key)),
    ({ taint }) => identity(taint),
  );
  // Where any value will do, what counts is the one that the node carried, or the one before it.
  const values = valuesOf(known);
  const asRecorded = (one: DeclaredTaint): DeclaredTaint => {
    const value = one.anyValue ? values.get(identity(one.taint)) : undefined;
    return value === undefined ? one : { ...one, taint: { ...one.taint, value }, anyValue: false };
  };
  const gone = [...missing].flatMap(([key, alike]): RecordedTaint[] => {
    const taint = alike.map(asRecorded).find(isPermitted)?.taint;
    const names = namesOf(alike.map(({ policy }) => policy));
    const listed = before.get(key);
    if (listed) return [{ ...listed, policies: names }];
    if (taint === undefined) return [];
    return [{ ...withoutTime(taint), policies: names, removedAt: thisSecond }];
  });
  if (forgetsLost) return gone;
  // A policy that is replaced is away for a moment.
  const required = requiredTaints(node.labels, policies).filter(isEnforceable);
  const isRequired = (taint: Taint) => required.some((one) => identity(one.taint) === identity(taint));
  const carried = valuesOf(node.taints);
  const kept = [...before.values()].filter(
    (taint) => !isRequired(taint) && carried.get(identity(taint)) !== taint.value,
  );
  return [...gone, ...kept];
}

/** A taint with this value, or with any. */
type TaintMatch = Pick<EnsuredTaint, 'taint' | 'anyValue'>;

/** Whether a taint that the node does without was removed with permission, as the annotation says: by an announcement, or by a notice. */
function permittedRemovals(node: RecordedNode, policies: readonly CompiledTaintPolicy[]): (one: TaintMatch) => boolean {
  const allowed = parseAllowedRemovals(node.allowRemoval);
  const selecting = selectingPolicies(policies, node.labels);
  return (one) =>
    (isRequiredRemovalNamed(allowed, one) && isRemovableByAnnotation(one.taint, selecting, node.established)) ||
    (isRemovalNoted(allowed, one.taint) && node.removedInOneStep(one.taint));
}

/**
 * What a node is to carry: what it carries, and what its record lists already.
 * @param known what the record lists of this very Node, without what was removed with permission
 * @param isSpared whether a listed taint stays though none of these policies records it
 */
function keptOn(
  { taints, established }: RecordedNode,
  policies: readonly CompiledTaintPolicy[],
  known: readonly RecordedTaint[],
  isSpared: (taint: RecordedTaint) => boolean,
): RecordedTaint[] {
  const recorded = new Map(known.map((taint) => [identity(taint), taint]));
  // A value that is listed stays, whatever the node carries.
  const carried = taints.filter((taint) => !recorded.has(identity(taint)));
  // New taints must not crowd out those that are recorded.
  return [...known, ...carried]
    .map(withoutTime)
    .filter((taint) => !isTransientTaintKey(taint.key))
    .flatMap((taint): RecordedTaint[] => {
      const asking = policies.filter((policy) => isRecordedBy(taint, policy, established));
      if (asking.length > 0) return [{ ...taint, policies: namesOf(asking) }];
      const before = recorded.get(identity(taint));
      return before !== undefined && isSpared(before) ? [{ ...taint, policies: before.policies }] : [];
    })
    .slice(0, MAX_KEPT_TAINTS);
}

/** As the taint is listed while its Node carries it. */
function withoutState({ key, value, effect, policies }: RecordedTaint): RecordedTaint {
  return { key, value, effect, policies };
}

function withoutTime({ key, value, effect }: Taint): ListedTaint {
  return { key, value: value ?? '', effect };
}

/** Each once: the API server refuses a set with equal items. */
function namesOf(policies: readonly CompiledTaintPolicy[]): string[] {
  return [...new Set(policies.map(({ name }) => name))].sort().slice(0, MAX_RECORDED_POLICIES);
}

function byKey(a: Taint, b: Taint): number {
  return `${a.key} ${a.effect}` < `${b.key} ${b.effect}` ? -1 : 1;
}

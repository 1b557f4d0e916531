import { type Machine, sameMachine } from '../kubernetes/machine.ts';
import { isPattern } from '../kubernetes/pattern.ts';
import { identity, type Taint, valuesOf } from '../kubernetes/taint.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { CompiledTaintRule } from '../policy/taint-rule.ts';
import { isLegible, MAX_REMEMBERED, parseRemembered, remember } from './memory.ts';
import type { EstablishedView, NodeView, OwedTaint } from './node-view.ts';
import { isRemovalAllowed, parseAllowedRemovals } from './removal.ts';
import type { StartupProgress } from './startup-progress.ts';

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

/** A taint that the Node is to carry. */
export interface RecordedTaint extends Taint {
  /** The empty text for a taint without one. */
  readonly value: string;
  /** The names of the policies that have it recorded: see {@link recordsTaints}. */
  readonly policies: readonly string[];
  /**
   * Set where an earlier Node of that name carried the taint, and this one has not got it back: when the earlier Node was deleted, in
   * milliseconds since the epoch.
   */
  readonly missingSince?: number;
}

/** A Node that exists, as records are made of it. */
export interface RecordedNode extends EstablishedView {
  readonly uid: string;
  readonly machine: Machine;
}

/** The most taints of one record, and policies of one taint: the definition has the same limits. */
export const MAX_RECORDED_TAINTS = 128;
export const MAX_RECORDED_POLICIES = 64;

/** A time that is further in the future was not written by a leader with a working clock. */
const MAX_SKEW_MS = 300_000;

/**
 * What a node that comes back is to carry again, each taint once for each policy that wants it, with the value that was recorded. A
 * kubelet that starts tries to register its node also where that is still there: before its deletion was seen, there is nothing to report.
 */
export function owedTaints(
  { machine, taints, deletedAt }: NodeRecord,
  node: Pick<RecordedNode, 'labels' | 'machine'>,
  policies: readonly CompiledTaintPolicy[],
  now: number,
): OwedTaint[] {
  const isSame = sameMachine(machine, node.machine);
  return policies
    .filter((policy) => policy.deletedNodeRetentionMs !== undefined && policy.selectsNode(node.labels))
    .flatMap((policy) =>
      taints.flatMap((recorded) => {
        const { key, value, effect, missingSince: since = deletedAt } = recorded;
        const isReported = since !== undefined || policy.mode !== 'Audit';
        if (!isReported || !isOwed(recorded, policy, now - (since ?? now), isSame)) return [];
        return { policy, field: policy.protectedBy(recorded) ?? '', taint: { key, value, effect } };
      }),
    );
}

function isOwed(
  taint: Taint,
  { deletedNodeRetentionMs, protectedBy }: CompiledTaintPolicy,
  ageMs: number,
  isSame: boolean,
): boolean {
  return (
    deletedNodeRetentionMs !== undefined && ageMs < deletedNodeRetentionMs && isSame && protectedBy(taint) !== undefined
  );
}

/** By what records are kept and forgotten. */
export interface RecordKeeping {
  readonly policies: readonly CompiledTaintPolicy[];
  /** In milliseconds since the epoch. */
  readonly now: number;
  /** Whether what no policy wants is forgotten. Policies are replaced, and one that is not known may want anything: not at once. */
  readonly forgets: boolean;
}

/**
 * The record of a name as it is to be; undefined for none. Of a Node that is there, what it carries, and what it was recorded to carry and
 * its annotation still lists: a removal that was allowed takes the taint out of the annotation. Another one of that name, on the same machine, is owed what the one before it carried, until it
 * has it or the time is over: also where the labels by which a policy selects it come later.
 *
 * @param node the Node of that name; undefined where there is none any more
 */
export function recordOf(
  before: NodeRecord | undefined,
  node: RecordedNode | undefined,
  { policies, now, forgets }: RecordKeeping,
): NodeRecord | undefined {
  const surviving = policies.filter(({ deletedNodeRetentionMs }) => deletedNodeRetentionMs !== undefined);
  const recording = policies.filter(recordsTaints);
  const isUnwanted = (taint: Taint) => recording.every(({ protectedBy }) => protectedBy(taint) === undefined);
  const left = (taints: readonly RecordedTaint[], since: number, isSame: boolean) =>
    taints.flatMap((taint) => {
      const asking = surviving.filter((policy) => isOwed(taint, policy, now - since, isSame));
      // Of a deleted node, nothing says which policies select it.
      const recorded = asking.filter(({ name }) => taint.policies.includes(name));
      if (asking.length > 0) return { ...taint, policies: namesOf(recorded.length > 0 ? recorded : asking) };
      return !forgets && isUnwanted(taint) ? taint : [];
    });
  // Whole seconds, as they are written.
  const thisSecond = Math.floor(now / 1000) * 1000;
  const past = (time: number) => (time > now + MAX_SKEW_MS ? thisSecond : time);
  const deletedAt = past(before?.deletedAt ?? thisSecond);
  if (node === undefined) {
    if (before === undefined) return undefined;
    const taints = left(before.taints, deletedAt, true).map(({ missingSince: _, ...taint }) => taint);
    return taints.length > 0 ? { uid: before.uid, machine: before.machine, taints, deletedAt } : undefined;
  }
  const { uid, machine } = node;
  const isKnown = before?.uid === uid;
  const isSame = isKnown || before === undefined || sameMachine(before.machine, machine);
  const owed = (before?.taints ?? []).flatMap((taint) => {
    const since = isKnown ? taint.missingSince : deletedAt;
    return since === undefined ? [] : left([{ ...taint, missingSince: past(since) }], past(since), isSame);
  });
  const known = isKnown ? before.taints : owed;
  const taints = recordedOn(
    node,
    recording.filter((policy) => policy.selectsNode(node.labels)),
    known,
    forgets ? [] : known.filter((taint) => taint.missingSince === undefined && isUnwanted(taint)),
  );
  const present = valuesOf([...node.taints, ...taints]);
  const missing = owed.filter((taint) => !present.has(identity(taint)));
  const all = [...taints, ...missing].slice(0, MAX_RECORDED_TAINTS);
  const startup = isKnown ? startupOf(before, policies, forgets) : [];
  if (all.length + startup.length === 0) return undefined;
  return { uid, machine, taints: all.toSorted(byKey), ...(startup.length === 0 ? {} : { startup }) };
}

/** What is kept of startup taints: all that wait, and the others while a policy requires them. */
function startupOf(
  { startup = [] }: NodeRecord,
  policies: readonly CompiledTaintPolicy[],
  forgets: boolean,
): readonly StartupProgress[] {
  if (startup.length === 0 || !forgets) return startup;
  const required = new Set(policies.flatMap(({ untilReady }) => untilReady.map(({ value }) => identity(value.taint))));
  return startup.filter((one) => one.state === 'Waiting' || one.state === 'Ready' || required.has(identity(one)));
}

/** Whether the policy has taints of nodes recorded: where it restricts a removal, or with `deletedNodeRetentionSeconds`. */
export function recordsTaints({ deletedNodeRetentionMs, declared, rules }: CompiledTaintPolicy): boolean {
  return (
    deletedNodeRetentionMs !== undefined ||
    (declared !== 'Audit' && rules.some(({ ensure, value }) => ensure !== 'Always' || value === undefined))
  );
}

/** The policy itself says with which value it requires the taint: no record is needed. */
function isDeclared({ ensure, value }: CompiledTaintRule, taint: Taint): boolean {
  return ensure === 'Always' && (value ?? '') === (taint.value ?? '');
}

function isRecordedBy(taint: Taint, policy: CompiledTaintPolicy, established: (taint: Taint) => boolean): boolean {
  const field = policy.protectedBy(taint);
  const rule = policy.rules.find((one) => one.field === field);
  if (rule === undefined) return false;
  // With --audit, nothing waits: what is recorded meanwhile is protected as soon as it ends.
  if (isPattern(rule.key) && policy.establishes && !established(taint)) return false;
  return policy.deletedNodeRetentionMs !== undefined || (policy.declared !== 'Audit' && !isDeclared(rule, taint));
}

/**
 * What a node is to carry: what it carries, and what the record lists already and the annotation has not let go.
 * @param known what the record lists of this very Node
 * @param kept taints that are kept though none of these policies wants them
 */
function recordedOn(
  { taints, remembered, allowRemoval: announced, established }: RecordedNode,
  policies: readonly CompiledTaintPolicy[],
  known: readonly RecordedTaint[],
  kept: readonly RecordedTaint[],
): RecordedTaint[] {
  const allowed = parseAllowedRemovals(announced);
  // The annotation adds nothing to the record: users who may patch nodes can write it.
  const recorded = valuesOf(known);
  const isKnown = (taint: Taint) => recorded.get(identity(taint)) === (taint.value ?? '');
  const lost = parseRemembered(remembered).filter((taint) => isKnown(taint) && !isRemovalAllowed(allowed, taint));
  const all = [...new Map([...taints, ...lost].map((taint) => [identity(taint), taint])).values()];
  // New taints must not crowd out those that are recorded.
  return [...all.filter(isKnown), ...all.filter((taint) => !isKnown(taint))]
    .map(({ key, value, effect }) => ({ key, value: value ?? '', effect }))
    .filter((taint) => isLegible(taint) && !isTransientTaintKey(taint.key))
    .flatMap((taint): RecordedTaint[] => {
      const asking = policies.filter((policy) => isRecordedBy(taint, policy, established));
      if (asking.length > 0) return [{ ...taint, policies: namesOf(asking) }];
      const before = kept.find((one) => identity(one) === identity(taint) && one.value === taint.value);
      return before ? [{ ...taint, policies: before.policies }] : [];
    })
    .slice(0, MAX_REMEMBERED);
}

function namesOf(policies: readonly CompiledTaintPolicy[]): string[] {
  return policies
    .map(({ name }) => name)
    .sort()
    .slice(0, MAX_RECORDED_POLICIES);
}

function byKey(a: Taint, b: Taint): number {
  return `${a.key} ${a.effect}` < `${b.key} ${b.effect}` ? -1 : 1;
}

/**
 * The memory of a node that came back while nobody was asked: what it is owed is remembered there, and from then on like any taint that
 * it has lost.
 */
export function rememberOwed(node: NodeView, owed: readonly OwedTaint[]): string | undefined {
  const carried = owed.filter(({ policy }) => policy.mode !== 'Audit').map(({ taint }) => taint);
  return carried.length === 0
    ? node.remembered
    : remember({ before: node.remembered, carried, protects: () => true, room: node.room });
}

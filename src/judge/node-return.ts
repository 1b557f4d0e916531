import { type MachineMarks, sameMachine } from '../kubernetes/machine.ts';
import { identity, type Taint, valuesOf, withTaints } from '../kubernetes/taint.ts';
import { mark } from '../kubernetes/text.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { isLegible, MAX_REMEMBERED, parseRemembered, remember, settledOn } from './memory.ts';
import type { NodeView, OwedTaint } from './node-view.ts';
import { isRemovalAllowed, parseAllowedRemovals } from './removal.ts';

/** What is kept of a node in case that it is deleted: outside of the Node, which is gone then. */
export interface NodeRecord {
  /** The {@link mark} of the Node's uid: another Node of that name has another one. */
  readonly uid: string;
  readonly machine: MachineMarks;
  /** What the Node is to carry by policies with `deletedNodeRetentionSeconds`. */
  readonly taints: readonly Taint[];
  /** When it was deleted, in milliseconds since the epoch; undefined while it is there, or nobody has seen it go. */
  readonly deletedAt?: number | undefined;
  /** What the Node before it carried, which was deleted at that time, and this one has not got back yet. */
  readonly owed?: { readonly taints: readonly Taint[]; readonly since: number } | undefined;
}

/** A Node that is there, as records are made of it. */
export interface RecordedNode extends NodeView {
  readonly uid: string;
  readonly machine: MachineMarks;
}

/**
 * What a node that comes back is to carry again, each taint once for each policy that wants it, with the value that was recorded. A
 * kubelet that starts tries to register its node also where that is still there: before its deletion was seen, there is nothing to report.
 */
export function owedTaints(
  { machine, taints, deletedAt, owed }: NodeRecord,
  node: Pick<RecordedNode, 'labels' | 'machine'>,
  policies: readonly CompiledTaintPolicy[],
  now: number,
): OwedTaint[] {
  const isSame = sameMachine(machine, node.machine);
  return policies
    .filter((policy) => policy.deletedNodeRetentionMs !== undefined && policy.selectsNode(node.labels))
    .flatMap((policy) => {
      const carried = deletedAt === undefined && policy.mode === 'Audit' ? [] : taints;
      const wanted = [
        ...carried.filter((taint) => isOwed(taint, policy, now - (deletedAt ?? now), isSame)),
        ...(owed?.taints ?? []).filter((taint) => isOwed(taint, policy, now - (owed?.since ?? now), isSame)),
      ];
      return withTaints([], wanted.toReversed()).map((taint) => ({
        policy,
        field: policy.protectedBy(taint) ?? '',
        taint,
      }));
    });
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
 * The record of a name as it is to be; undefined for none. Of a Node that is there, what it carries and what it was remembered to carry:
 * what went with leave is neither. Another one of that name, on the same machine, is owed what the one before it carried, until it
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
  const isUnwanted = (taint: Taint) => surviving.every(({ protectedBy }) => protectedBy(taint) === undefined);
  const left = (taints: readonly Taint[], since: number, isSame: boolean) =>
    taints.filter(
      (taint) =>
        surviving.some((policy) => isOwed(taint, policy, now - since, isSame)) || (!forgets && isUnwanted(taint)),
    );
  // Whole seconds, as they are written.
  const deletedAt = before?.deletedAt ?? Math.floor(now / 1000) * 1000;
  const carriedBefore = before ? withTaints(before.owed?.taints ?? [], before.taints) : [];
  if (node === undefined) {
    const taints = left(carriedBefore, deletedAt, true);
    return before && taints.length > 0 ? { uid: before.uid, machine: before.machine, taints, deletedAt } : undefined;
  }
  const { machine } = node;
  const uid = mark(node.uid);
  const isKnown = before?.uid === uid;
  const taints = survivingOn(
    node,
    surviving.filter((policy) => policy.selectsNode(node.labels)),
    valuesOf(isKnown && !forgets ? before.taints.filter(isUnwanted) : []),
  );
  const debt = isKnown ? before.owed : { taints: carriedBefore, since: deletedAt };
  const present = valuesOf([...node.taints, ...taints]);
  const isSame = isKnown || before === undefined || sameMachine(before.machine, machine);
  const open = debt ? left(debt.taints, debt.since, isSame).filter((taint) => !present.has(identity(taint))) : [];
  if (taints.length + open.length === 0) return undefined;
  return { uid, machine, taints, ...(debt && open.length > 0 ? { owed: { taints: open, since: debt.since } } : {}) };
}

/** @param kept values of taints that are kept though none of these policies wants them */
function survivingOn(
  { taints, remembered, allowRemoval: announced }: RecordedNode,
  policies: readonly CompiledTaintPolicy[],
  kept: ReadonlyMap<string, string>,
): Taint[] {
  const carried = valuesOf(taints);
  const isSettled = settledOn(remembered);
  const allowed = parseAllowedRemovals(announced);
  const lost = parseRemembered(remembered).filter(
    (taint) => !carried.has(identity(taint)) && !isRemovalAllowed(allowed, taint),
  );
  return [...taints, ...lost]
    .map(({ key, value, effect }): Taint => ({ key, value: value ?? '', effect }))
    .filter((taint) => isLegible(taint) && !isTransientTaintKey(taint.key))
    .filter(
      (taint) =>
        policies.some((policy) => policy.heldBy(taint, isSettled) !== undefined) ||
        kept.get(identity(taint)) === taint.value,
    )
    .slice(0, MAX_REMEMBERED);
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

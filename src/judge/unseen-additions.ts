import { formatTaint, identity, type Taint } from '../kubernetes/taint.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import { enforcedPolicies } from '../policy/policy-index.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { oncePer } from '../runtime/once-per.ts';
import { isRequiredTaint, requiredTaints } from './declared-taints.ts';
import { NONE_ESTABLISHED } from './node-record.ts';
import type { NodeView } from './node-view.ts';
import type { Protection } from './rulings.ts';

/** API servers may need this long to learn that requests are to be sent to the webhook. Additions before are accepted. */
export const ADDITION_GRACE_MS = 60_000;

/** A taint whose addition a policy restricts, and which was added to a node while the webhook was not called. */
export interface UnseenAddition extends Protection {
  readonly taint: Taint;
  /** Why the leader does not remove it. Undefined where it does. */
  readonly blockedBy:
    | undefined
    /** No policy that restricts the addition is in mode Restore. */
    | 'ModeDoesNotRevert'
    /** Its removal is restricted as well. */
    | 'RemovalRestricted'
    /** Another writer adds it repeatedly. */
    | 'Conflict';
}

interface AcceptedByPolicy {
  /** Since when the policy restricts additions to the node, in milliseconds of the monotonic clock. */
  readonly since: number;
  /** The restricted taints that the node carried at the last check, as text. */
  readonly taints: ReadonlySet<string>;
}

/** By policies that restrict additions: the taints that the leader does not remove. See {@link acceptedTaints}. */
export type AcceptedTaints = ReadonlyMap<string, AcceptedByPolicy>;

const NONE_ACCEPTED: AcceptedTaints = new Map();

/** Equal for as long as the policy restricts the same additions of the same users to the same nodes. */
const restrictionOf = oncePer(({ name, mode, nodeSelector, exempt, additionRules }: CompiledTaintPolicy) =>
  JSON.stringify([name, mode, nodeSelector, exempt, additionRules]),
);

interface Watching {
  /** Undefined where the leader sees the node for the first time. */
  readonly accepted: AcceptedTaints | undefined;
  /** In milliseconds of the monotonic clock. */
  readonly now: number;
  readonly isInConflict: (taint: Taint) => boolean;
}

/**
 * The restricted taints that were added to a node since its last check, while the webhook was not called. Nothing says who added them, so
 * only those count that a policy restricts which exempts no user. A required taint does not count.
 */
export function unseenAdditions(
  node: NodeView,
  policies: readonly CompiledTaintPolicy[],
  { accepted, now, isInConflict }: Watching,
): UnseenAddition[] {
  if (accepted === undefined || accepted.size === 0) return [];
  const binding = enforcedPolicies(policies, node.labels);
  const required = requiredTaints(node.labels, policies);
  const isExpected = (taint: Taint) =>
    isTransientTaintKey(taint.key) || required.some((one) => isRequiredTaint(taint, one));
  const isNew = (policy: CompiledTaintPolicy, taint: Taint) => {
    const known = accepted.get(restrictionOf(policy));
    return known !== undefined && now - known.since >= ADDITION_GRACE_MS && !known.taints.has(formatTaint(taint));
  };
  return node.taints.flatMap((taint): UnseenAddition[] => {
    const by = binding.flatMap((policy) => {
      const field = policy.additionRestrictedBy(taint);
      return field === undefined || !isNew(policy, taint) ? [] : [{ policy, field, taint }];
    });
    if (by.every(({ policy }) => policy.exemptsUsers) || isExpected(taint)) return [];
    return by.map((one) => ({ ...one, blockedBy: whatBlocks(taint, by) }));
  });

  function whatBlocks(taint: Taint, by: readonly Protection[]): UnseenAddition['blockedBy'] {
    const restoring = by.filter(({ policy }) => policy.mode === 'Restore');
    if (restoring.length === 0) return 'ModeDoesNotRevert';
    if (binding.some((policy) => policy.removalRestrictedBy(taint, NONE_ESTABLISHED) !== undefined))
      return 'RemovalRestricted';
    return isInConflict(taint) ? 'Conflict' : undefined;
  }
}

/**
 * Accepts the taints that the node carries, except those that the leader removes. A new leader accepts the taints that it finds.
 *
 * @param additions those that {@link unseenAdditions} found
 * @param lost what the record of the node lists and the node does not carry: these taints may come back
 * @param now in milliseconds of the monotonic clock
 */
export function acceptedTaints(
  before: AcceptedTaints | undefined,
  node: NodeView,
  policies: readonly CompiledTaintPolicy[],
  {
    additions,
    lost,
    now,
  }: {
    readonly additions: readonly UnseenAddition[];
    readonly lost: readonly Taint[];
    readonly now: number;
  },
): AcceptedTaints {
  const restricting = enforcedPolicies(policies, node.labels).filter(restrictsAdditions);
  if (restricting.length === 0) return NONE_ACCEPTED;
  const removed = new Set(additions.filter(isReverted).map(({ taint }) => taint));
  const carried = [...node.taints.filter((taint) => !removed.has(taint)), ...lost];
  return new Map(
    restricting.map((policy): [string, AcceptedByPolicy] => {
      const restriction = restrictionOf(policy);
      const taints = carried.filter((taint) => policy.additionRestrictedBy(taint) !== undefined);
      return [restriction, { since: before?.get(restriction)?.since ?? now, taints: new Set(taints.map(formatTaint)) }];
    }),
  );
}

/** Whether the leader removes the taint. */
function isReverted({ blockedBy }: UnseenAddition): boolean {
  return blockedBy === undefined;
}

/** The node without the taints that the leader removes. */
export function withoutReverted<Node extends NodeView>(node: Node, additions: readonly UnseenAddition[]): Node {
  const removed = new Set(additions.filter(isReverted).map(({ taint }) => identity(taint)));
  return removed.size === 0 ? node : { ...node, taints: node.taints.filter((taint) => !removed.has(identity(taint))) };
}

function restrictsAdditions({ additionRules }: CompiledTaintPolicy): boolean {
  return additionRules.length > 0;
}

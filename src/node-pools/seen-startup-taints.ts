import { ownValue, type StringMap } from '../kubernetes/label-selector.ts';
import { formatTaint, repels, sameTaint, type Taint, taintIdentity } from '../kubernetes/taint.ts';
import { isStartupTaintKey } from '../kubernetes/transient-taints.ts';
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';
import {
  AUTOSCALER_STARTUP_PREFIX,
  isKnownToAutoscalers,
  isKnownToKarpenter,
  NODE_POOL_LABEL,
  type NodePool,
  titleOf,
} from './node-pool.ts';
import { howToDeclare } from './pool-declaration.ts';
import { isOnEveryNode, type UndeclaredTaint } from './undeclared-taints.ts';

/** A startup taint that a node carried. */
export interface SeenStartupTaint {
  readonly taint: Taint;
  readonly node: string;
  /** The NodePool of Karpenter whose node it is; undefined for none. */
  readonly nodePool: string | undefined;
}

interface SeenNode {
  readonly name: string;
  readonly labels: StringMap;
  readonly taints: readonly Taint[];
}

/**
 * The startup taints on a node that keep pods away and that an autoscaler must know: those with known keys, and those of `ensure: UntilReady`. If
 * another writer sets them, no policy says that the nodes of the pool have them.
 */
export function seenStartupTaints(
  { name, labels, taints }: SeenNode,
  policies: readonly CompiledTaintPolicy[],
): SeenStartupTaint[] {
  const repelling = taints.filter(repels);
  if (repelling.length === 0) return [];
  const ours = new Set(policies.flatMap(({ untilReady }) => untilReady.map(({ taint }) => taintIdentity(taint))));
  return repelling
    .filter(
      (taint) => (ours.has(taintIdentity(taint)) || isStartupTaintKey(taint.key)) && !isKnownToAutoscalers(taint.key),
    )
    .map((taint) => ({ taint, node: name, nodePool: ownValue(labels, NODE_POOL_LABEL) }));
}

/** Taints that the nodes of a NodePool carried and its template does not declare. */
export interface UnknownStartupTaints {
  readonly pool: NodePool;
  /** Each taint once. */
  readonly seen: readonly SeenStartupTaint[];
}

/**
 * The startup taints that were seen on nodes of NodePools and that neither list of their templates contains.
 * @param undeclared taints of policies, which are already reported if the policies are enforced
 */
export function unknownStartupTaints(
  pools: readonly NodePool[],
  seen: readonly SeenStartupTaint[],
  undeclared: readonly UndeclaredTaint[],
): UnknownStartupTaints[] {
  return pools.flatMap((pool) => {
    if (pool.kind !== 'NodePool') return [];
    const known = [
      ...(pool.taints ?? []),
      ...(pool.startupTaints ?? []),
      ...undeclared.filter((one) => one.pool === pool && isOnEveryNode(one)).map(({ taint }) => taint),
    ];
    const unknown = seen.filter(
      ({ nodePool, taint }) =>
        nodePool === pool.name && !isKnownToKarpenter(taint.key) && !known.some((one) => sameTaint(one, taint)),
    );
    const each = new Map(unknown.toReversed().map((one) => [taintIdentity(one.taint), one]));
    return each.size === 0 ? [] : [{ pool, seen: [...each.values()].reverse() }];
  });
}

/** In one sentence, for example `NodePool gpu does not declare in startupTaints taint cilium.io/agent-not-ready:NoExecute, which node n1 carried: …`. */
export function unknownText({ pool, seen }: UnknownStartupTaints): string {
  const taints = seen.map(({ taint, node }) => `${formatTaint(taint)}, which node ${node} carried`).join(' and ');
  return `${titleOf(pool)} does not declare in startupTaints taint ${taints}: Karpenter takes it for a taint that stays`;
}

/** The command that declares these taints in the pool. */
export function howToDeclareSeen({ pool, seen }: UnknownStartupTaints): string {
  return howToDeclare(
    pool,
    seen.map(({ taint }) => ({ taint, list: 'startupTaints' })),
  );
}

/** The keys that Cluster Autoscaler must know, each with the first node that carried it. Nodes of Karpenter's NodePools do not count. */
export function keysForClusterAutoscaler(seen: readonly SeenStartupTaint[]): ReadonlyMap<string, string> {
  const foreign = seen.filter(
    ({ nodePool, taint: { key } }) => nodePool === undefined && !key.startsWith(AUTOSCALER_STARTUP_PREFIX),
  );
  return new Map(foreign.toReversed().map(({ taint: { key }, node }) => [key, node]));
}

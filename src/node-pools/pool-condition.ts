import { formatTaint, sameTaint } from '../kubernetes/taint.ts';
import { atMost } from '../kubernetes/text.ts';
import { type CompiledTaintPolicy, isEnforced } from '../policy/policy-set.ts';
import type { StateOf } from '../policy/status-conditions.ts';
import { type NodePool, type PoolList, titleOf } from './node-pool.ts';
import { howToDeclare } from './pool-declaration.ts';
import { comingTaints, type UndeclaredTaint } from './undeclared-taints.ts';

/** The report about node pools for a policy that is in force. */
export interface PoolNote extends StateOf<'Ready'> {
  readonly status: 'True';
  readonly reason: 'PoolLacksTaint' | 'PoolsNotPermitted';
}

/** The most pools that a message names, each with a command. */
const MAX_NAMED = 8;

/**
 * The report about node pools in the condition `Ready` of a policy that is in force. Undefined if there is nothing to report: also for a policy in
 * mode Audit, and for pools of which it is not certain that the policy selects all nodes.
 * @param hidden why some pools cannot be read; empty if all can
 */
export function poolCondition(
  policy: CompiledTaintPolicy,
  undeclared: readonly UndeclaredTaint[],
  hidden: readonly string[],
): PoolNote | undefined {
  if (!isEnforced(policy) || comingTaints(policy).length === 0) return undefined;
  const certain = undeclared.filter((one) => one.policy.name === policy.name && one.openLabels.length === 0);
  const pools = [...Map.groupBy(certain, ({ pool }) => pool)];
  if (pools.length > 0) {
    const texts = pools.map(([pool, of]) => `${lackText(pool, of)}; ${howToDeclare(pool, of)}`);
    return { status: 'True', reason: 'PoolLacksTaint', message: atMost(MAX_NAMED, texts).join('; ') };
  }
  return hidden.length === 0 ? undefined : { status: 'True', reason: 'PoolsNotPermitted', message: hidden.join('; ') };
}

/**
 * One sentence: the taints that the template does not declare, and the effect.
 * @param where what requires the taint
 */
export function lackText(
  pool: NodePool,
  undeclared: readonly UndeclaredTaint[],
  where: (one: UndeclaredTaint) => string = ({ field }) => field,
): string {
  const { kind } = pool;
  const listed = (list: PoolList) => {
    const isWrong = ({ taint }: UndeclaredTaint) =>
      (list === 'taints' ? pool.startupTaints : pool.taints)?.some((one) => sameTaint(one, taint)) ?? false;
    const note = list === 'taints' ? 'startupTaints is for taints that are removed' : 'taints is for taints that stay';
    return undeclared
      .filter((one) => one.list === list)
      .map((one) => {
        const hint = kind === 'NodePool' && isWrong(one) ? ` (${note})` : '';
        return `${formatTaint(one.taint)}, required by ${where(one)}${hint}`;
      })
      .join(' and ');
  };
  const [staying, removed] = [listed('taints'), listed('startupTaints')];
  const clauses = [
    ...(staying ? [`does not declare taint ${staying}: ${consequenceOf(pool)}`] : []),
    ...(removed && kind === 'NodePool'
      ? [`does not declare in startupTaints taint ${removed}: Karpenter takes it for a taint that stays`]
      : []),
    ...(removed && kind !== 'NodePool'
      ? [`has nodes with taint ${removed}: Cluster Autoscaler takes it for a taint that stays`]
      : []),
  ];
  return `${titleOf(pool)} ${clauses.join('. It ')}`;
}

/** The effect of an undeclared taint. */
function consequenceOf({ kind }: NodePool): string {
  return kind === 'NodePool'
    ? 'Karpenter starts nodes for pods that cannot run there, one after the other'
    : 'Cluster Autoscaler, while there is no node of it, starts one for pods that cannot run there';
}

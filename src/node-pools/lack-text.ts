import { formatTaint, sameTaint } from '../kubernetes/taint.ts';
import { type NodePool, type PoolList, titleOf } from './node-pool.ts';
import type { UndeclaredTaint } from './undeclared-taints.ts';

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

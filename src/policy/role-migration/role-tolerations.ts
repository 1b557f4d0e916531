import { compileCoverage } from '../coverage/coverage.ts';
import { tolerationsFor } from '../coverage/fix.ts';
import { formatTaint, type Taint } from '../taint.ts';
import { tolerates } from '../toleration.ts';
import type { PolicyToleration } from '../toleration-policy.ts';
import { type MigrationFacts, NEW_ROLE, OLD_ROLE, type Workload } from './facts.ts';

/** A taint of the old role, and the same of the new one. */
export interface TaintPair {
  readonly old: Taint;
  readonly new: Taint;
}

/** The pairs of which one is on some node, and the one that kubeadm knows. */
export function taintPairs({ nodes }: Pick<MigrationFacts, 'nodes'>): TaintPair[] {
  const found = nodes.flatMap(({ taints }) => taints.filter(({ key }) => key === OLD_ROLE || key === NEW_ROLE));
  const pairs = [{ key: OLD_ROLE, effect: 'NoSchedule' }, ...found]
    .filter(({ effect }) => effect !== 'PreferNoSchedule')
    .map(({ value, effect }) => ({
      old: { key: OLD_ROLE, ...(value ? { value } : {}), effect },
      new: { key: NEW_ROLE, ...(value ? { value } : {}), effect },
    }));
  return [...new Map(pairs.map((pair) => [formatTaint(pair.old), pair])).values()];
}

/**
 * The tolerations that a workload lacks: of each pair it is to tolerate both, if it tolerates one.
 *
 * A toleration for any value may cover more than the taint that it is given for, and so ask for another one.
 */
export function lackingTolerations(
  workload: Workload,
  pairs: readonly TaintPair[],
  facts: MigrationFacts,
): PolicyToleration[] {
  const found = tolerationsFor(lackingTaints(workload, pairs, facts));
  if (found.length === 0) return found;
  const tolerating = { ...workload, tolerations: [...workload.tolerations, ...found] };
  return [...found, ...lackingTolerations(tolerating, pairs, facts)];
}

/**
 * The taints that a workload does not tolerate, though it tolerates their counterpart. Nobody needs to tolerate an old taint that is
 * on no node where the workload would run.
 */
function lackingTaints(workload: Workload, pairs: readonly TaintPair[], { nodes }: MigrationFacts): Taint[] {
  const isTolerated = (taint: Taint) => workload.tolerations.some((toleration) => tolerates(toleration, taint));
  return pairs.flatMap((pair) => {
    if (isTolerated(pair.old)) return isTolerated(pair.new) ? [] : [pair.new];
    return isTolerated(pair.new) && isKeptOffBy(pair.old) ? [pair.old] : [];
  });

  function isKeptOffBy(taint: Taint): boolean {
    const coverageOn = compileCoverage(workload);
    return nodes.some((node) => {
      if (!node.taints.some((other) => formatTaint(other) === formatTaint(taint))) return false;
      const coverage = coverageOn(node);
      return !coverage.runs && coverage.obstacles.every(({ kind }) => kind === 'taint');
    });
  }
}

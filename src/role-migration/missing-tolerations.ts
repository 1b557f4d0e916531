import { tolerationsFor } from '../coverage/missing-tolerations.ts';
import type { Workload } from '../coverage/workload.ts';
import { equalTaints, type Taint } from '../kubernetes/taint.ts';
import { tolerates } from '../kubernetes/toleration.ts';
import type { PolicyToleration } from '../policy/toleration-policy.ts';
import { compileCoverage } from '../scheduling/coverage.ts';
import type { MigrationFacts } from './migration-facts.ts';
import type { TaintPair } from './role-taints.ts';

/**
 * The missing tolerations of a workload: if it tolerates one taint of a pair, it should tolerate both.
 *
 * An added toleration for any value may cover a further taint, whose counterpart then needs a toleration, too.
 */
export function missingTolerations(
  workload: Workload,
  pairs: readonly TaintPair[],
  facts: MigrationFacts,
): PolicyToleration[] {
  const found = tolerationsFor(missingTaints(workload, pairs, facts));
  if (found.length === 0) return found;
  const tolerating = { ...workload, tolerations: [...workload.tolerations, ...found] };
  return [...found, ...missingTolerations(tolerating, pairs, facts)];
}

/**
 * The taints that a workload does not tolerate, though it tolerates their counterpart. An old taint that is on no node where the workload would run
 * needs no toleration.
 */
function missingTaints(workload: Workload, pairs: readonly TaintPair[], { nodes }: MigrationFacts): Taint[] {
  const isTolerated = (taint: Taint) => workload.tolerations.some((toleration) => tolerates(toleration, taint));
  return pairs.flatMap((pair) => {
    if (isTolerated(pair.old)) return isTolerated(pair.new) ? [] : [pair.new];
    return isTolerated(pair.new) && isKeptOffBy(pair.old) ? [pair.old] : [];
  });

  function isKeptOffBy(taint: Taint): boolean {
    const coverageOn = compileCoverage(workload);
    return nodes.some((node) => {
      if (!node.taints.some((other) => equalTaints(other, taint))) return false;
      const coverage = coverageOn(node);
      return !coverage.runs && coverage.obstacles.every(({ kind }) => kind === 'taint');
    });
  }
}

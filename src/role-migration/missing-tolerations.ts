import { tolerationsFor } from '../coverage/missing-tolerations.ts';
import type { Workload } from '../coverage/workload.ts';
import { equalTaints, type Taint } from '../kubernetes/taint.ts';
import { secondsOf, type Toleration, tolerates } from '../kubernetes/toleration.ts';
import type { PolicyToleration } from '../policy/toleration-policy.ts';
import { compileCoverage } from '../scheduling/coverage.ts';
import type { MigrationFacts } from './migration-facts.ts';
import type { TaintPair } from './role-taints.ts';

/**
 * The missing tolerations of a workload: if it tolerates one taint of a pair, it should tolerate both, and both for as long.
 *
 * An added toleration for any value may cover a further taint, whose counterpart then needs a toleration, too.
 */
export function missingTolerations(
  workload: Workload,
  pairs: readonly TaintPair[],
  facts: MigrationFacts,
): PolicyToleration[] {
  const missing = missingTaints(workload, pairs, facts);
  const found = tolerationsFor(missing.map(({ taint }) => taint)).map((toleration) => withSeconds(toleration, missing));
  if (found.length === 0) return found;
  const tolerating = { ...workload, tolerations: [...workload.tolerations, ...found] };
  return [...found, ...missingTolerations(tolerating, pairs, facts)];
}

/** A taint that a workload does not tolerate, and its toleration of the counterpart. */
interface MissingTaint {
  readonly taint: Taint;
  readonly counterpart: Toleration;
}

/**
 * The taints that a workload does not tolerate, though it tolerates their counterpart. An old taint that is on no node where the workload would run
 * needs no toleration.
 */
function missingTaints(workload: Workload, pairs: readonly TaintPair[], { nodes }: MigrationFacts): MissingTaint[] {
  const tolerationOf = (taint: Taint) => workload.tolerations.find((toleration) => tolerates(toleration, taint));
  return pairs.flatMap((pair): MissingTaint[] => {
    const ofOld = tolerationOf(pair.old);
    const ofNew = tolerationOf(pair.new);
    if (ofOld && !ofNew) return [{ taint: pair.new, counterpart: ofOld }];
    return ofNew && !ofOld && isKeptOffBy(pair.old) ? [{ taint: pair.old, counterpart: ofNew }] : [];
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

/** The toleration, for as many seconds as the longest one of the counterparts. */
function withSeconds(toleration: PolicyToleration, missing: readonly MissingTaint[]): PolicyToleration {
  if (toleration.effect !== 'NoExecute') return toleration;
  const covered = missing.filter(({ taint }) => tolerates(toleration, taint));
  const tolerationSeconds = Math.max(...covered.map(({ counterpart }) => secondsOf(counterpart)));
  return Number.isFinite(tolerationSeconds) ? { ...toleration, tolerationSeconds } : toleration;
}

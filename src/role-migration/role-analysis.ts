import { tolerationsFor } from '../coverage/missing-tolerations.ts';
import type { Workload } from '../coverage/workload.ts';
import { own } from '../kubernetes/label-selector.ts';
import { NEW_ROLE, OLD_ROLE } from '../kubernetes/roles.ts';
import { equalTaints, formatTaint, type Taint } from '../kubernetes/taint.ts';
import { tolerates } from '../kubernetes/toleration.ts';
import type { PolicyToleration } from '../policy/toleration-policy.ts';
import { compileCoverage } from '../scheduling/coverage.ts';
import { type MigrationFacts, selectsByOldRole } from './migration-facts.ts';

/** A taint of the old role, and the corresponding one of the new role. */
export interface TaintPair {
  readonly old: Taint;
  readonly new: Taint;
}

/** The pairs with a taint that some node carries, and kubeadm's pair. */
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

/** Which of the two roles an object uses. */
export type RoleNames = 'old' | 'new' | 'both' | 'none';

/** The progress of a cluster from the old role to the new one. */
export interface RoleAnalysis {
  /** The nodes with a label or taint of either role. */
  readonly nodes: readonly { readonly name: string; readonly labels: RoleNames; readonly taints: RoleNames }[];
  /** The workloads that tolerate only one of the taints, or select nodes by the old label. */
  readonly workloads: readonly {
    readonly workload: Workload;
    readonly tolerates: RoleNames;
    readonly selectsByOldLabel: boolean;
  }[];
}

export function analyzeRoles(facts: MigrationFacts): RoleAnalysis {
  const pairs = taintPairs(facts);
  return {
    nodes: facts.nodes
      .map(({ name, labels, taints }) => ({
        name,
        labels: which((role) => own(labels, role) !== undefined),
        taints: which((role) => taints.some(({ key }) => key === role)),
      }))
      .filter(({ labels, taints }) => labels !== 'none' || taints !== 'none'),
    workloads: facts.workloads
      .map((workload) => ({
        workload,
        tolerates: which((role) =>
          pairs
            .map((pair) => (role === OLD_ROLE ? pair.old : pair.new))
            .some((taint) => workload.tolerations.some((toleration) => tolerates(toleration, taint))),
        ),
        selectsByOldLabel: selectsByOldRole(workload),
      }))
      .filter(({ tolerates, selectsByOldLabel }) => tolerates === 'old' || tolerates === 'new' || selectsByOldLabel),
  };
}

function which(knows: (role: string) => boolean): RoleNames {
  const old = knows(OLD_ROLE);
  const isNew = knows(NEW_ROLE);
  if (old && isNew) return 'both';
  return old ? 'old' : isNew ? 'new' : 'none';
}

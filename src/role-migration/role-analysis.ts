import type { Workload } from '../coverage/workload.ts';
import { ownValue } from '../kubernetes/label-selector.ts';
import { NEW_ROLE, OLD_ROLE } from '../kubernetes/roles.ts';
import { tolerates } from '../kubernetes/toleration.ts';
import { type MigrationFacts, workloadSelectsByOldLabel } from './migration-facts.ts';
import { taintPairs } from './role-taints.ts';

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
        labels: rolesWhere((role) => ownValue(labels, role) !== undefined),
        taints: rolesWhere((role) => taints.some(({ key }) => key === role)),
      }))
      .filter(({ labels, taints }) => labels !== 'none' || taints !== 'none'),
    workloads: facts.workloads
      .map((workload) => ({
        workload,
        tolerates: rolesWhere((role) =>
          pairs
            .map((pair) => (role === OLD_ROLE ? pair.old : pair.new))
            .some((taint) => workload.tolerations.some((toleration) => tolerates(toleration, taint))),
        ),
        selectsByOldLabel: workloadSelectsByOldLabel(workload),
      }))
      .filter(({ tolerates, selectsByOldLabel }) => tolerates === 'old' || tolerates === 'new' || selectsByOldLabel),
  };
}

function rolesWhere(isUsed: (role: string) => boolean): RoleNames {
  const old = isUsed(OLD_ROLE);
  const isNew = isUsed(NEW_ROLE);
  if (old && isNew) return 'both';
  return old ? 'old' : isNew ? 'new' : 'none';
}

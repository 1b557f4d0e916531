import { own } from '../label-selector.ts';
import { tolerates } from '../toleration.ts';
import { type MigrationFacts, NEW_ROLE, OLD_ROLE, selectsByOldRole, type Workload } from './facts.ts';
import { taintPairs } from './role-tolerations.ts';

/** Which of the two roles something knows. */
export type RoleNames = 'old' | 'new' | 'both' | 'none';

/** How far a cluster has come from the old role to the new one. */
export interface RoleSurvey {
  /** The nodes that have anything of either role. */
  readonly nodes: readonly { readonly name: string; readonly labels: RoleNames; readonly taints: RoleNames }[];
  /** The workloads that tolerate one of the taints only, or choose nodes by the old label. */
  readonly workloads: readonly {
    readonly workload: Workload;
    readonly tolerates: RoleNames;
    readonly selectsByOldLabel: boolean;
  }[];
}

export function surveyRoles(facts: MigrationFacts): RoleSurvey {
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

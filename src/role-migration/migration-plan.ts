import { workloadName } from '../coverage/workload.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import { type Change, withChange } from './migration-change.ts';
import type { MigratingNode, MigrationFacts } from './migration-facts.ts';
import { lossesBetween } from './migration-losses.ts';
import { MIGRATION_RULES } from './migration-rules.ts';

/** A step of the migration. Each depends on those before it. */
export interface MigrationStep {
  /** The state after the step. */
  readonly goal: string;
  /** The remaining changes. Empty if the step is done. */
  readonly changes: readonly Change[];
  /** What a user must decide, because no single command is right. */
  readonly byHand: readonly string[];
}

/**
 * The remaining steps for a cluster from the role `master` to `control-plane`, in an order in which no workload loses a node on which it may run.
 * Each change is tried on the resulting facts. A change by which a workload would lose a node, or be evicted from it earlier, is left to a user.
 */
export function planMigration(facts: MigrationFacts): MigrationStep[] {
  let now: MigrationFacts = { ...facts, nodes: facts.nodes.map(atRest) };
  return MIGRATION_RULES.map(({ goal, find }) => {
    const found = find(now);
    const byHand = [...found.byHand];
    const changes = found.changes.flatMap((proposed) => {
      const losses = lossesBetween(now, withChange(now, proposed), proposed);
      byHand.push(...losses);
      const change = losses.length === 0 ? proposed : harmlessPart(proposed);
      if (change) now = withChange(now, change);
      return change ?? [];
    });
    return { goal, changes, byHand };
  });
}

/** The changes by which certainly no workload loses a node. */
function harmlessPart(change: Change): Change | undefined {
  return change.kind === 'template' && change.tolerations.length > 0 ? { ...change, selects: false } : undefined;
}

/** The node without transient taints: a workload that may run there after these are removed must not lose the node, either. */
function atRest(node: MigratingNode): MigratingNode {
  return { ...node, taints: node.taints.filter(({ key }) => !isTransientTaintKey(key)) };
}

/** The workloads that `kubeadm upgrade` writes again, with its own tolerations (k8s.io/kubernetes/cmd/kubeadm/app/phases/addons/dns). */
const KUBEADM_ADDONS: readonly string[] = ['Deployment kube-system/coredns'];

/** What a user must know of the changes of a step, besides the managers of the workloads. */
export function migrationNotes({ changes }: Pick<MigrationStep, 'changes'>): string[] {
  const reset = changes.flatMap((change) => {
    if (change.kind !== 'template' || change.workload.managedBy !== undefined) return [];
    const name = workloadName(change.workload);
    return KUBEADM_ADDONS.includes(name) ? [name] : [];
  });
  return reset.map(
    (name) =>
      `${name}: kubeadm upgrade resets it, if kubeadm installed it. Finish all steps before the next upgrade, or run this again after it`,
  );
}

import { workloadName } from '../coverage/workload.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import { type Coverage, compileCoverage } from '../scheduling/coverage.ts';
import { type Change, isSame, policiesChangedBy, withChange } from './migration-change.ts';
import type { MigratingNode, MigrationFacts } from './migration-facts.ts';
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

/** The workloads that may run on a node before the change, and not after it or not for as long, one line each. */
function lossesBetween(before: MigrationFacts, after: MigrationFacts, change: Change): string[] {
  switch (change.kind) {
    case 'template': {
      // A toleration makes no workload lose a node.
      if (!change.selects) return [];
      const workload = after.workloads.find((each) => isSame(each, change.workload));
      if (!workload) return [];
      const mayRunOn = [change.workload, workload].map(compileCoverage);
      const lost = before.nodes.filter((node) => mayRunOn[0]?.(node).runs && !mayRunOn[1]?.(node).runs);
      const [first] = lost;
      if (!first) return [];
      const others = lost.length > 1 ? ` and ${lost.length - 1} more` : '';
      return [
        `${workloadName(workload)} selects nodes by the old label. By the new one, it would not run on ${first.name}${others}: change its template`,
      ];
    }
    case 'policy':
      // The added toleration is already present or implied on every node where it matters.
      return [];
    case 'label':
    case 'unlabel':
    case 'taint':
    case 'untaint': {
      const was = before.nodes.find(({ name }) => name === change.node);
      const is = after.nodes.find(({ name }) => name === change.node);
      if (!was || !is) return [];
      const { entered, left } = policiesChangedBy(before.policies, was.labels, is.labels);
      const tainting = entered.length > 0 && is.taints.length > was.taints.length;
      const what = `${WORDS[change.kind]} ${change.node}${tainting ? `, with the taints of TaintPolicy ${entered.join(', ')},` : ''}`;
      const lost = before.workloads.flatMap((workload) => {
        const coverageOn = compileCoverage(workload);
        const [seconds, secondsThen] = [secondsOn(coverageOn(was)), secondsOn(coverageOn(is))];
        if (secondsThen === undefined && seconds !== undefined) {
          const advice = tainting ? ': do the other steps first, and run the command again' : '';
          return [`${what} would keep ${workloadName(workload)} off this node${advice}`];
        }
        if (secondsThen === undefined || seconds === undefined || secondsThen >= seconds) return [];
        return [
          `${what} would evict the pods of ${workloadName(workload)} after ${secondsThen} s: have it tolerate the new taint for as long as the old one`,
        ];
      });
      if (change.kind !== 'unlabel') return lost;
      // The removal of the old label must not change which nodes a policy selects.
      return [
        ...lost,
        ...left.map(
          (name) =>
            `${WORDS.unlabel} ${change.node} would end its selection by TaintPolicy ${name}: change the policy first`,
        ),
        ...entered.map(
          (name) => `${WORDS.unlabel} ${change.node} would have TaintPolicy ${name} select it: change the policy first`,
        ),
      ];
    }
  }
}

/** For how many seconds a pod of the workload stays on the node. Undefined if it does not run there. */
function secondsOn(coverage: Coverage): number | undefined {
  return coverage.runs ? Math.min(...(coverage.evictions ?? []).map(({ seconds }) => seconds)) : undefined;
}

const WORDS = {
  label: 'adding the new label to',
  unlabel: 'removing the old label from',
  taint: 'adding the new taint to',
  untaint: 'removing the old taint from',
} as const;

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

import { workloadName } from '../coverage/workload.ts';
import type { StringMap } from '../kubernetes/label-selector.ts';
import type { Policy } from '../policy/policy.ts';
import { compilePolicies } from '../policy/policy-set.ts';
import { type Coverage, compileCoverage } from '../scheduling/coverage.ts';
import { type Change, isSameWorkload } from './migration-change.ts';
import type { MigrationFacts } from './migration-facts.ts';

/** The workloads that may run on a node before the change and not after it or not for as long, one line each. */
export function lossesBetween(before: MigrationFacts, after: MigrationFacts, change: Change): string[] {
  switch (change.kind) {
    case 'template': {
      // A toleration makes no workload lose a node.
      if (!change.selects) return [];
      const workload = after.workloads.find((each) => isSameWorkload(each, change.workload));
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

/** The TaintPolicies whose effect on a node changes with its labels: those that begin to select it, and those that stop. */
function policiesChangedBy(
  policies: readonly Policy[],
  before: StringMap,
  after: StringMap,
): { readonly entered: readonly string[]; readonly left: readonly string[] } {
  const { taintPolicies } = compilePolicies(policies);
  const changed = taintPolicies.filter((policy) => policy.selectsNode(before) !== policy.selectsNode(after));
  const names = (selecting: boolean) =>
    changed.filter((policy) => policy.selectsNode(after) === selecting).map(({ name }) => name);
  return { entered: names(true), left: names(false) };
}

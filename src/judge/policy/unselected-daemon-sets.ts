import { formatTaint } from '../../kubernetes/taint.ts';
import type { CompiledTaintPolicy, UntilReadyTaint } from '../../policy/compiled-taint-policy.ts';
import { isEnforcedWithoutAudit } from '../../policy/enforcement.ts';
import { daemonSetName, type ReadyDaemonSet } from '../../policy/ready-when.ts';
import { compiledCoverage, type SchedulingNode, type SchedulingView } from '../../scheduling/coverage.ts';
import type { ComparisonBudget } from './comparison-budget.ts';
import { type AgedNode, isPastStartup } from './past-startup.ts';
import type { StartupFault } from './startup-faults.ts';

interface Surroundings {
  /** Undefined for one that does not exist or is not read. */
  readonly daemonSetOf: (one: ReadyDaemonSet) => SchedulingView | undefined;
  readonly now: Date;
  readonly budget: ComparisonBudget;
  /** Awaited in each round. */
  readonly letOthersRun: () => Promise<void>;
}

/**
 * The DaemonSets of `readyWhen.daemonSets` that select none of the nodes, which are all nodes of the policy. They count only if one of the nodes {@link
 * isPastStartup}. Nothing is said once the budget is used up.
 */
export async function unselectedDaemonSets(
  policy: CompiledTaintPolicy,
  nodes: readonly (SchedulingNode & AgedNode)[],
  { daemonSetOf, now, ...limits }: Surroundings,
): Promise<StartupFault[]> {
  if (!isEnforcedWithoutAudit(policy)) return [];
  const rules: UntilReadyTaint[] = [];
  for (const rule of policy.untilReady) {
    if (rule.parts.daemonSets.length === 0) continue;
    const isSettled = await anyNode(nodes, 1, limits, (node) => isPastStartup(node, rule, now));
    if (isSettled === undefined) return [];
    if (isSettled) rules.push(rule);
  }
  const awaited = Map.groupBy(
    rules.flatMap((rule) => rule.parts.daemonSets.map((one) => ({ one, rule }))),
    ({ one }) => daemonSetName(one),
  );
  const faults: StartupFault[] = [];
  for (const [name, uses] of awaited) {
    const daemonSet = uses[0] && daemonSetOf(uses[0].one);
    if (!daemonSet) continue;
    const isSelected = await anyNode(nodes, costOf(daemonSet), limits, (node) => selects(daemonSet, node));
    if (isSelected === undefined) return faults;
    if (!isSelected) faults.push(...uses.map(({ rule }) => selectsNoNode(name, rule)));
  }
  return faults;
}

/**
 * Whether one of the nodes matches. Undefined once the budget is used up.
 * @param cost of the comparison with one node
 */
async function anyNode<Node>(
  nodes: readonly Node[],
  cost: number,
  { budget, letOthersRun }: Pick<Surroundings, 'budget' | 'letOthersRun'>,
  matches: (node: Node) => boolean,
): Promise<boolean | undefined> {
  for (const node of nodes) {
    await letOthersRun();
    budget.left -= cost;
    if (budget.left < 0) return undefined;
    if (matches(node)) return true;
  }
  return false;
}

function selectsNoNode(name: string, { taint, field }: UntilReadyTaint): StartupFault {
  const text = `DaemonSet ${name} selects none of the policy's nodes`;
  return {
    reason: 'DaemonSetSelectsNoNode',
    message:
      `${text}: new nodes with the same labels wait with taint ${formatTaint(taint)} (${field}). ` +
      'Correct nodeSelector of the policy, or the node selector or affinity of the DaemonSet',
    warning: text,
  };
}

/** The number of labels, terms, requirements and values that are compared with a node. */
function costOf({ nodeSelector, nodeAffinity = [] }: SchedulingView): number {
  const requirements = nodeAffinity.flatMap(({ matchExpressions, matchFields }) => [
    ...matchExpressions,
    ...matchFields,
  ]);
  const values = requirements.reduce((sum, one) => sum + one.values.length, 0);
  return 1 + Object.keys(nodeSelector).length + nodeAffinity.length + requirements.length + values;
}

/** Whether the labels of the node allow a pod of the DaemonSet. */
function selects(daemonSet: SchedulingView, { name, labels }: SchedulingNode): boolean {
  return compiledCoverage(daemonSet)({ name, labels, taints: [] }).runs;
}

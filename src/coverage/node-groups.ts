import { own } from '../kubernetes/label-selector.ts';
import { formatTaint } from '../kubernetes/taint.ts';
import { virtualNodeLabel } from '../kubernetes/virtual-node.ts';
import { type Coverage, compileCoverage, type SchedulingNode, type SchedulingView } from '../scheduling/coverage.ts';
import { summarizeObstacle } from '../scheduling/obstacle.ts';

/** Nodes with the same results for each DaemonSet, for the same reasons. */
export interface NodeGroup<Node extends SchedulingNode, Kept = Coverage> {
  /** At least one, in the given order. */
  readonly nodes: readonly Node[];
  /** One for each DaemonSet, in order. The node's values in an obstacle are those of the first node. */
  readonly coverages: readonly Kept[];
}

/**
 * Joins equal nodes into groups, with the largest groups first.
 *
 * The value of a node for a label that a DaemonSet requires does not distinguish it from others: none of them has the required value.
 */
export function groupNodes<Node extends SchedulingNode>(
  daemonSets: readonly SchedulingView[],
  nodes: readonly Node[],
): NodeGroup<Node>[] {
  const grouping = startGrouping<Node, Coverage, SchedulingView>(daemonSets, (coverage) => coverage);
  for (const node of nodes) grouping.add(node);
  return grouping.groups();
}

/**
 * The same, one node after the other, for callers with other work in between.
 * @param keep what is kept of a coverage: if no two nodes are equal, there is one for each DaemonSet on each node
 */
export function startGrouping<Node extends SchedulingNode, Kept, DaemonSet extends SchedulingView>(
  daemonSets: readonly DaemonSet[],
  keep: (coverage: Coverage, daemonSet: DaemonSet, node: Node) => Kept,
) {
  const each = daemonSets.map((daemonSet) => ({ daemonSet, coverageOn: compileCoverage(daemonSet) }));
  const inputsOf = decidingInputs(daemonSets);
  const numberOf = numbering();
  const groups = new Map<string, { nodes: Node[]; coverages: Kept[] }>();
  // Large clusters have few different nodes: each kind of node is compared with the DaemonSets once.
  const byInputs = new Map<string, { nodes: Node[] }>();
  const groupOf = (node: Node) => {
    const coverages = each.map(({ daemonSet, coverageOn }) => ({ daemonSet, coverage: coverageOn(node) }));
    // A virtual node is in no group with others, also if nothing keeps the pods off.
    const likeness = [[virtualNodeLabel(node)], ...coverages.map(({ coverage }) => reasons(coverage))]
      .map(numberOf)
      .join();
    const group = groups.get(likeness) ?? {
      nodes: [],
      coverages: coverages.map(({ daemonSet, coverage }) => keep(coverage, daemonSet, node)),
    };
    groups.set(likeness, group);
    return group;
  };
  return {
    add(node: Node): void {
      const inputs = inputsOf(node);
      const group = byInputs.get(inputs) ?? groupOf(node);
      byInputs.set(inputs, group);
      group.nodes.push(node);
    },
    groups: (): NodeGroup<Node, Kept>[] => [...groups.values()].sort((a, b) => b.nodes.length - a.nodes.length),
  };
}

/** Numbers values: equal ones have the same number. Nodes have a list of them for all DaemonSets, and the texts would fill memory. */
function numbering(): (value: unknown) => number {
  const numbers = new Map<string, number>();
  return (value) => {
    const text = JSON.stringify(value);
    const number = numbers.get(text) ?? numbers.size;
    numbers.set(text, number);
    return number;
  };
}

/** All fields of a node that decide where these DaemonSets run, as one text. It is equal for nodes with the same results for each DaemonSet. */
function decidingInputs(daemonSets: readonly SchedulingView[]): (node: SchedulingNode) => string {
  const keys = [...labelKeysOf(daemonSets)];
  const names = new Set(
    daemonSets.flatMap(({ nodeName, nodeAffinity = [] }) => [
      nodeName,
      ...nodeAffinity.flatMap(({ matchFields }) => matchFields.flatMap(({ values }) => values)),
    ]),
  );
  return (node) =>
    JSON.stringify([
      names.has(node.name) ? node.name : undefined,
      virtualNodeLabel(node),
      keys.map((key) => own(node.labels, key)),
      node.taints.map(({ key, value = '', effect }) => [key, value, effect]),
    ]);
}

/** Each node as a group of its own, in the given order. */
export function eachNode<Node extends SchedulingNode>(
  daemonSets: readonly SchedulingView[],
  nodes: readonly Node[],
): NodeGroup<Node>[] {
  const coveragesOn = daemonSets.map(compileCoverage);
  return nodes.map((node) => ({ nodes: [node], coverages: coveragesOn.map((coverageOn) => coverageOn(node)) }));
}

function reasons(coverage: Coverage): readonly string[] {
  if (!coverage.runs) return coverage.obstacles.map(summarizeObstacle).sort();
  return (coverage.evictions ?? []).map(({ taint, seconds }) => `${formatTaint(taint)} ${seconds}`).sort();
}

/** The keys of the labels by which DaemonSets select their nodes. */
export function labelKeysOf(daemonSets: readonly SchedulingView[]): Set<string> {
  return new Set(
    daemonSets.flatMap(({ nodeSelector, nodeAffinity = [] }) => [
      ...Object.keys(nodeSelector),
      ...nodeAffinity.flatMap(({ matchExpressions }) => matchExpressions.map(({ key }) => key)),
    ]),
  );
}

import { ownValue } from '../kubernetes/label-selector.ts';
import { formatTaint } from '../kubernetes/taint.ts';
import { virtualNodeLabel } from '../kubernetes/virtual-node.ts';
import type { SchedulingNode, SchedulingView } from '../scheduling/coverage.ts';
import { summarizeObstacle } from '../scheduling/obstacle.ts';
import { NO_STARTUP_RULES, type StartupRules } from './startup-rules.ts';
import { compileNodeCoverage, type NodeCoverage } from './taints-alone.ts';

/** Nodes with the same results for each DaemonSet, for the same reasons. A taint that keeps a DaemonSet off is transient on all of them, or on none. */
export interface NodeGroup<Node extends SchedulingNode, Kept = NodeCoverage> {
  /** In the given order. */
  readonly nodes: readonly [Node, ...Node[]];
  /**
   * Returns the coverage of a DaemonSet. The node's values in an obstacle are those of the first node.
   * @throws RangeError if the nodes were not grouped by that DaemonSet
   */
  readonly coverageOf: (daemonSet: SchedulingView) => Kept;
}

/**
 * Joins equal nodes into groups, with the largest groups first.
 *
 * Nodes can be equal although they have different values of a label that a DaemonSet requires, if none of these is the required one.
 * @param startup of the policies, if they are known: where a policy does not select the node, its startup taint is permanent
 */
export function groupNodes<Node extends SchedulingNode>(
  daemonSets: readonly SchedulingView[],
  nodes: readonly Node[],
  startup = NO_STARTUP_RULES,
): NodeGroup<Node>[] {
  const grouping = startGrouping<Node, NodeCoverage>(daemonSets, startup, (coverage) => coverage);
  for (const node of nodes) grouping.add(node);
  return grouping.groups();
}

/**
 * Groups nodes one after the other, for callers that do other work in between.
 * @param keep reduces a coverage to what the caller needs: if no two nodes are equal, one is kept for each DaemonSet on each node
 */
export function startGrouping<Node extends SchedulingNode, Kept>(
  daemonSets: readonly SchedulingView[],
  startup: StartupRules,
  keep: (coverage: NodeCoverage) => Kept,
) {
  type Growing = { nodes: [Node, ...Node[]]; coverageOf: (daemonSet: SchedulingView) => Kept };
  const coveragesOn = daemonSets.map((daemonSet) => compileNodeCoverage(daemonSet, startup));
  const lookup = lookupBy(daemonSets);
  const inputsOf = decidingInputs(daemonSets, startup);
  const numberOf = numbering();
  const groups = new Map<string, Growing>();
  // Large clusters have few different nodes: each kind of node is compared with the DaemonSets once.
  const byInputs = new Map<string, Growing>();
  const join = (node: Node): Growing => {
    const coverages = coveragesOn.map((coverageOn) => coverageOn(node));
    // A virtual node never shares a group with other nodes, even if nothing keeps the pods off.
    const results = coverages.map(reasons);
    const likeness = [[virtualNodeLabel(node)], ...results].map(numberOf).join();
    const known = groups.get(likeness);
    if (known) {
      known.nodes.push(node);
      return known;
    }
    const kept = coverages.map(keep);
    const group: Growing = { nodes: [node], coverageOf: lookup(kept) };
    groups.set(likeness, group);
    return group;
  };
  return {
    add(node: Node): void {
      const inputs = inputsOf(node);
      const known = byInputs.get(inputs);
      if (known) known.nodes.push(node);
      else byInputs.set(inputs, join(node));
    },
    groups: (): NodeGroup<Node, Kept>[] => [...groups.values()].sort((a, b) => b.nodes.length - a.nodes.length),
  };
}

/** Finds the value of a DaemonSet in a list with one value for each of these DaemonSets. The groups share the index, because there may be thousands. */
function lookupBy(daemonSets: readonly SchedulingView[]) {
  const indexes = new Map(daemonSets.map((daemonSet, index) => [daemonSet, index]));
  return <Kept>(values: readonly Kept[]) =>
    (daemonSet: SchedulingView): Kept => {
      const value = values[indexes.get(daemonSet) ?? -1];
      if (value === undefined) throw new RangeError(`a group has no coverage of DaemonSet ${daemonSet.name}`);
      return value;
    };
}

/** Gives equal values the same number. Each node has a value for each DaemonSet, and their texts would need too much memory. */
function numbering(): (value: unknown) => number {
  const numbers = new Map<string, number>();
  return (value) => {
    const text = JSON.stringify(value);
    const number = numbers.get(text) ?? numbers.size;
    numbers.set(text, number);
    return number;
  };
}

/**
 * All that decides where these DaemonSets run, and which taints are transient, as one text. Nodes with the same text have the same results for each
 * DaemonSet.
 */
function decidingInputs(
  daemonSets: readonly SchedulingView[],
  startup: StartupRules,
): (node: SchedulingNode) => string {
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
      keys.map((key) => ownValue(node.labels, key)),
      node.taints.map((taint) => [taint.key, taint.value ?? '', taint.effect, startup.endOn(node, taint)]),
    ]);
}

/** Each node as a group of its own, in the given order. */
export function eachNode<Node extends SchedulingNode>(
  daemonSets: readonly SchedulingView[],
  nodes: readonly Node[],
  startup = NO_STARTUP_RULES,
): NodeGroup<Node>[] {
  const coveragesOn = daemonSets.map((daemonSet) => compileNodeCoverage(daemonSet, startup));
  const lookup = lookupBy(daemonSets);
  return nodes.map((node) => ({
    nodes: [node],
    coverageOf: lookup(coveragesOn.map((coverageOn) => coverageOn(node))),
  }));
}

function reasons({ coverage, taintsAlone }: NodeCoverage): readonly string[] {
  if (!coverage.runs) {
    // If other obstacles keep the pods off as well, it makes no difference which of the taints are transient.
    const transient = new Set(taintsAlone?.transient);
    return coverage.obstacles
      .map((one) => `${summarizeObstacle(one)} ${one.kind === 'taint' && transient.has(one.taint)}`)
      .sort();
  }
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

import { oncePer } from '../collections/once-per.ts';
import { daemonTolerations, outlastsItsSeconds } from '../kubernetes/daemon-tolerations.ts';
import { ownValue, type StringMap } from '../kubernetes/label-selector.ts';
import { compileNodeAffinity, type NodeSelectorTerm } from '../kubernetes/node-affinity.ts';
import { formatTaint, repels, type Taint } from '../kubernetes/taint.ts';
import { hasUnknownOperator, mayTolerate, secondsOf, type Toleration, tolerates } from '../kubernetes/toleration.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import { virtualNodeLabel } from '../kubernetes/virtual-node.ts';
import type { Obstacle } from './obstacle.ts';

/** The fields that decide where a DaemonSet's pods run. All except the names are those of the pod template's spec. */
export interface SchedulingView {
  readonly namespace: string;
  readonly name: string;
  /** The only node for the pods; any if empty. */
  readonly nodeName: string;
  readonly nodeSelector: StringMap;
  /** The terms of the *required* node affinity. Undefined if there is none, which differs from an empty list. */
  readonly nodeAffinity: readonly NodeSelectorTerm[] | undefined;
  readonly tolerations: readonly Toleration[];
  readonly hostNetwork: boolean;
}

/** The fields of a node that decide which DaemonSets run there. */
export interface SchedulingNode {
  readonly name: string;
  readonly labels: StringMap;
  readonly taints: readonly Taint[];
}

/** Whether a DaemonSet runs a pod on a node. */
export type Coverage =
  | {
      readonly runs: true;
      /** The taints that evict its pods again. Absent if there are none. */
      readonly evictions?: readonly Eviction[];
    }
  | {
      readonly runs: false;
      /** True if an existing pod stays: only taints that evict no pod block it. */
      readonly staysIfThere: boolean;
      /** Everything that keeps a pod off: at least one obstacle. */
      readonly obstacles: readonly Obstacle[];
    };

/** A taint that evicts a pod which tolerates it with `tolerationSeconds`. The controller then creates another one. */
export interface Eviction {
  readonly taint: Taint;
  readonly seconds: number;
}

const RUNS: Coverage = { runs: true };

/**
 * Prepares a DaemonSet for the question whether it runs a pod on a node. The answer is that of the DaemonSet controller (`NodeShouldRunDaemonPod` of
 * k8s.io/kubernetes/pkg/controller/daemon), which reads neither the node's conditions nor its free resources. The controller stops at the first
 * obstacle, and this function returns all of them.
 *
 * Tolerations are read as in {@link tolerates}: without `Gt` and `Lt`, which Kubernetes 1.36 has off by default. If one of those could tolerate a
 * taint, the obstacle is `unknown`.
 */
export function compileCoverage(daemonSet: SchedulingView): (node: SchedulingNode) => Coverage {
  return compile({ ...daemonSet, tolerations: daemonTolerations(daemonSet.tolerations, daemonSet.hostNetwork) });
}

/** The fields of a pod that decide where it may run. The node to which it is bound does not count. */
export type PodScheduling = Pick<SchedulingView, 'nodeSelector' | 'nodeAffinity' | 'tolerations'>;

/** {@link compileCoverage} for one pod, whose spec has all of its tolerations. */
export function compilePodCoverage(pod: PodScheduling): (node: SchedulingNode) => Coverage {
  return compile({ ...pod, nodeName: '' });
}

function compile({
  nodeName,
  nodeSelector,
  nodeAffinity,
  tolerations,
}: PodScheduling & Pick<SchedulingView, 'nodeName'>): (node: SchedulingNode) => Coverage {
  const unknown = tolerations.filter(hasUnknownOperator);
  const limited = tolerations.some(({ tolerationSeconds }) => tolerationSeconds != null);
  const selected = Object.keys(nodeSelector).map((key) => ({ key, required: ownValue(nodeSelector, key) ?? '' }));
  const mismatches = nodeAffinity && compileNodeAffinity(nodeAffinity);

  return (node) => {
    const obstacles: Obstacle[] = [];
    if (nodeName !== '' && nodeName !== node.name) obstacles.push({ kind: 'nodeName', required: nodeName });
    for (const { key, required } of selected) {
      const found = ownValue(node.labels, key);
      if (found !== required) obstacles.push({ kind: 'nodeSelector', key, required, found });
    }
    const terms = mismatches?.(node);
    if (terms) obstacles.push({ kind: 'nodeAffinity', terms });
    for (const taint of node.taints) {
      if (!repels(taint)) continue;
      if (tolerations.some((toleration) => tolerates(toleration, taint))) continue;
      // A transient taint is no gap, even if no toleration matches it.
      const by = unknown.find((one) => mayTolerate(one, taint) && !isTransientTaintKey(taint.key));
      obstacles.push(by ? { kind: 'unknown', taint, by } : { kind: 'taint', taint });
    }
    // The DaemonSet controller does not know virtual nodes: without another obstacle, it creates a pod.
    const virtual = obstacles.length > 0 ? virtualNodeLabel(node) : undefined;
    if (virtual) obstacles.push({ kind: 'virtualNode', label: virtual });
    if (obstacles.length > 0) return { runs: false, staysIfThere: obstacles.every(evictsNobody), obstacles };
    const evictions = limited ? evictionsBy(node.taints, tolerations) : [];
    return evictions.length > 0 ? { runs: true, evictions } : RUNS;
  };
}

function evictsNobody(obstacle: Obstacle): boolean {
  return obstacle.kind === 'taint' && obstacle.taint.effect !== 'NoExecute';
}

function evictionsBy(taints: readonly Taint[], tolerations: readonly Toleration[]): Eviction[] {
  return taints
    .filter(({ effect }) => effect === 'NoExecute')
    .flatMap((taint): Eviction[] => {
      const first = tolerations.find((toleration) => tolerates(toleration, taint));
      const seconds = first && !outlastsItsSeconds(first) ? secondsOf(first) : Number.POSITIVE_INFINITY;
      return Number.isFinite(seconds) ? [{ taint, seconds }] : [];
    });
}

/** The evictions that go on, because nothing removes the taint without a user. */
export function lastingEvictions({ evictions = [] }: Extract<Coverage, { runs: true }>): Eviction[] {
  return evictions.filter(({ taint }) => !isTransientTaintKey(taint.key));
}

/** The eviction in a few words. */
export function summarizeEviction({ taint, seconds }: Eviction): string {
  return `taint ${formatTaint(taint)} evicts each pod after ${seconds} s`;
}

/** {@link compileCoverage}, cached for DaemonSets that have not changed: the leader needs them each second. */
export const compiledCoverage = oncePer(compileCoverage);

/** How many of the nodes the DaemonSet runs on. */
export function countCovered(daemonSet: SchedulingView, nodes: Iterable<SchedulingNode>): number {
  const coverageOn = compiledCoverage(daemonSet);
  let count = 0;
  for (const node of nodes) if (coverageOn(node).runs) count++;
  return count;
}

import { compileCoverage, type SchedulingNode, type SchedulingView } from './coverage.ts';

/** The state of a DaemonSet's pod on a node. */
export type PodState =
  /** Bound to the node, and neither ended nor being deleted. */
  | { readonly state: 'scheduled' }
  /** Not created yet, or being deleted. `why` is Kubernetes' text, which may need escaping for a terminal. */
  | { readonly state: 'pending' | 'failed' | 'deleting'; readonly why: string };

/** Where the pods of a DaemonSet are, by the names of the nodes. */
export type Placement = ReadonlyMap<string, PodState>;

/** A node without a scheduled pod. */
export interface MissingPod {
  readonly node: string;
  readonly why: string;
}

/** @param nodes the names of nodes on which the DaemonSet should run */
export function missingPods(placement: Placement, nodes: Iterable<string>): MissingPod[] {
  return [...nodes].flatMap((node) => {
    const pod = placement.get(node);
    if (pod?.state === 'scheduled') return [];
    return [{ node, why: pod?.why ?? 'it has no pod' }];
  });
}

/** What the DaemonSet controller counts. */
export interface DaemonSetCounts {
  readonly generation: number;
  readonly observedGeneration: number;
  readonly desired: number;
  readonly current: number;
  readonly misscheduled: number;
  readonly unavailable: number;
}

/**
 * The placement from the status alone, if pods are available on each node where the DaemonSet should run. Undefined if the status does not show that:
 * the pods must then be read.
 * @param nodes all nodes of the cluster
 */
export function placementByStatus(
  daemonSet: SchedulingView,
  nodes: readonly SchedulingNode[],
  counts: DaemonSetCounts,
): Placement | undefined {
  const coverageOn = compileCoverage(daemonSet);
  const eligible = nodes.filter((node) => coverageOn(node).runs);
  const addsUp =
    counts.observedGeneration === counts.generation &&
    counts.desired === eligible.length &&
    counts.current === eligible.length &&
    counts.misscheduled === 0 &&
    counts.unavailable === 0;
  return addsUp ? new Map(eligible.map(({ name }) => [name, { state: 'scheduled' }])) : undefined;
}

/** A pod of a DaemonSet, and its intended node. */
export interface PlacedPod {
  readonly node: string;
  readonly state: PodState;
}

/** Where pods are. If several are for one node, the scheduled one counts. */
export function placementOf(pods: Iterable<PlacedPod>): Placement {
  const placement = new Map<string, PodState>();
  for (const { node, state } of pods) {
    if (placement.get(node)?.state !== 'scheduled') placement.set(node, state);
  }
  return placement;
}

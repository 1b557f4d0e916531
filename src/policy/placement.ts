import { compileCoverage, type SchedulingNode, type SchedulingView } from './coverage/coverage.ts';

/** What there is of a DaemonSet's pod on a node. */
export type PodState =
  /** Bound to the node, and neither ended nor being deleted. */
  | { readonly state: 'scheduled' }
  /** Not yet there, or on its way out; `why` in the words of Kubernetes, which may need escaping for a terminal. */
  | { readonly state: 'pending' | 'failed' | 'deleting'; readonly why: string };

/** Where the pods of a DaemonSet are, by the names of the nodes. */
export type Placement = ReadonlyMap<string, PodState>;

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
 * Where the pods are by the status alone: on each node where the DaemonSet is to run, and available. Undefined where the
 * status does not add up to that, so that somebody has to look at the pods.
 * @param nodes all of the cluster
 */
export function placementByStatus(
  daemonSet: SchedulingView,
  nodes: readonly SchedulingNode[],
  counts: DaemonSetCounts,
): Placement | undefined {
  const coverageOn = compileCoverage(daemonSet);
  const wanted = nodes.filter((node) => coverageOn(node).runs);
  const addsUp =
    counts.observedGeneration === counts.generation &&
    counts.desired === wanted.length &&
    counts.current === wanted.length &&
    counts.misscheduled === 0 &&
    counts.unavailable === 0;
  return addsUp ? new Map(wanted.map(({ name }) => [name, { state: 'scheduled' }])) : undefined;
}

/** A pod of a DaemonSet, and the node that it is for. */
export interface PlacedPod {
  readonly node: string;
  readonly state: PodState;
}

/** Where pods are; of several for one node, the one that is scheduled counts. */
export function placementOf(pods: Iterable<PlacedPod>): Placement {
  const placement = new Map<string, PodState>();
  for (const { node, state } of pods) {
    if (placement.get(node)?.state !== 'scheduled') placement.set(node, state);
  }
  return placement;
}

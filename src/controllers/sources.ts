import { isDeepStrictEqual } from 'node:util';
import type { Change } from '../cluster/watch/cached-objects.ts';
import type { WatchCache } from '../cluster/watch/watch-cache.ts';
import { compileCoverage, type SchedulingView } from '../coverage/coverage.ts';
import type { Rollout } from '../coverage/rollout.ts';
import type { DaemonSetView } from '../judge/daemon-set.ts';
import type { NodeView } from '../judge/node-view.ts';
import type { Taint } from '../kubernetes/taint.ts';
import { asDaemonSet, viewDaemonSet } from '../objects/daemon-set-object.ts';
import { asNode, roomOn, viewNode } from '../objects/node-object.ts';
import { viewScheduling } from '../objects/workload-object.ts';
import type { PolicyKind } from '../policy/policy.ts';

/** What keeps a controller from doing what a policy says. The policy's status shows it as its condition `Stalled`. */
export interface Trouble {
  readonly kind: PolicyKind;
  readonly policy: string;
  /** In one word, for programs: CamelCase. */
  readonly reason: string;
  /** In one sentence, for people: what it is about, and what to do. */
  readonly message: string;
}

/** What the controllers keep of a Node: the rest is 40 KB. */
export interface ClusterNode extends NodeView {
  /** Its condition Ready is True, and it is not being deleted. */
  readonly ready: boolean;
}

/** What the controllers keep of a DaemonSet. The numbers of its status are 0 where it has none yet. */
export interface ClusterDaemonSet extends DaemonSetView, SchedulingView, Rollout {}

export type Nodes = Pick<WatchCache<ClusterNode>, 'get' | 'entries'>;
export type DaemonSets = Pick<WatchCache<ClusterDaemonSet>, 'get' | 'entries'>;

/** What the leader knows of the cluster, and others do not. */
export interface ClusterSurvey {
  /** Whether all of it has been read. */
  isSynced(): boolean;
  /** Another number whenever something of it, or of the policies, has changed. */
  revision(): number;
  nodes(): ClusterNode[];
  daemonSets(): ClusterDaemonSet[];
  /** Whether the taint is left to whoever takes it away from the node each time. */
  isContested(node: string, taint: Taint): boolean;
}

/** The nodes that are not Ready, by name: what is to happen there may never happen. */
export function unreadyNodes(nodes: Nodes): Map<string, ClusterNode> {
  const unready = new Map<string, ClusterNode>();
  for (const { value } of nodes.entries()) if (!value.ready) unready.set(value.name, value);
  return unready;
}

/** How many of the nodes the DaemonSet runs on. */
export function countCovered(daemonSet: SchedulingView, nodes: Iterable<ClusterNode>): number {
  const coverageOn = compileCoverage(daemonSet);
  let count = 0;
  for (const node of nodes) if (coverageOn(node).runs) count++;
  return count;
}

/** Whether what is kept of an object has changed. Heartbeats of 5,000 nodes come in all the time, and change nothing of it. */
export function isNews<T>(change: Change<T>): boolean {
  return change.type !== 'modified' || !isDeepStrictEqual(change.entry.value, change.previous.value);
}

/** @throws MalformedObjectError */
export function projectNode(object: unknown): ClusterNode {
  const { metadata, status } = object as {
    metadata: { deletionTimestamp?: string };
    status?: { conditions?: readonly { type: string; status: string }[] };
  };
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
  const node = asNode(object, []);
  return { ...viewNode(node, ''), room: roomOn(node), ready: ready && metadata.deletionTimestamp === undefined };
}

/** @throws MalformedObjectError */
export function projectDaemonSet(object: unknown): ClusterDaemonSet {
  const daemonSet = object as {
    metadata: { namespace?: string; generation?: number };
    spec: { updateStrategy?: { type?: string } };
    status?: {
      observedGeneration?: number;
      desiredNumberScheduled?: number;
      updatedNumberScheduled?: number;
      numberUnavailable?: number;
    };
  };
  const { metadata, spec, status = {} } = daemonSet;
  return {
    ...viewScheduling(object, [], ''),
    ...viewDaemonSet(asDaemonSet(object, []), metadata.namespace ?? '', ''),
    generation: metadata.generation ?? 0,
    onDelete: spec.updateStrategy?.type === 'OnDelete',
    status: {
      observedGeneration: status.observedGeneration ?? 0,
      desired: status.desiredNumberScheduled ?? 0,
      updated: status.updatedNumberScheduled ?? 0,
      unavailable: status.numberUnavailable ?? 0,
    },
  };
}

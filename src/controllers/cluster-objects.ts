import { asDaemonSet, viewDaemonSet } from '../admission/daemon-set-object.ts';
import { asNode, viewNode } from '../admission/node-object.ts';
import type { WatchCache } from '../cluster/watch/watch-cache.ts';
import type { DaemonSetView } from '../policy/daemon-set.ts';
import type { NodeView } from '../policy/node.ts';

/** What the controllers keep of a Node: the rest is 40 KB. */
export interface ClusterNode extends NodeView {
  /** Its condition Ready is True, and it is not being deleted. */
  readonly ready: boolean;
}

/** What the controllers keep of a DaemonSet. */
export interface ClusterDaemonSet extends DaemonSetView {
  readonly generation: number;
  /** True when its pods are replaced only once somebody deletes them. */
  readonly onDelete: boolean;
  /** The numbers of its status; 0 where it has none yet. */
  readonly status: {
    readonly observedGeneration: number;
    readonly desired: number;
    /** Pods of the present template. */
    readonly updated: number;
    readonly unavailable: number;
  };
}

export type Nodes = Pick<WatchCache<ClusterNode>, 'get' | 'entries'>;
export type DaemonSets = Pick<WatchCache<ClusterDaemonSet>, 'get' | 'entries'>;

/** @throws MalformedObjectError */
export function projectNode(object: unknown): ClusterNode {
  const { metadata, status } = object as {
    metadata: { deletionTimestamp?: string };
    status?: { conditions?: readonly { type: string; status: string }[] };
  };
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
  return { ...viewNode(asNode(object, []), ''), ready: ready && metadata.deletionTimestamp === undefined };
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

/** Whether pods of an earlier template are still to be replaced. With OnDelete nobody replaces them: that is no rollout. */
export function isRollingOut({ generation, onDelete, status }: ClusterDaemonSet): boolean {
  return status.observedGeneration < generation || (!onDelete && status.updated < status.desired);
}

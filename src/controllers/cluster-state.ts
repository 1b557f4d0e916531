import type { ClusterDaemonSet, ClusterNode } from '../cluster/objects/cluster-objects.ts';
import type { Taint } from '../kubernetes/taint.ts';
import { anyOf, type Source } from '../runtime/source.ts';
import type { ClusterSources } from './cluster-watches.ts';

/** The state of the cluster, which only the leader has. */
export interface ClusterState {
  /** Whether all of it has been read. */
  isSynced(): boolean;
  /** A number that changes with the state and with the policies. */
  revision(): number;
  nodes(): ClusterNode[];
  daemonSets(): ClusterDaemonSet[];
  /** Whether another writer undid the leader's changes of the node's taint repeatedly. */
  isInConflict(node: string, taint: Taint): boolean;
  /** What the startup taints of the node wait for, in words. */
  startupOn(node: string): string | undefined;
}

interface ClusterStateOptions extends ClusterSources, Pick<ClusterState, 'isInConflict' | 'startupOn'> {
  readonly policies: { readonly changes: Source };
  /** Emits when the answers of the controllers about nodes may have changed. */
  readonly changes: Source;
  readonly signal: AbortSignal;
}

export function clusterStateOf(options: ClusterStateOptions): ClusterState {
  const { nodes, daemonSets, policies, changes, signal } = options;
  let revision = 0;
  anyOf(nodes.news, policies.changes, changes).subscribe(() => revision++, signal);
  daemonSets.changes.subscribe(() => revision++, signal);
  return {
    isSynced: () => nodes.isSynced() && daemonSets.isSynced(),
    revision: () => revision,
    nodes: () => Array.from(nodes.entries(), ({ value }) => value),
    daemonSets: () => Array.from(daemonSets.entries(), ({ value }) => value),
    isInConflict: options.isInConflict,
    startupOn: options.startupOn,
  };
}

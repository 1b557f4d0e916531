import type { Found } from '../../../judge/startup/blocker.ts';
import type { StartupSources } from '../../../judge/startup/startup-readiness.ts';
import type { OptionalRight } from '../../../policy/required-rights.ts';
import type { SyncState, WatchedDaemonSets } from '../../cluster-watches.ts';
import type { Rights } from '../../optional-rights.ts';
import type { CsiNodeOfNode } from './csi-nodes.ts';
import type { PodsOnNode } from './startup-pods.ts';
import { foundIn } from './watch-group.ts';

/** The watches that `readyWhen` depends on, for one step of a node. */
export interface StartupWatches {
  readonly daemonSets: Pick<WatchedDaemonSets, 'get' | 'entries' | 'unreadable'> &
    Pick<SyncState, 'isSynced' | 'isRefused'>;
  /** Those on the node. */
  readonly pods: Pick<PodsOnNode, 'read'>;
  /** That of the node. */
  readonly csiNode: Pick<CsiNodeOfNode, 'read'>;
  readonly rights: Pick<Rights, 'permits'>;
}

/** What `readyWhen` reads for one node, as far as taintkeeper may read it. */
export function sourcesOf({ daemonSets, pods, csiNode, rights }: StartupWatches): StartupSources {
  return {
    daemonSets: () =>
      foundIn(daemonSets, () => ({
        get: ({ namespace, name }) => daemonSets.get(name, namespace),
        all: daemonSets.entries,
        unreadable: daemonSets.unreadable,
      })),
    pods: (awaited) => ifPermitted('listPods', () => pods.read(awaited)),
    csiNode: () => ifPermitted('listCsiNodes', csiNode.read),
  };

  /** Without the right, a watch would fail again and again. */
  function ifPermitted<T>(right: OptionalRight, read: () => Found<T>): Found<T> {
    const isPermitted = rights.permits(right);
    if (isPermitted) return read();
    return isPermitted === false ? 'NotPermitted' : 'Unread';
  }
}

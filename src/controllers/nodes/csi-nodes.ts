import type { ApiClient } from '../../cluster/client/api-client.ts';
import { watchResource } from '../../cluster/watch/watch-cache.ts';
import type { WatchCache } from '../../cluster/watch/watch-options.ts';
import type { Found } from '../../judge/startup/blocker.ts';
import type { CsiNodeView } from '../../judge/startup/csi-drivers.ts';
import { viewCsiNode } from '../../objects/csi-node-object.ts';
import type { Run } from '../controller.ts';
import { watchNodes } from './node-watches.ts';

export const CSI_NODES = '/apis/storage.k8s.io/v1/csinodes';
/** One label of the metric for all watches. */
const RESOURCE = 'startup-csinodes';

/** The CSINodes of the nodes that wait. */
export interface CsiNodes {
  /** The CSINode of the node; undefined if it has none. Starts to watch it, until {@link end}. */
  on(node: string): Found<CsiNodeView | undefined>;
  end(node: string): void;
  stop(): Promise<void>;
}

/**
 * Watches the CSINode of each node that waits. While too many nodes wait, the others share one watch of all CSINodes.
 * @param onChange called with the name of a node whose CSINode has changed
 */
export function watchCsiNodes(run: Run, client: ApiClient, onChange: (node: string) => void): CsiNodes {
  const { metrics, log, signal } = run;
  const single = watchNodes<CsiNodeView>(run, {
    client,
    resource: RESOURCE,
    path: CSI_NODES,
    fieldSelector: (node) => `metadata.name=${node}`,
    project: viewCsiNode,
    onChange,
  });
  /** The nodes without a watch of their own. */
  const sharing = new Set<string>();
  let shared: Pick<WatchCache<CsiNodeView>, 'get' | 'isSynced' | 'stop'> | undefined;
  let ending: Promise<unknown> = Promise.resolve();
  signal.addEventListener('abort', endShared, { once: true });

  return {
    on(node) {
      const found = sharing.has(node) ? undefined : single.on(node);
      if (found === undefined) {
        sharing.add(node);
        shared ??= beginShared();
        return shared.isSynced() ? { value: shared.get(node)?.value } : 'Unread';
      }
      return typeof found === 'string' ? found : { value: found.value[0] };
    },
    end(node) {
      single.end(node);
      if (sharing.delete(node) && sharing.size === 0) endShared();
    },
    async stop() {
      endShared();
      await Promise.all([single.stop(), ending]);
    },
  };

  function beginShared() {
    const all = watchResource<CsiNodeView>({
      client,
      path: CSI_NODES,
      project: viewCsiNode,
      onChange({ entry }) {
        if (all.isSynced() && sharing.has(entry.name)) onChange(entry.name);
      },
      onState: ({ connected }) => metrics.watchState(`${RESOURCE}-all`, connected),
      log,
    });
    all.synced.then(
      () => {
        for (const node of [...sharing]) onChange(node);
      },
      () => {},
    );
    return all;
  }

  function endShared(): void {
    if (!shared) return;
    ending = Promise.all([ending, shared.stop()]);
    shared = undefined;
    metrics.watchEnded(`${RESOURCE}-all`);
  }
}

import type { ApiClient } from '../../../cluster/client/api-client.ts';
import type { Found } from '../../../judge/startup/blocker.ts';
import type { CsiNodeView } from '../../../judge/startup/csi-drivers.ts';
import { CSI_NODES, viewCsiNode } from '../../../objects/csi-node-object.ts';
import { isNews } from '../../cluster-watches.ts';
import type { Run } from '../../controller.ts';
import type { PerNode } from '../per-node.ts';
import { foundIn, type GroupedWatch, watchGroup } from './watch-group.ts';
import { watchByNode } from './watches-by-node.ts';

/** One label of the metric for all watches. */
const RESOURCE = 'startup-csinodes';
/** The key of the watch that nodes share. */
const ALL = '';

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
export function watchCsiNodes(run: Run, client: ApiClient, kept: PerNode, onChange: (node: string) => void): CsiNodes {
  const shared = watchGroup<CsiNodeView>(run, client, `${RESOURCE}-all`);
  const single = watchByNode<CsiNodeView>(run, {
    client,
    resource: RESOURCE,
    path: CSI_NODES,
    fieldSelector: (node) => `metadata.name=${node}`,
    project: viewCsiNode,
    onChange,
    endShared: () => shared.end(ALL),
  });
  kept.onForget(single.end);

  return {
    on(node) {
      const found = single.on(node);
      if (found === undefined) {
        single.share(node);
        const { objects } = shared.get(ALL) ?? beginShared();
        return foundIn(objects, () => objects.get(node)?.value);
      }
      return typeof found === 'string' ? found : { value: found.value[0] };
    },
    end: single.end,
    stop: async () => void (await Promise.all([single.stop(), shared.stop()])),
  };

  function beginShared(): GroupedWatch<CsiNodeView> {
    const onReading = () => {
      for (const node of [...single.sharing]) onChange(node);
    };
    const all = shared.begin(ALL, {
      path: CSI_NODES,
      project: viewCsiNode,
      onChange(change) {
        const { name } = change.entry;
        if (isNews(change) && all.objects.isSynced() && single.sharing.has(name)) onChange(name);
      },
      onRefusal: onReading,
      onSynced: onReading,
    });
    return all;
  }
}

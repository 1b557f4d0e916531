import type { ApiClient } from '../../../cluster/client/api-client.ts';
import { isNews } from '../../../cluster/watch/cached-objects.ts';
import type { Found } from '../../../judge/startup/blocker.ts';
import type { CsiNodeView } from '../../../judge/startup/csi-drivers.ts';
import { CSI_NODES, viewCsiNode } from '../../../objects/csi-node-object.ts';
import type { Run } from '../../controller.ts';
import type { PerNode } from '../per-node.ts';
import { foundIn, type GroupedWatch, watchGroup } from './watch-group.ts';
import { watchByNode } from './watches-by-node.ts';

/** The label of the metric for the watches of single nodes. That of the shared watch ends in `-all`. */
const RESOURCE = 'startup-csinodes';
/** The key of the watch that nodes share. */
const ALL = '';

/** The CSINode of a node, for one step of it. */
export interface CsiNodeOfNode {
  /** The CSINode; undefined if the node has none. Starts to watch it. */
  read(): Found<CsiNodeView | undefined>;
  /** Ends the step. If the CSINode was not read, the node no longer waits for it, and its watch ends. */
  endStep(): void;
}

/** The CSINodes of the nodes that wait. */
export interface CsiNodes {
  /** Begins a step of the node. */
  beginStep(node: string): CsiNodeOfNode;
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
    beginStep(node) {
      let isRead = false;
      return {
        read() {
          isRead = true;
          return find(node);
        },
        endStep() {
          if (!isRead) single.end(node);
        },
      };
    },
    stop: async () => void (await Promise.all([single.stop(), shared.stop()])),
  };

  function find(node: string): Found<CsiNodeView | undefined> {
    const found = single.readOrWatch(node);
    if (found === undefined) {
      single.share(node);
      const { objects } = shared.get(ALL) ?? beginShared();
      return foundIn(objects, () => objects.get(node)?.value);
    }
    return typeof found === 'string' ? found : { value: found.value[0] };
  }

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

import type { WatchCache } from '../../../src/cluster/watch/watch-cache.ts';
import { watchResource } from '../../../src/cluster/watch/watch-cache.ts';
import { startWorkQueue } from '../../../src/runtime/work-queue.ts';
import { STRATEGIC_MERGE_PATCH } from '../content-types.ts';
import { type NodeStatus, nodeReport } from './node-report.ts';
import { unlessOvertaken } from './overtaken.ts';
import { type Surroundings, WATCH_AGAIN } from './surroundings.ts';
import { hasKubelet } from './with-kubelet.ts';

const NODES = '/api/v1/nodes';
/** How many reports are on their way at a time. */
const CONCURRENCY = 8;

/** The nodes that have a kubelet. */
export interface Nodes {
  readonly synced: Promise<void>;
  /** The uid of the node; undefined when there is none of this name that has a kubelet. */
  uidOf(name: string): string | undefined;
}

interface SeenNode {
  readonly hasKubelet: boolean;
  /** What is to be reported of it. */
  readonly report: object | undefined;
}

/**
 * Makes nodes Ready that have a kubelet and are not.
 *
 * @param onNew called for each node that has a kubelet from now on
 */
export function followNodes({ client, log }: Surroundings, onNew: (name: string) => void): Nodes {
  const cache: WatchCache<SeenNode> = watchResource<SeenNode>({
    client,
    path: NODES,
    log,
    timings: WATCH_AGAIN,
    project(object) {
      const { metadata, status } = object as {
        metadata: { name: string; annotations?: Record<string, string> };
        status?: NodeStatus;
      };
      const ours = hasKubelet(metadata.annotations);
      return { hasKubelet: ours, report: ours ? nodeReport(metadata.name, status) : undefined };
    },
    onChange(change) {
      const { name, value } = change.entry;
      if (change.type === 'deleted' || !value.hasKubelet) return;
      if (value.report) reports.add(name);
      if (change.type === 'added' || !change.previous.value.hasKubelet) onNew(name);
    },
  });
  const reports = startWorkQueue({
    name: 'nodes',
    concurrency: CONCURRENCY,
    log,
    async work(name) {
      const { resourceVersion, value } = cache.get(name) ?? {};
      if (!value?.report) return undefined;
      const body = { metadata: { resourceVersion }, status: value.report };
      const options = { body, contentType: STRATEGIC_MERGE_PATCH };
      await unlessOvertaken(client.request('PATCH', `${NODES}/${name}/status`, options));
      return undefined;
    },
  });
  return {
    synced: cache.synced,
    uidOf(name) {
      const node = cache.get(name);
      return node?.value.hasKubelet ? node.uid : undefined;
    },
  };
}

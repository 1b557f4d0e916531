import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '../cluster/client/api-client.ts';
import { ApiError } from '../cluster/client/api-error.ts';
import { listObjects } from '../cluster/watch/list-pages.ts';
import { type ClusterNode, countCovered } from '../controllers/sources.ts';
import { isHealthy } from '../coverage/rollout.ts';
import { tokenBucket } from '../runtime/token-bucket.ts';
import {
  cleaningPatch,
  type LeftOnDaemonSet,
  type Leftover,
  readDaemonSet,
  readNode,
  titleOf,
} from './cleanup-object.ts';

export const DRY_RUNS = ['none', 'client', 'server'] as const;

export interface CleaningOptions {
  /** Take away added tolerations, too. */
  readonly tolerations: boolean;
  readonly dryRun: (typeof DRY_RUNS)[number];
  readonly rolloutTimeoutMs: number;
  /** What is about to be done. */
  readonly onProgress: (what: string) => void;
}

/** What became of one object. `skipped`: nobody has tried, because of what went wrong before. */
export interface Cleaned {
  readonly leftover: Leftover;
  readonly result: 'removed' | 'failed' | 'skipped';
  /** Why not. */
  readonly problem?: string;
}

/** What is left in a cluster. */
export interface Leftovers {
  /** Nodes first, then DaemonSets; in the API server's order. */
  readonly objects: readonly Leftover[];
  readonly unreadyNodes: readonly ClusterNode[];
}

/** Every agent on every node is told of each. The default of kubectl and client-go. */
const WRITES = { burst: 50, refillMs: 20 };
const MAX_ATTEMPTS = 5;
const LOOK_MS = 500;
const CONTENT_TYPE = 'application/json-patch+json';

/** @throws ApiError */
export async function findLeftovers(client: ApiClient): Promise<Leftovers> {
  const [nodes, daemonSets] = await Promise.all([
    listObjects(client, '/api/v1/nodes', readNode),
    listObjects(client, '/apis/apps/v1/daemonsets', readDaemonSet),
  ]);
  return {
    objects: [...nodes, ...daemonSets].filter(({ annotations }) => annotations.length > 0),
    unreadyNodes: nodes.flatMap(({ value }) => (value.ready ? [] : [value])),
  };
}

/**
 * Takes it away, one object after the other. A DaemonSet that loses tolerations has its pods replaced before the next one does: after one
 * where that does not work, and when the API server cannot be reached any more, the rest is left as it is.
 */
export async function clean(client: ApiClient, leftovers: Leftovers, options: CleaningOptions): Promise<Cleaned[]> {
  const writes = tokenBucket(WRITES.burst, WRITES.refillMs);
  const cleaned: Cleaned[] = [];
  let over = false;
  for (const leftover of leftovers.objects) {
    if (over) {
      cleaned.push({ leftover, result: 'skipped' });
      continue;
    }
    if (options.dryRun !== 'client') await delay(writes.waitMs());
    writes.take();
    options.onProgress(titleOf(leftover));
    try {
      await cleanObject(client, leftover, leftovers.unreadyNodes, options);
      cleaned.push({ leftover, result: 'removed' });
    } catch (error) {
      over = !(error instanceof ApiError);
      cleaned.push({ leftover, result: 'failed', problem: (error as Error).message });
    }
  }
  return cleaned;
}

/** @throws ApiError for what is the object's own; Error when there is no going on */
async function cleanObject(
  client: ApiClient,
  first: Leftover,
  unready: readonly ClusterNode[],
  { tolerations, dryRun, rolloutTimeoutMs, onProgress }: CleaningOptions,
): Promise<void> {
  if (dryRun === 'client') return;
  const read = first.resource === 'nodes' ? readNode : readDaemonSet;
  const path = pathOf(first);
  let leftover: Leftover = first;
  for (let attempt = 1; ; attempt++) {
    try {
      const body = cleaningPatch(leftover, tolerations);
      if (body.length === 0) return;
      const query = { fieldManager: 'taintkeeper-cleanup', dryRun: dryRun === 'server' ? 'All' : undefined };
      const after = read(await client.request('PATCH', path, { query, body, contentType: CONTENT_TYPE }));
      const rolls = tolerations && leftover.tolerations.length > 0 && dryRun === 'none';
      if (!rolls || after.resource === 'nodes') return;
      onProgress(`waiting until the pods of ${titleOf(after)} are replaced`);
      return await rolledOut(client, after, unready, rolloutTimeoutMs);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 404) return;
      // 422: a test failed. Somebody was faster, and what is there now is another one.
      if (![409, 422].includes(error.status) || attempt === MAX_ATTEMPTS) throw error;
      const now = await client.request('GET', path).catch((fault) => {
        if (fault instanceof ApiError && fault.status === 404) return undefined;
        throw fault;
      });
      if (now === undefined) return;
      leftover = read(now);
    }
  }
}

/** @throws Error when it takes longer than that */
async function rolledOut(
  client: ApiClient,
  first: LeftOnDaemonSet,
  unready: readonly ClusterNode[],
  timeoutMs: number,
): Promise<void> {
  const end = performance.now() + timeoutMs;
  const { generation } = first.value;
  for (;;) {
    const { value } = readDaemonSet(await client.request('GET', pathOf(first)));
    // Of pods on nodes that are not Ready nobody knows when they will be replaced.
    if (value.generation >= generation && isHealthy(value, countCovered(value, unready))) return;
    if (performance.now() >= end) {
      const seconds = Math.round(timeoutMs / 1000);
      throw new Error(
        `its pods were not all replaced and available within ${seconds} s; what comes after is left as it is`,
      );
    }
    await delay(LOOK_MS);
  }
}

function pathOf({ resource, namespace, name }: Leftover): string {
  return resource === 'nodes' ? `/api/v1/nodes/${name}` : `/apis/apps/v1/namespaces/${namespace}/daemonsets/${name}`;
}

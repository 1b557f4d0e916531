import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isFinal, isNotFound } from '../../cluster/client/api-error.ts';
import { patchIfUnchanged } from '../../cluster/client/conditional-patch.ts';
import { namespacedPath } from '../../cluster/client/object-path.ts';
import type { ClusterNode } from '../../cluster/objects/cluster-objects.ts';
import { jsonPointer, type Operation } from '../../kubernetes/json-patch.ts';
import { objectTitle } from '../../kubernetes/object-title.ts';
import { TOLERATIONS_POINTER } from '../../kubernetes/toleration.ts';
import { takeToken, tokenBucket } from '../../runtime/token-bucket.ts';
import { countCovered } from '../../scheduling/coverage.ts';
import { isHealthy } from '../../scheduling/rollout.ts';
import {
  type LeftOnDaemonSet,
  type LeftOnNode,
  type Leftover,
  type Leftovers,
  readDaemonSet,
  readNode,
} from './leftovers.ts';

export const DRY_RUNS = ['none', 'client', 'server'] as const;

export interface CleaningOptions {
  /** Whether to remove added tolerations, too. */
  readonly removesTolerations: boolean;
  readonly dryRun: (typeof DRY_RUNS)[number];
  readonly rolloutTimeoutMs: number;
  /** Called before each step. */
  readonly onProgress: (what: string) => void;
}

/** The result for one object. `skipped`: not tried, because of an earlier failure. */
export interface Cleaned {
  readonly leftover: Leftover;
  readonly result: 'removed' | 'failed' | 'skipped';
  /** Why not. */
  readonly problem?: string;
}

/** So many writes at once, and then one in so many milliseconds. */
const WRITES = { burst: 50, refillMs: 20 };
const LOOK_MS = 500;

/** The field manager of what the command writes. */
const CLEANUP_MANAGER = 'taintkeeper-cleanup';

/**
 * Cleans one object after the other. The pods of a DaemonSet that loses tolerations are replaced before the next one is changed. If that
 * fails, or the API server is unavailable, the rest is left unchanged.
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
    if (options.dryRun !== 'client') await takeToken(() => writes);
    options.onProgress(objectTitle(leftover));
    try {
      await cleanObject(client, leftover, leftovers, options);
      cleaned.push({ leftover, result: 'removed' });
    } catch (error) {
      over = !isFinal(error);
      cleaned.push({ leftover, result: 'failed', problem: (error as Error).message });
    }
  }
  return cleaned;
}

/** @throws a final ApiError (see {@link isFinal}) about this object only; any other error ends the cleanup */
async function cleanObject(
  client: ApiClient,
  first: Leftover,
  { unreadyNodes, policies }: Leftovers,
  { removesTolerations, dryRun, rolloutTimeoutMs, onProgress }: CleaningOptions,
): Promise<void> {
  if (dryRun === 'client') return;
  const after = await patchIfUnchanged(client, {
    path: pathOf(first),
    first,
    read: first.resource === 'nodes' ? (object) => readNode(object, policies) : readDaemonSet,
    patch: (leftover: Leftover) => cleaningPatch(leftover, removesTolerations),
    fieldManager: CLEANUP_MANAGER,
    dryRun: dryRun === 'server',
  });
  const rolls = removesTolerations && first.tolerationIndexes.length > 0 && dryRun === 'none';
  if (!rolls || after === undefined || after.resource === 'nodes') return;
  onProgress(`waiting until the pods of ${objectTitle(after)} are replaced`);
  await rolledOut(client, after, unreadyNodes, rolloutTimeoutMs);
}

/**
 * The JSON patch (RFC 6902) that removes what is left, and fails if that has changed. Other changes of the object, which are frequent on nodes, do not
 * matter.
 */
function cleaningPatch(leftover: Leftover, removesTolerations: boolean): Operation[] {
  const taints = leftover.resource === 'nodes' ? removing(leftover) : [];
  const annotations = leftover.annotations.flatMap(({ name, value }): Operation[] => {
    const path = jsonPointer('metadata', 'annotations', name);
    return [
      { op: 'test', path, value },
      { op: 'remove', path },
    ];
  });
  if (!removesTolerations || leftover.resource === 'nodes' || leftover.tolerationIndexes.length === 0) {
    return [...taints, ...annotations];
  }
  return [
    { op: 'test', path: TOLERATIONS_POINTER, value: leftover.value.tolerations },
    ...annotations,
    // From the end, so that earlier indexes stay valid.
    ...leftover.tolerationIndexes
      .toReversed()
      .map((index): Operation => ({ op: 'remove', path: `${TOLERATIONS_POINTER}/${index}` })),
  ];
}

function removing({ list, startup }: LeftOnNode): Operation[] {
  if (startup.length === 0) return [];
  const path = '/spec/taints';
  return [
    { op: 'test', path, value: list },
    { op: 'replace', path, value: list.filter((taint) => !startup.includes(taint)) },
  ];
}

/**
 * Waits until all pods are replaced and available, or the DaemonSet is deleted. If the API server is unavailable meanwhile, it retries.
 * @throws Error if it takes too long, or the user may not read the DaemonSet
 */
async function rolledOut(
  client: ApiClient,
  first: LeftOnDaemonSet,
  unready: readonly ClusterNode[],
  timeoutMs: number,
): Promise<void> {
  const end = performance.now() + timeoutMs;
  const { generation } = first.value;
  for (;;) {
    let fault: Error | undefined;
    try {
      const { value } = readDaemonSet(await client.request('GET', pathOf(first)));
      // Pods on nodes that are not Ready may never be replaced.
      if (value.generation >= generation && isHealthy(value, countCovered(value, unready))) return;
    } catch (error) {
      if (isNotFound(error)) return;
      fault = error as Error;
      if (isFinal(error)) throw new Error(`${fault.message}; ${REST_STAYS}`);
    }
    if (performance.now() >= end) {
      const seconds = Math.round(timeoutMs / 1000);
      const last = fault === undefined ? '' : ` (${fault.message})`;
      throw new Error(`its pods were not all replaced and available within ${seconds} s${last}; ${REST_STAYS}`);
    }
    await delay(LOOK_MS);
  }
}

const REST_STAYS = 'what comes after is left as it is';

function pathOf({ resource, namespace, name }: Leftover): string {
  return resource === 'nodes'
    ? `/api/v1/nodes/${name}`
    : namespacedPath('/apis/apps/v1', namespace, 'daemonsets', name);
}

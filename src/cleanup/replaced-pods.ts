import type { ApiClient } from '../cluster/client/api-client.ts';
import { isFinal, isNotFound } from '../cluster/client/api-error.ts';
import type { ClusterNode } from '../cluster/objects/cluster-objects.ts';
import { pause } from '../runtime/pause.ts';
import { countCovered } from '../scheduling/coverage.ts';
import { isHealthy } from '../scheduling/rollout.ts';
import { type LeftOnDaemonSet, pathOf, readDaemonSet } from './leftover.ts';

/** The interval between two reads of the DaemonSet, in milliseconds. */
const POLL_MS = 500;

/**
 * Waits until all pods are replaced and available, or the DaemonSet is deleted. If the API server is unavailable meanwhile, it retries.
 * @param unready the nodes that are not Ready: their pods may never be replaced
 * @throws Error if it takes too long, or the user may not read the DaemonSet
 */
export async function waitForReplacedPods(
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
    await pause(POLL_MS);
  }
}

const REST_STAYS = 'what comes after is left as it is';

import type { ApiClient } from '../cluster/client/api-client.ts';
import { isFinal } from '../cluster/client/api-error.ts';
import { patchIfUnchanged } from '../cluster/client/conditional-patch.ts';
import { objectTitle } from '../kubernetes/object-title.ts';
import { takeToken, tokenBucket } from '../runtime/token-bucket.ts';
import { cleaningPatch } from './cleaning-patch.ts';
import { type Leftover, pathOf, readDaemonSet, readNode, removableIndexes } from './leftover.ts';
import type { Leftovers } from './leftovers.ts';
import { waitForReplacedPods } from './replaced-pods.ts';

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
  const rolls = removesTolerations && removableIndexes(first).length > 0 && dryRun === 'none';
  if (!rolls || after === undefined || after.resource === 'nodes') return;
  onProgress(`waiting until the pods of ${objectTitle(after)} are replaced`);
  await waitForReplacedPods(client, after, unreadyNodes, rolloutTimeoutMs);
}

import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isConflict, isNotFound } from '../../cluster/client/api-error.ts';
import type { ClusterNode } from '../../cluster/objects/cluster-objects.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { ALLOW_REMOVAL_ANNOTATION } from '../../judge/allow-removal.ts';
import { formatStartupBoot, STARTUP_BOOT_ANNOTATION } from '../../judge/node-boot.ts';
import type { DesiredNode } from '../../judge/node-view.ts';
import type { Taint } from '../../kubernetes/taint.ts';
import { FIELD_MANAGER } from '../../objects/managed-fields.ts';
import { takeToken, tokenBucket } from '../../runtime/token-bucket.ts';
import type { PerNode } from './per-node.ts';

/** Writes in a burst, and the time for each further one, in milliseconds. */
const WRITES = { burst: 100, refillMs: 10 };

/**
 * How long a version that a write of the leader has replaced, or that had a conflict, is not judged again, in milliseconds. The watch nearly always shows a
 * newer one before. If it does not, the conflict was none of versions: a webhook can answer 409 as well.
 */
const OUTDATED_MS = 5_000;

type NodeEntry = Entry<ClusterNode>;

export type NodeWrite =
  /** `taints` are those that the API server has stored, if the write has changed taints. They may differ from those that were sent. */
  | { readonly outcome: 'Written'; readonly taints?: readonly Taint[] }
  /** Nothing was written: another client has changed the Node since this version. */
  | { readonly outcome: 'Outdated' }
  /** The Node was deleted. */
  | { readonly outcome: 'NotFound' };

/** Writes nodes. All writes share one rate limit. */
export interface NodeWriter {
  /** @throws ApiError */
  write(entry: NodeEntry, desired: DesiredNode): Promise<NodeWrite>;
  /**
   * In how many milliseconds this version may be judged and written. Undefined for at once. If it is defined, the Node is known to have changed since this
   * version: this writer has written it, or had a conflict with another client. Forgets what is no longer outdated.
   */
  outdatedForMs(entry: Pick<NodeEntry, 'name' | 'resourceVersion'>): number | undefined;
}

export function nodeWriter(client: Pick<ApiClient, 'request'>, kept: PerNode, signal: AbortSignal): NodeWriter {
  const writes = tokenBucket(WRITES.burst, WRITES.refillMs);
  /** By the name of a Node: the version that was replaced by a write or had a conflict, and when, until the watch shows a newer one. */
  const outdated = kept.map<{ readonly resourceVersion: string; readonly at: number }>();
  return {
    async write(entry, desired) {
      const { name, resourceVersion } = entry;
      const sendsTaints = desired.taints !== entry.value.taints;
      await takeToken(() => writes, signal);
      try {
        const answer = await client.request<PatchedNode>('PATCH', `/api/v1/nodes/${name}`, {
          query: { fieldManager: FIELD_MANAGER },
          contentType: 'application/merge-patch+json',
          body: patchOf(entry, desired),
          // A Node may have some MB.
          ignoreAnswer: !sendsTaints,
        });
        // The API server stores no new version if a webhook undoes the whole write.
        const isStored = !sendsTaints || answer.metadata.resourceVersion !== resourceVersion;
        if (isStored) outdated.set(name, { resourceVersion, at: performance.now() });
        return { outcome: 'Written', ...(sendsTaints ? { taints: answer.spec?.taints ?? [] } : {}) };
      } catch (error) {
        if (isNotFound(error)) return { outcome: 'NotFound' };
        if (!isConflict(error)) throw error;
        outdated.set(name, { resourceVersion, at: performance.now() });
        return { outcome: 'Outdated' };
      }
    },
    outdatedForMs({ name, resourceVersion }) {
      const known = outdated.get(name);
      if (known === undefined) return undefined;
      const leftMs = known.resourceVersion === resourceVersion ? known.at + OUTDATED_MS - performance.now() : 0;
      if (leftMs > 0) return leftMs;
      outdated.delete(name);
      return undefined;
    },
  };
}

/** The part of the answer that is read. */
interface PatchedNode {
  readonly metadata: { readonly resourceVersion: string };
  readonly spec?: { readonly taints?: readonly Taint[] };
}

/** A merge patch of what changes, for this version of this Node. The list of taints is atomic: unseen changes must not be overwritten. */
function patchOf(
  { uid, resourceVersion, value }: NodeEntry,
  { taints, allowRemoval, startupBoot }: DesiredNode,
): object {
  const annotations = {
    ...(allowRemoval === value.allowRemoval ? {} : { [ALLOW_REMOVAL_ANNOTATION]: allowRemoval ?? null }),
    ...(startupBoot === undefined ? {} : { [STARTUP_BOOT_ANNOTATION]: startupBoot && formatStartupBoot(startupBoot) }),
  };
  const spec = taints === value.taints ? {} : { spec: { taints } };
  return { metadata: { uid, resourceVersion, annotations }, ...spec };
}

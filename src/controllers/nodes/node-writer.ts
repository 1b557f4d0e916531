import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isConflict, isNotFound } from '../../cluster/client/api-error.ts';
import type { ClusterNode } from '../../cluster/cluster-objects.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { ALLOW_REMOVAL_ANNOTATION } from '../../judge/allow-removal.ts';
import type { DesiredNode } from '../../judge/node-view.ts';
import type { Taint } from '../../kubernetes/taint.ts';
import { FIELD_MANAGER } from '../../objects/managed-fields.ts';
import { takeTurn, tokenBucket } from '../../runtime/rate-limit.ts';

/** Writes in a burst, and the time for each further one, in milliseconds. */
const WRITES = { burst: 100, refillMs: 10 };

type NodeEntry = Entry<ClusterNode>;

export type NodeWrite =
  | 'Written'
  /** Nothing was written: another client has changed the Node since this version. */
  | 'Outdated'
  /** The Node was deleted. */
  | 'NotFound';

/** Writes nodes. All writes share one rate limit. */
export interface NodeWriter {
  /**
   * @param verify gets the taints that the API server has stored. They may differ from those that were sent: mutating webhooks are called, too.
   * Without `verify`, the answer is ignored, because it may have some MB.
   * @throws ApiError, and what `verify` throws
   */
  write(entry: NodeEntry, desired: DesiredNode, verify?: (stored: readonly Taint[]) => void): Promise<NodeWrite>;
  /** Whether another client is known to have changed the Node since this version. A write would result in a conflict again. */
  isOutdated(entry: Pick<NodeEntry, 'name' | 'resourceVersion'>): boolean;
  forget(name: string): void;
}

export function nodeWriter(client: Pick<ApiClient, 'request'>, signal: AbortSignal): NodeWriter {
  const writes = tokenBucket(WRITES.burst, WRITES.refillMs);
  /** The versions whose writes had a conflict, by the name of the Node. */
  const outdated = new Map<string, string>();
  return {
    async write(entry, desired, verify) {
      const { name, resourceVersion } = entry;
      await takeTurn(() => writes, signal);
      try {
        const answer = await client.request<StoredNode>('PATCH', `/api/v1/nodes/${name}`, {
          query: { fieldManager: FIELD_MANAGER },
          contentType: 'application/merge-patch+json',
          body: patchOf(entry, desired),
          ignoreAnswer: verify === undefined,
        });
        verify?.(answer.spec?.taints ?? []);
        return 'Written';
      } catch (error) {
        if (isNotFound(error)) return 'NotFound';
        if (!isConflict(error)) throw error;
        outdated.set(name, resourceVersion);
        return 'Outdated';
      }
    },
    isOutdated: ({ name, resourceVersion }) => outdated.get(name) === resourceVersion,
    forget: (name) => void outdated.delete(name),
  };
}

interface StoredNode {
  readonly spec?: { readonly taints?: readonly Taint[] };
}

/**
 * A merge patch of what changes. The list of taints is atomic, so the resource version prevents that unseen changes are overwritten.
 */
function patchOf({ resourceVersion, value }: NodeEntry, { taints, allowRemoval }: DesiredNode): object {
  const annotations = allowRemoval === value.allowRemoval ? {} : { [ALLOW_REMOVAL_ANNOTATION]: allowRemoval ?? null };
  return { metadata: { resourceVersion, annotations }, ...(taints === value.taints ? {} : { spec: { taints } }) };
}

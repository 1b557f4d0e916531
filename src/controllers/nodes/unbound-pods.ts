import type { ApiClient } from '../../cluster/client/api-client.ts';
import { listPages } from '../../cluster/watch/list-pages.ts';
import type { UnboundPod } from '../../evictions/eviction-pace.ts';

/** A pod has 5 to 10 KB. */
const PAGE_SIZE = 250;
/** More than this many are not read: of so many, most have no place to run either. */
const MAX_UNBOUND = 2_000;

interface Pod {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly creationTimestamp: string;
    readonly ownerReferences?: readonly { readonly kind: string; readonly controller?: boolean }[];
  };
  readonly spec: { readonly schedulingGates?: readonly unknown[] };
}

/**
 * The pods that are Pending and bound to no node; undefined for more than {@link MAX_UNBOUND}.
 * @throws ApiError, with status 403 where pods may not be listed
 */
export async function listUnboundPods(client: ApiClient, signal: AbortSignal): Promise<UnboundPod[] | undefined> {
  const query = { fieldSelector: 'status.phase=Pending,spec.nodeName=' };
  const found: UnboundPod[] = [];
  for await (const { items } of listPages(client, '/api/v1/pods', { query, pageSize: PAGE_SIZE, signal })) {
    found.push(...items.map(viewUnboundPod));
    if (found.length > MAX_UNBOUND) return undefined;
  }
  return found;
}

function viewUnboundPod(object: unknown): UnboundPod {
  const { metadata, spec } = object as Pod;
  return {
    name: `${metadata.namespace}/${metadata.name}`,
    createdAt: Date.parse(metadata.creationTimestamp),
    controller: metadata.ownerReferences?.find(({ controller }) => controller)?.kind,
    gated: (spec.schedulingGates ?? []).length > 0,
  };
}

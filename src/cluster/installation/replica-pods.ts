import { formatLabels } from '../../kubernetes/label-selector.ts';
import { isFinished, isReady, isTerminating, type PodObject, viewPodScheduling } from '../../objects/pod-object.ts';
import type { ReplicaPod } from '../../scheduling/replica-spread.ts';
import type { ApiClient } from '../client/api-client.ts';
import { ApiError, isNotFound } from '../client/api-error.ts';
import { findObject } from '../client/find-object.ts';
import { namespacedPath } from '../client/object-path.ts';
import { listObjects } from '../list/list-objects.ts';
import type { ServiceRef } from './service-ref.ts';

export function viewReplica(object: unknown): ReplicaPod {
  const pod = object as PodObject;
  return {
    ...viewPodScheduling(object, []),
    name: pod.metadata.name,
    node: pod.spec?.nodeName ?? '',
    image: pod.spec?.containers?.[0]?.image ?? '',
    serves: isReady(pod) && !isTerminating(pod),
  };
}

/**
 * The pods of a Service, except finished ones, which stay until they are deleted. None if it has no selector, because another writer then manages its
 * endpoints. None if it does not exist, as outside of a cluster.
 * @throws ApiError, Error
 */
export async function listReplicas(
  client: ApiClient,
  service: ServiceRef,
  signal?: AbortSignal,
): Promise<ReplicaPod[]> {
  const path = namespacedPath('/api/v1', service.namespace, 'services', service.name);
  const podsPath = namespacedPath('/api/v1', service.namespace, 'pods');
  const found = await findObject<{ spec?: { selector?: Record<string, string> } }>(client, path, { signal });
  const selector = found?.spec?.selector;
  if (!selector) return [];
  const labelSelector = formatLabels(selector);
  const viewUnfinished = (object: unknown) => (isFinished(object as PodObject) ? undefined : viewReplica(object));
  const pods = await listObjects(client, podsPath, viewUnfinished, { labelSelector }, signal);
  return pods.filter((pod) => pod !== undefined);
}

/** The result of an eviction. A server that is busy, or does not have the current budget yet, names a time to try again. */
export type Eviction =
  | { readonly outcome: 'evicted' | 'refused' | 'gone' }
  | { readonly outcome: 'undecided'; readonly retryAfterMs: number };

/**
 * Evicts a replica, if the PodDisruptionBudgets allow it.
 * @param options.dryRun only checks whether they do
 * @throws ApiError, Error
 */
export async function evictReplica(
  client: ApiClient,
  { namespace }: Pick<ServiceRef, 'namespace'>,
  name: string,
  { dryRun = false } = {},
): Promise<Eviction> {
  try {
    await client.request('POST', `${namespacedPath('/api/v1', namespace, 'pods', name)}/eviction`, {
      body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } },
      ...(dryRun ? { query: { dryRun: 'All' } } : {}),
    });
    return { outcome: 'evicted' };
  } catch (error) {
    if (isNotFound(error)) return { outcome: 'gone' };
    if (!(error instanceof ApiError && error.status === 429)) throw error;
    // A budget that allows no eviction names no time (checkAndDecrement of k8s.io/kubernetes/pkg/registry/core/pod/storage/eviction.go).
    const { retryAfterMs } = error;
    return retryAfterMs === undefined ? { outcome: 'refused' } : { outcome: 'undecided', retryAfterMs };
  }
}

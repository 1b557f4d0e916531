import type { ApiClient } from '../cluster/client/api-client.ts';
import { ApiError } from '../cluster/client/api-error.ts';
import type { Entry } from '../cluster/watch/watch-cache.ts';
import type { ClusterDaemonSet } from './cluster-objects.ts';

/** On the pod template, by the strategy RestartRollout: when. */
export const RESTARTED_ANNOTATION = 'taintkeeper.dev/restartedAt';

/**
 * Deletes this pod, as it is known, and no other one of its name. One that has failed is gone at once: for those the API server
 * knows no grace period (CheckGracefulDelete of k8s.io/kubernetes/pkg/registry/core/pod/strategy.go).
 * @returns false when the pod has changed or gone since
 * @throws ApiError, Error
 */
export function deletePod(
  client: ApiClient,
  { namespace, name, uid, resourceVersion }: Entry<unknown>,
): Promise<boolean> {
  return unlessOutdated(
    client.request('DELETE', `/api/v1/namespaces/${namespace}/pods/${name}`, {
      body: { preconditions: { uid, resourceVersion } },
    }),
  );
}

/**
 * Gives the pod template a new annotation: the back-off belongs to a generation of the DaemonSet, so there is none for the next.
 * @returns false when the DaemonSet has changed or gone since
 * @throws ApiError; Error, also when somebody takes the annotation out again in the same request
 */
export function restartRollout(client: ApiClient, daemonSet: Entry<ClusterDaemonSet>, at: Date): Promise<boolean> {
  const { namespace, name, uid, resourceVersion, value } = daemonSet;
  const annotations = { [RESTARTED_ANNOTATION]: at.toISOString() };
  return unlessOutdated(
    client
      .request<{ metadata: { generation: number } }>(
        'PATCH',
        `/apis/apps/v1/namespaces/${namespace}/daemonsets/${name}`,
        {
          contentType: 'application/merge-patch+json',
          body: { metadata: { uid, resourceVersion }, spec: { template: { metadata: { annotations } } } },
        },
      )
      .then(({ metadata }) => {
        if (metadata.generation <= value.generation)
          throw new Error(`DaemonSet ${namespace}/${name}: somebody takes ${RESTARTED_ANNOTATION} out of its template`);
      }),
  );
}

async function unlessOutdated(request: Promise<unknown>): Promise<boolean> {
  try {
    await request;
    return true;
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.status === 409)) return false;
    throw error;
  }
}

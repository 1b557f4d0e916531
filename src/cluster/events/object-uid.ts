import type { ApiClient, RequestOptions } from '../client/api-client.ts';
import { ApiError } from '../client/api-error.ts';
import { namespaceOf, type ObjectReference } from './event.ts';

/** Where the API server has the objects that our Events are about. */
const COLLECTIONS: Readonly<Record<string, (namespace: string) => string>> = {
  Node: () => '/api/v1/nodes',
  DaemonSet: (namespace) => `/apis/apps/v1/namespaces/${encodeURIComponent(namespace)}/daemonsets`,
  TaintPolicy: () => '/apis/taintkeeper.dev/v1alpha1/taintpolicies',
  TolerationPolicy: () => '/apis/taintkeeper.dev/v1alpha1/tolerationpolicies',
  RecoveryPolicy: () => '/apis/taintkeeper.dev/v1alpha1/recoverypolicies',
};

/**
 * The uid by which `kubectl describe` looks for an object's Events (searchEvents of k8s.io/kubectl). An object that is
 * being created has none yet when its admission is judged, and a violation knows its policy by name alone. Of a node that cannot be
 * read it is the name, as kubelets have it: kubectl looks for both.
 * @returns undefined when there is no such object, or none that may be read
 * @throws Error, and ApiError for what may be better next time
 */
export async function findUid(
  client: ApiClient,
  regarding: ObjectReference,
  options: RequestOptions,
): Promise<string | undefined> {
  if (regarding.uid) return regarding.uid;
  const unknown = regarding.kind === 'Node' ? regarding.name : undefined;
  const collection = COLLECTIONS[regarding.kind];
  if (!collection) return unknown;
  try {
    const path = `${collection(namespaceOf(regarding))}/${encodeURIComponent(regarding.name)}`;
    const { metadata } = await client.request<{ metadata: { uid: string } }>('GET', path, options);
    return metadata.uid;
  } catch (error) {
    if (error instanceof ApiError && isFinal(error)) return unknown;
    throw error;
  }
}

/** Whether asking again is of no use. Credentials that are not taken may be about to be renewed. */
export function isFinal({ status }: ApiError): boolean {
  return status >= 400 && status < 500 && ![401, 408, 429].includes(status);
}

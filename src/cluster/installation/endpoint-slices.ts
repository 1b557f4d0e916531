import type { ApiClient } from '../client/api-client.ts';
import { namespacedPath } from '../client/object-path.ts';
import { listObjects } from '../list/list-objects.ts';
import type { ServiceRef } from './service-ref.ts';

/** The fields of an EndpointSlice (discovery.k8s.io/v1) that name the endpoints of a Service. */
export interface EndpointSlice {
  readonly ports?: readonly { readonly name?: string; readonly port?: number }[] | null;
  readonly endpoints?: readonly Endpoint[] | null;
}

export interface Endpoint {
  readonly addresses: readonly string[];
  readonly conditions?: { readonly ready?: boolean };
  readonly targetRef?: { readonly kind?: string; readonly name?: string; readonly uid?: string };
}

/**
 * The EndpointSlices of a Service.
 * @throws ApiError, Error
 */
export function listEndpointSlices(
  client: ApiClient,
  { namespace, name }: Pick<ServiceRef, 'namespace' | 'name'>,
): Promise<EndpointSlice[]> {
  const path = namespacedPath('/apis/discovery.k8s.io/v1', namespace, 'endpointslices');
  const labelSelector = `kubernetes.io/service-name=${name}`;
  return listObjects(client, path, (object) => object as EndpointSlice, { labelSelector });
}

/** The name of the endpoint's pod. Undefined if it is no pod. */
export function podOf({ targetRef }: Endpoint): string | undefined {
  return targetRef?.kind === 'Pod' ? targetRef.name : undefined;
}

/** No condition counts as ready (EndpointConditions of discovery.k8s.io/v1). */
export function isReadyEndpoint({ conditions }: Endpoint): boolean {
  return conditions?.ready ?? true;
}

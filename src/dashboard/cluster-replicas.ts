import type { ApiClient } from '../cluster/client/api-client.ts';
import { ApiError } from '../cluster/client/api-error.ts';
import { replicaOf } from '../cluster/leader/identity.ts';
import type { Lease } from '../cluster/leader/lease.ts';
import type { StandingFault } from '../cluster/standing-fault.ts';
import type { Replica, Replicas } from './replica.ts';

/** What is read of an EndpointSlice (discovery.k8s.io/v1). */
interface EndpointSlice {
  readonly endpoints?: readonly {
    readonly conditions?: { readonly ready?: boolean };
    readonly targetRef?: { readonly kind?: string; readonly name?: string };
  }[];
  readonly ports?: readonly { readonly name?: string; readonly port?: number }[];
}

/** The Service's port that leads to the admin listener. */
const ADMIN_PORT = 'metrics';

export interface ClusterReplicasOptions {
  readonly client: ApiClient;
  readonly namespace: string;
  readonly service: string;
  readonly lease: string;
  /** Connects to a port of a pod. */
  readonly dial: (pod: string, port: number) => ReturnType<Replica['dial']>;
  /** That the Lease cannot be read. */
  readonly leaseFault: StandingFault;
}

/**
 * The pods behind taintkeeper's Service, those that are ready first, and the one that holds the Lease.
 * @throws ApiError; Error when there are none
 */
export async function clusterReplicas(options: ClusterReplicasOptions): Promise<Replicas> {
  const { client, namespace, service, dial } = options;
  const [slices, leader] = await Promise.all([
    client.request<{ items?: readonly EndpointSlice[] }>(
      'GET',
      `/apis/discovery.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/endpointslices`,
      { query: { labelSelector: `kubernetes.io/service-name=${service}` } },
    ),
    leaderOf(options),
  ]);
  const pods = new Map<string, { readonly port: number; readonly ready: boolean }>();
  for (const { endpoints, ports } of slices.items ?? []) {
    const port = ports?.find(({ name }) => name === ADMIN_PORT)?.port;
    for (const { conditions, targetRef } of endpoints ?? []) {
      if (port === undefined || targetRef?.kind !== 'Pod' || !targetRef.name) continue;
      // Absent means ready, by the definition of the field.
      pods.set(targetRef.name, { port, ready: conditions?.ready ?? true });
    }
  }
  const sorted = [...pods].sort(
    ([a, { ready: isReady }], [b, { ready }]) => Number(ready) - Number(isReady) || (a < b ? -1 : 1),
  );
  if (sorted.length === 0) {
    throw new Error(`Service ${namespace}/${service} leads to no pod with a port named ${ADMIN_PORT}`);
  }
  return { replicas: sorted.map(([name, { port }]) => ({ name, dial: () => dial(name, port) })), leader };
}

/** Undefined also for whoever may not read the Lease, or named another one: any replica will do then. */
async function leaderOf({ client, namespace, lease, leaseFault }: ClusterReplicasOptions): Promise<string | undefined> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases/${encodeURIComponent(lease)}`;
  try {
    const { spec } = await client.request<Lease>('GET', path);
    leaseFault.isOver();
    return spec?.holderIdentity ? replicaOf(spec.holderIdentity) : undefined;
  } catch (error) {
    if (!(error instanceof ApiError && (error.status === 404 || error.status === 403))) throw error;
    const { message } = error;
    leaseFault.is(message, `who leads is not known, the page is that of any replica (see --lease): ${message}`);
    return undefined;
  }
}

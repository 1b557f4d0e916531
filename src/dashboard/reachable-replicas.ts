import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { json } from 'node:stream/consumers';
import type { ApiClient } from '../cluster/client/api-client.ts';
import { isForbidden, isNotFound } from '../cluster/client/api-error.ts';
import { isReadyEndpoint, listEndpointSlices, podOf } from '../cluster/endpoint-slices.ts';
import { replicaOf } from '../cluster/lease/leadership.ts';
import { holderOf, type Lease, leasePath } from '../cluster/lease/lease.ts';
import type { PageState } from '../page/state.ts';
import type { RepeatedFault } from '../runtime/fault-log.ts';
import { openOrAborted } from '../runtime/pause.ts';

/** A running taintkeeper whose admin listener can be reached. */
export interface Replica {
  readonly name: string;
  /** A new connection to that listener. */
  readonly dial: () => Promise<Duplex>;
}

/** The replicas, and the name of the leader, if it is known. */
export interface Replicas {
  readonly replicas: readonly Replica[];
  readonly leader: string | undefined;
}

/** A listener that is reachable without a port-forward. */
export function replicaAt(url: URL): Replica {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return {
    name: url.host,
    dial: async () => connect({ host, port: Number(url.port || 80), noDelay: true }),
  };
}

/**
 * Sends a GET over a new connection, and returns the answer without its body. The signal also ends the body.
 * @throws Error from the connection, or the signal's reason
 */
export async function get(
  replica: Replica,
  path: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const connection = await openOrAborted(replica.dial(), signal);
  return new Promise((resolve, reject) => {
    const outgoing = request({
      createConnection: () => connection,
      path,
      // The host of the listener, also through a port-forward.
      headers: { ...headers, host: 'localhost', connection: 'close' },
      signal,
    });
    outgoing.once('response', (response) => {
      // A reader gets the error. Without a reader, it may be ignored.
      response.on('error', () => {});
      response.once('close', () => connection.destroy());
      resolve(response);
    });
    outgoing.on('error', (error) => {
      connection.destroy();
      reject(signal.aborted ? signal.reason : error);
    });
    outgoing.end();
  });
}

/** The time limit for asking a replica whether it leads, in milliseconds. */
const ANSWER_MS = 2_000;

/** Replicas with given addresses. Each is asked whether it leads, and again only if its state has changed. */
export function givenReplicas(replicas: readonly Replica[]): () => Promise<Replicas> {
  const known = new Map<string, { readonly etag: string; readonly leads: boolean }>();

  async function leads(replica: Replica): Promise<boolean> {
    const before = known.get(replica.name);
    const headers: Record<string, string> = before ? { 'if-none-match': before.etag } : {};
    try {
      const response = await get(replica, '/api/state', headers, AbortSignal.timeout(ANSWER_MS));
      if (response.statusCode !== 200) {
        response.destroy();
        return response.statusCode === 304 && before !== undefined && before.leads;
      }
      const { leader } = (await json(response)) as PageState;
      known.set(replica.name, { etag: etagOf(response), leads: leader.isThis });
      return leader.isThis;
    } catch {
      // The follower of its events reports the error.
      return false;
    }
  }

  return async () => {
    const leading = await Promise.all(replicas.map(leads));
    return { replicas, leader: replicas[leading.indexOf(true)]?.name };
  };
}

function etagOf({ headers }: IncomingMessage): string {
  return headers.etag ?? '';
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
  /** The log of a Lease that cannot be read. */
  readonly leaseFault: RepeatedFault;
}

/**
 * Finds the pods behind taintkeeper's Service, ready pods first, and the holder of the Lease.
 * @throws ApiError; Error if there are no pods
 */
export async function clusterReplicas(options: ClusterReplicasOptions): Promise<Replicas> {
  const { client, namespace, service, dial } = options;
  const [slices, leader] = await Promise.all([
    listEndpointSlices(client, { namespace, name: service }),
    leaderOf(options),
  ]);
  const pods = new Map<string, { readonly port: number; readonly ready: boolean }>();
  for (const { endpoints, ports } of slices) {
    const port = ports?.find(({ name }) => name === ADMIN_PORT)?.port;
    for (const endpoint of endpoints ?? []) {
      const pod = podOf(endpoint);
      if (port !== undefined && pod) pods.set(pod, { port, ready: isReadyEndpoint(endpoint) });
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

/** Undefined if there is no Lease, or the user may not read it: then any replica is shown. */
async function leaderOf({ client, namespace, lease, leaseFault }: ClusterReplicasOptions): Promise<string | undefined> {
  try {
    const holder = holderOf(await client.request<Lease>('GET', leasePath(namespace, lease)));
    leaseFault.isOver();
    return holder === undefined ? undefined : replicaOf(holder);
  } catch (error) {
    if (!isNotFound(error) && !isForbidden(error)) throw error;
    const { message } = error;
    leaseFault.is(message, `the leader is not known, and the page is that of any replica: ${message}`);
    return undefined;
  }
}

import type { ApiClient } from '../../cluster/client/api-client.ts';
import { ApiError, isForbidden } from '../../cluster/client/api-error.ts';
import { ADMIN_PORT_NAME } from '../../cluster/installation/own-names.ts';
import { selfCheckReview } from '../../cluster/installation/self-check-review.ts';
import { type CniPod, listCniPodsOn } from '../../cluster/nodes/node-pods.ts';
import { openTunnel } from '../../cluster/port-forward/tunnel.ts';
import { openOrAborted } from '../../runtime/abort.ts';
import type { Check as ReadinessCheck } from '../../server/admin-server.ts';
import { type ConnectionFault, connectionFault, type Dialled, dial, hostPort } from './dial.ts';
import type { ListedReplica } from './listed-replicas.ts';
import { failedReading, type Reading, read, readingOf, unreadable } from './reading.ts';
import type { Recognise } from './recognition.ts';

/** A replica that accepts no connection within this time counts as not directly reachable, which is normal outside the cluster. */
const CONNECT_TIMEOUT_MS = 2_000;
/** A replica that accepts a connection is given more time: on a busy machine a TLS handshake takes seconds. */
export const ANSWER_TIMEOUT_MS = 8_000;
const LIMITS = { connectMs: CONNECT_TIMEOUT_MS, answerMs: ANSWER_TIMEOUT_MS };
/** The webhooks have a timeout of 2 s; the rest is for the path to the API server. */
const TIMEOUT_MS = 3_000;

/** How the replica was reached. */
export type Way = 'direct' | 'port-forward';

/** Whether the API server gets an answer from a replica. */
export type Reached =
  | { readonly outcome: 'answered' }
  | { readonly outcome: 'failed'; readonly fault: ConnectionFault };

/** The result of `/checks` of a replica. */
export interface Readiness {
  readonly isReady: boolean;
  /** The checks that failed. */
  readonly failures: readonly Pick<ReadinessCheck, 'name' | 'detail'>[];
}

/** A replica, and how it answered. */
export interface ReplicaFacts extends Omit<ListedReplica, 'addresses'> {
  /** The one that answered, or the first. */
  readonly address: string;
  readonly dialled: Dialled;
  readonly way: Way;
  /** How the pod answers a review that the API server passes on. Unknown without a pod, or without the right to `pods/proxy`. */
  readonly reached: Reading<Reached>;
  readonly readiness: Reading<Readiness>;
  /** The pods of the CNI on its node. Undefined unless the API server cannot reach the replica over the CNI's network. */
  readonly cniPods?: Reading<readonly CniPod[]>;
}

/** Opens WebSockets to the API server. */
export type Sockets = Parameters<typeof openTunnel>[0];

/** How replicas are called. */
export interface ProbeOptions {
  readonly client: ApiClient;
  /** For port-forwards. */
  readonly sockets: Sockets;
  readonly namespace: string;
  readonly serverName: string;
  readonly recognise: Recognise;
}

export async function probeReplica(replica: ListedReplica, options: ProbeOptions): Promise<ReplicaFacts> {
  const { addresses: _addresses, ...listed } = replica;
  const [dialled, reached, readiness] = await Promise.all([
    dialReplica(replica, options),
    reachFromApiServer(replica, options),
    readReadiness(replica, options),
  ]);
  const cniPods = await readCniPods(replica, reached, options);
  return { ...listed, ...dialled, reached, readiness, ...(cniPods ? { cniPods } : {}) };
}

async function readCniPods(
  { pod }: ListedReplica,
  reached: Reading<Reached>,
  { client }: ProbeOptions,
): Promise<Reading<readonly CniPod[]> | undefined> {
  const isLost =
    reached.ok && reached.value.outcome === 'failed' && ['silent', 'unreachable'].includes(reached.value.fault.kind);
  if (!isLost || !pod || pod.hostNetwork || pod.node === '') return undefined;
  return read(() => listCniPodsOn(client, pod.node, AbortSignal.timeout(TIMEOUT_MS)));
}

/** Connects directly, else by a port-forward. If both fail, the failure of the direct connection is returned. */
async function dialReplica(
  { addresses, port, pod }: ListedReplica,
  { sockets, namespace, serverName, recognise }: ProbeOptions,
): Promise<Pick<ReplicaFacts, 'address' | 'dialled' | 'way'>> {
  const [first, ...others] = await Promise.all(
    addresses.map(async (host) => {
      const dialled = recognise(await dial({ host, port }, serverName, LIMITS), hostPort(host, port));
      return { address: host, dialled, way: 'direct' as const };
    }),
  );
  if (first === undefined) throw new Error('a replica has an address');
  // This machine may have no route to one of the address families.
  const direct = [first, ...others].find(({ dialled }) => dialled.outcome === 'greeted') ?? first;
  if (direct.dialled.outcome === 'greeted' || pod === undefined) return direct;
  try {
    const opening = openTunnel(sockets, { namespace, pod: pod.name, port });
    const socket = await openOrAborted(opening, AbortSignal.timeout(TIMEOUT_MS));
    // A port-forward leads to the pod itself: its certificate is what the API server gets.
    const forwarded = await dial({ socket }, serverName, LIMITS);
    if (forwarded.outcome === 'greeted') return { ...direct, dialled: forwarded, way: 'port-forward' };
  } catch {
    // That the kubelet cannot forward the port says nothing about the webhook.
  }
  return direct;
}

/**
 * Lets the API server call the pod (`pods/proxy`). This path is the one that webhook calls take, except that it avoids the Service and
 * accepts any certificate.
 */
async function reachFromApiServer(
  { pod, port }: ListedReplica,
  { client, namespace }: ProbeOptions,
): Promise<Reading<Reached>> {
  if (pod === undefined) return failedReading('it is not known to be a pod');
  const review = selfCheckReview();
  const path = `/api/v1/namespaces/${namespace}/pods/https:${pod.name}:${port}/proxy${review.path}`;
  try {
    const answer = await client.request('POST', path, { body: JSON.parse(review.body), timeoutMs: TIMEOUT_MS });
    const refusal = review.refusal(200, answer);
    return readingOf(refusal === undefined ? { outcome: 'answered' } : failed(refusal));
  } catch (error) {
    if (isForbidden(error)) return unreadable(error);
    // The replica answered. It accepts known clients only.
    if (error instanceof ApiError && review.refusal(error.status, undefined) === undefined) {
      return readingOf({ outcome: 'answered' });
    }
    return readingOf(failed(lastPart((error as Error).message)));
  }
}

async function readReadiness({ pod }: ListedReplica, { client, namespace }: ProbeOptions): Promise<Reading<Readiness>> {
  const port = pod?.ports.get(ADMIN_PORT_NAME);
  if (pod === undefined || port === undefined) return failedReading('its admin port is not known');
  const path = `/api/v1/namespaces/${namespace}/pods/${pod.name}:${port}/proxy/checks`;
  try {
    const checks = await client.request<readonly ReadinessCheck[]>('GET', path, { timeoutMs: TIMEOUT_MS });
    const failures = checks.filter(({ state }) => state === 'failed');
    return readingOf({ isReady: failures.length === 0, failures });
  } catch (error) {
    return unreadable(error);
  }
}

function failed(message: string): Reached {
  return { outcome: 'failed', fault: connectionFault(message) };
}

/** Removes the method and path that the client adds, and Go's `error trying to reach service`. */
function lastPart(message: string): string {
  return message.replace(/^[A-Z]+ \S+: (\d+ \w+: )?/, '').replace(/^error trying to reach service: /, '');
}

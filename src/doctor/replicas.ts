import type { ApiClient } from '../cluster/client/api-client.ts';
import { ApiError, isForbidden } from '../cluster/client/api-error.ts';
import { selfCheckReview } from '../cluster/self-check-review.ts';
import { openTunnel } from '../cluster/tunnel.ts';
import { TimeoutError } from '../runtime/pause.ts';
import type { Check } from '../server/admin-server.ts';
import { type ConnectionFault, connectionFault, type Dialled, dial } from './dial.ts';
import type { PodView } from './pod-view.ts';
import { known, type Reading, unknown, unreadable } from './reading.ts';
import type { Recognise } from './recognition.ts';
import type { EndpointSliceObject, ServiceFacts, ServiceObject } from './service-facts.ts';

/** A replica as the cluster knows it. */
export interface Listed {
  /** The pod's name, or the address where there is no pod. */
  readonly name: string;
  readonly address: string;
  /** Where it says that it listens; where it does not, where the Service leads to. */
  readonly port: number;
  /** Where the Service leads to, and whether it does now; undefined if the replica is in no EndpointSlice. */
  readonly endpoint: { readonly port: number; readonly isReady: boolean } | undefined;
  readonly pod: PodView | undefined;
}

/** What the chart calls the container's port. */
export const WEBHOOK_PORT = 'webhook';
/** What `serve` listens on, and API servers call, unless told otherwise. */
const DEFAULT_POD_PORT = 8443;
const DEFAULT_SERVICE_PORT = 443;

/** The Service's port that the API server calls: that of the registered webhooks, all of which have the same. */
export function calledPort({ webhooks }: Pick<ServiceFacts, 'webhooks'>): number {
  const [first] = webhooks.ok ? webhooks.value : [];
  return first?.clientConfig.service?.port ?? DEFAULT_SERVICE_PORT;
}

/** Everybody behind the Service, and the pods that it selects and does not lead to. */
export function listReplicas(facts: ServiceFacts): Listed[] {
  const service = facts.service.ok ? facts.service.value : undefined;
  const pods = facts.pods.ok ? facts.pods.value : [];
  const port = calledPort(facts);
  if (service?.spec?.type === 'ExternalName') {
    const address = service.spec.externalName ?? '';
    return [{ name: address, address, port, endpoint: { port, isReady: true }, pod: undefined }];
  }
  const slices = facts.slices.ok ? facts.slices.value : [];
  const listed = slices.flatMap((slice) => ofSlice(slice, portName(service, port), pods));
  const named = new Set(listed.map(({ name }) => name));
  const others = pods
    .filter((pod) => pod.ip !== undefined && !named.has(pod.name))
    .map((pod) => ({
      name: pod.name,
      address: pod.ip ?? '',
      port: pod.ports.get(WEBHOOK_PORT) ?? DEFAULT_POD_PORT,
      endpoint: undefined,
      pod,
    }));
  return [...listed, ...others];
}

/** The name of the Service's port, by which a slice knows its own; '' is the name of one without. */
function portName(service: ServiceObject | undefined, port: number): string {
  return service?.spec?.ports?.find((one) => one.port === port)?.name ?? '';
}

function ofSlice({ ports, endpoints }: EndpointSliceObject, name: string, pods: readonly PodView[]): Listed[] {
  const port = ports?.find((one) => (one.name ?? '') === name)?.port;
  if (port === undefined) return [];
  return (endpoints ?? []).flatMap(({ addresses, conditions, targetRef }) => {
    const [address] = addresses;
    if (address === undefined) return [];
    const pod = pods.find((one) => (targetRef?.name === undefined ? one.ip === address : one.name === targetRef.name));
    // No condition means ready (discovery.k8s.io/v1).
    const endpoint = { port, isReady: conditions?.ready ?? true };
    return [
      { name: pod?.name ?? `${address}:${port}`, address, port: pod?.ports.get(WEBHOOK_PORT) ?? port, endpoint, pod },
    ];
  });
}

/** A replica that accepts no connection within this time cannot be reached directly, as is normal from outside of the cluster. */
const CONNECT_TIMEOUT_MS = 2_000;
/** A replica that accepts a connection is given more time: on a busy machine a TLS handshake takes seconds. */
export const ANSWER_TIMEOUT_MS = 8_000;
const LIMITS = { connectMs: CONNECT_TIMEOUT_MS, answerMs: ANSWER_TIMEOUT_MS };
/** What a webhook call of the API server takes at most here, and some for the way there. */
const TIMEOUT_MS = 3_000;

/** How the replica was reached. */
export type Way = 'direct' | 'port-forward';

/** How the API server gets on with a replica: `answered`, or what kept it. */
export type Reached =
  | { readonly outcome: 'answered' }
  | { readonly outcome: 'failed'; readonly fault: ConnectionFault };

/** What `/checks` of a replica says. */
export interface Readiness {
  readonly isReady: boolean;
  /** The checks that failed. */
  readonly failures: readonly Pick<Check, 'name' | 'detail'>[];
}

/** A replica, and what was found when it was called on. */
export interface ReplicaFacts extends Listed {
  readonly dialled: Dialled;
  readonly way: Way;
  /** A review that the API server passes on to the pod. Unknown where there is no pod, or that may not be asked for. */
  readonly reached: Reading<Reached>;
  readonly readiness: Reading<Readiness>;
}

/** What makes WebSockets to the API server. */
export type Sockets = Parameters<typeof openTunnel>[0];

export interface Callers {
  readonly client: ApiClient;
  /** What port-forwards are made with. */
  readonly sockets: Sockets;
  readonly namespace: string;
  readonly serverName: string;
  readonly recognise: Recognise;
}

export async function callOn(replica: Listed, callers: Callers): Promise<ReplicaFacts> {
  const [called, reached, readiness] = await Promise.all([
    dialReplica(replica, callers),
    reachFromApiServer(replica, callers),
    readReadiness(replica, callers),
  ]);
  return { ...replica, ...called, reached, readiness };
}

/** Directly or, where that does not lead anywhere, by a port-forward. What the first way came to counts if the second fails, too. */
async function dialReplica(
  { address, port, pod }: Listed,
  { sockets, namespace, serverName, recognise }: Callers,
): Promise<{ dialled: Dialled; way: Way }> {
  const direct = recognise(await dial({ host: address, port }, serverName, LIMITS), `${address}:${port}`);
  if (direct.outcome === 'greeted' || pod === undefined) return { dialled: direct, way: 'direct' };
  try {
    const socket = await within(TIMEOUT_MS, openTunnel(sockets, { namespace, pod: pod.name, port }));
    // It leads to the pod itself: whatever it serves is what the API server gets.
    const forwarded = await dial({ socket }, serverName, LIMITS);
    if (forwarded.outcome === 'greeted') return { dialled: forwarded, way: 'port-forward' };
  } catch {
    // There is no way by the kubelet: that says nothing of the webhook.
  }
  return { dialled: direct, way: 'direct' };
}

async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TimeoutError(`no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The way that counts: the API server itself connects to the pod (`pods/proxy`), past the Service, and without asking whether
 * the certificate is to be trusted.
 */
async function reachFromApiServer({ pod, port }: Listed, { client, namespace }: Callers): Promise<Reading<Reached>> {
  if (pod === undefined) return unknown('it is not known to be a pod');
  const review = selfCheckReview();
  const path = `/api/v1/namespaces/${namespace}/pods/https:${pod.name}:${port}/proxy/validate`;
  try {
    const answer = await client.request('POST', path, { body: JSON.parse(review.body), timeoutMs: TIMEOUT_MS });
    const refusal = review.refusal(200, answer);
    return known(refusal === undefined ? { outcome: 'answered' } : failed(refusal));
  } catch (error) {
    if (isForbidden(error)) return unreadable(error);
    // It takes calls from known clients alone.
    if (error instanceof ApiError && review.refusal(error.status, undefined) === undefined) {
      return known({ outcome: 'answered' });
    }
    return known(failed(lastPart((error as Error).message)));
  }
}

async function readReadiness({ pod }: Listed, { client, namespace }: Callers): Promise<Reading<Readiness>> {
  const port = pod?.ports.get('admin');
  if (pod === undefined || port === undefined) return unknown('its admin port is not known');
  const path = `/api/v1/namespaces/${namespace}/pods/${pod.name}:${port}/proxy/checks`;
  try {
    const checks = await client.request<readonly Check[]>('GET', path, { timeoutMs: TIMEOUT_MS });
    const failures = checks.filter(({ state }) => state === 'failed');
    return known({ isReady: failures.length === 0, failures });
  } catch (error) {
    return unreadable(error);
  }
}

function failed(message: string): Reached {
  return { outcome: 'failed', fault: connectionFault(message) };
}

/** Without the method and path that the client puts before it, and Go's `error trying to reach service`. */
function lastPart(message: string): string {
  return message.replace(/^[A-Z]+ \S+: (\d+ \w+: )?/, '').replace(/^error trying to reach service: /, '');
}

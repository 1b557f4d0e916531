import type { ApiClient } from '../cluster/client/api-client.ts';
import { ApiError, isForbidden } from '../cluster/client/api-error.ts';
import { type EndpointSlice, isReadyEndpoint, podOf } from '../cluster/installation/endpoint-slices.ts';
import { selfCheckReview } from '../cluster/installation/self-check-review.ts';
import { type CniPod, listCniPodsOn } from '../cluster/nodes/node-pods.ts';
import { openTunnel } from '../cluster/port-forward/tunnel.ts';
import { isDnsSubdomain } from '../kubernetes/names.ts';
import { openOrAborted } from '../runtime/pause.ts';
import type { Check } from '../server/admin-server.ts';
import { type ConnectionFault, connectionFault, type Dialled, dial, hostPort } from './dial.ts';
import type { PodView } from './pod-view.ts';
import { known, type Reading, read, unknown, unreadable } from './reading.ts';
import type { Recognise } from './recognition.ts';
import type { ServiceFacts, ServiceObject } from './service-facts.ts';

/** A replica, as its pod and the EndpointSlices describe it. */
export interface Listed {
  /** The pod's name, or the address if no pod is known. */
  readonly name: string;
  /** The pod's name, if the pod is known or an EndpointSlice names it. */
  readonly podName: string | undefined;
  /** Several in a dual-stack cluster, the one of the pod's primary address family first. */
  readonly addresses: readonly string[];
  /** The port that the pod declares, else the port of the EndpointSlice. */
  readonly port: number;
  /** Its entry in an EndpointSlice. Undefined if it is in none. */
  readonly endpoint: { readonly port: number; readonly isReady: boolean } | undefined;
  readonly pod: PodView | undefined;
}

/** The name of the container's port in the chart. */
export const WEBHOOK_PORT = 'webhook';
/** The defaults of `serve`, and of the client configuration of a webhook. */
const DEFAULT_POD_PORT = 8443;
const DEFAULT_SERVICE_PORT = 443;

/** The Service's port that the API server calls. All registered webhooks have the same. */
export function calledPort({ webhooks }: Pick<ServiceFacts, 'webhooks'>): number {
  const [first] = webhooks.ok ? webhooks.value : [];
  return first?.clientConfig.service?.port ?? DEFAULT_SERVICE_PORT;
}

/** All endpoints of the Service, and the pods that it selects and that are not among its endpoints. */
export function listedReplicas(facts: ServiceFacts): Listed[] {
  const service = facts.service.ok ? facts.service.value : undefined;
  const pods = facts.pods.ok ? facts.pods.value : [];
  const port = calledPort(facts);
  if (service?.spec?.type === 'ExternalName') {
    const address = service.spec.externalName ?? '';
    const endpoint = { port, isReady: true };
    return [{ name: address, podName: undefined, addresses: [address], port, endpoint, pod: undefined }];
  }
  const slices = facts.slices.ok ? facts.slices.value : [];
  const listed = ofSlices(slices, portName(service, port), pods);
  const named = new Set(listed.map(({ name }) => name));
  const others = pods
    .filter((pod) => pod.ip !== undefined && !named.has(pod.name))
    .map((pod) => ({
      name: pod.name,
      podName: pod.name,
      addresses: [pod.ip ?? ''],
      port: pod.ports.get(WEBHOOK_PORT) ?? DEFAULT_POD_PORT,
      endpoint: undefined,
      pod,
    }));
  return [...listed, ...others];
}

/** The name of the Service's port, which is also the name of the slice's. '' if it has none. */
function portName(service: ServiceObject | undefined, port: number): string {
  return service?.spec?.ports?.find((one) => one.port === port)?.name ?? '';
}

/** One for each pod: of a dual-stack Service, a slice of each address family names it. */
function ofSlices(slices: readonly EndpointSlice[], name: string, pods: readonly PodView[]): Listed[] {
  const listedEndpoints = slices.flatMap(({ ports, endpoints }) => {
    const port = ports?.find((one) => (one.name ?? '') === name)?.port;
    if (port === undefined) return [];
    // The meaning of further addresses is not defined (EndpointSlice of discovery.k8s.io/v1).
    return (endpoints ?? []).flatMap((endpoint) =>
      endpoint.addresses.slice(0, 1).map((address) => ({ endpoint, address, port })),
    );
  });
  const groups = Map.groupBy(
    listedEndpoints,
    ({ endpoint: { targetRef }, address }) => targetRef?.uid ?? targetRef?.name ?? address,
  );
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const named = podOf(first.endpoint);
    const pod = pods.find((one) => (named === undefined ? one.ip === first.address : one.name === named));
    const podName = pod?.name ?? (named !== undefined && isDnsSubdomain(named) ? named : undefined);
    const addresses = [...new Set(group.map(({ address }) => address))];
    const isReady = group.some(({ endpoint }) => isReadyEndpoint(endpoint));
    return [
      {
        name: podName ?? hostPort(first.address, first.port),
        podName,
        addresses: addresses.toSorted((a, b) => Number(b === pod?.ip) - Number(a === pod?.ip)),
        port: pod?.ports.get(WEBHOOK_PORT) ?? first.port,
        endpoint: { port: first.port, isReady },
        pod,
      },
    ];
  });
}

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
  readonly failures: readonly Pick<Check, 'name' | 'detail'>[];
}

/** A replica, and how it answered. */
export interface ReplicaFacts extends Omit<Listed, 'addresses'> {
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

export async function probeReplica(replica: Listed, options: ProbeOptions): Promise<ReplicaFacts> {
  const { addresses: _addresses, ...listed } = replica;
  const [called, reached, readiness] = await Promise.all([
    dialReplica(replica, options),
    reachFromApiServer(replica, options),
    readReadiness(replica, options),
  ]);
  const cniPods = await readCniPods(replica, reached, options);
  return { ...listed, ...called, reached, readiness, ...(cniPods ? { cniPods } : {}) };
}

async function readCniPods(
  { pod }: Listed,
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
  { addresses, port, pod }: Listed,
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
  { pod, port }: Listed,
  { client, namespace }: ProbeOptions,
): Promise<Reading<Reached>> {
  if (pod === undefined) return unknown('it is not known to be a pod');
  const review = selfCheckReview();
  const path = `/api/v1/namespaces/${namespace}/pods/https:${pod.name}:${port}/proxy/validate`;
  try {
    const answer = await client.request('POST', path, { body: JSON.parse(review.body), timeoutMs: TIMEOUT_MS });
    const refusal = review.refusal(200, answer);
    return known(refusal === undefined ? { outcome: 'answered' } : failed(refusal));
  } catch (error) {
    if (isForbidden(error)) return unreadable(error);
    // The replica answered. It accepts known clients only.
    if (error instanceof ApiError && review.refusal(error.status, undefined) === undefined) {
      return known({ outcome: 'answered' });
    }
    return known(failed(lastPart((error as Error).message)));
  }
}

async function readReadiness({ pod }: Listed, { client, namespace }: ProbeOptions): Promise<Reading<Readiness>> {
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

/** Removes the method and path that the client adds, and Go's `error trying to reach service`. */
function lastPart(message: string): string {
  return message.replace(/^[A-Z]+ \S+: (\d+ \w+: )?/, '').replace(/^error trying to reach service: /, '');
}

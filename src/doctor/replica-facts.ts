import type { ApiClient } from '../cluster/client/api-client.ts';
import { ApiError } from '../cluster/client/api-error.ts';
import { selfCheckReview } from '../cluster/optional-rights.ts';
import { openTunnel } from '../cluster/tunnel.ts';
import { TimeoutError } from '../runtime/pause.ts';
import { type ConnectionFault, connectionFault } from './connection-fault.ts';
import { type Dialled, dial } from './dial.ts';
import { reasonOf } from './look.ts';
import { known, type Reading, unknown } from './reading.ts';
import type { Listed } from './replicas.ts';

/** Who is not there within this time is not to be reached directly: outside of the cluster, that is the rule. */
const DIRECT_TIMEOUT_MS = 2_000;
/** What a webhook call of the API server takes at most here, and some for the way there. */
const TIMEOUT_MS = 3_000;

/** How the replica was reached. */
export type Way = 'direct' | 'port-forward';

/** How the API server gets on with a replica: `answered`, or what kept it. */
export type Reached =
  | { readonly outcome: 'answered' }
  | { readonly outcome: 'failed'; readonly fault: ConnectionFault };

/** What `/readyz` of a replica says. */
export interface Readiness {
  readonly isReady: boolean;
  /** The parts that failed, such as `certificate failed: not valid after …`. */
  readonly failures: readonly string[];
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
  { sockets, namespace, serverName }: Callers,
): Promise<{ dialled: Dialled; way: Way }> {
  const direct = await dial({ host: address, port }, serverName, DIRECT_TIMEOUT_MS);
  if (direct.outcome === 'greeted' || pod === undefined) return { dialled: direct, way: 'direct' };
  try {
    const socket = await within(TIMEOUT_MS, openTunnel(sockets, { namespace, pod: pod.name, port }));
    const forwarded = await dial({ socket }, serverName, TIMEOUT_MS);
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
    if (error instanceof ApiError && error.status === 403) return unknown(reasonOf(error));
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
  const path = `/api/v1/namespaces/${namespace}/pods/${pod.name}:${port}/proxy/readyz`;
  try {
    await client.request('GET', path, { accept: 'text/plain', timeoutMs: TIMEOUT_MS });
    return known({ isReady: true, failures: [] });
  } catch (error) {
    if (!(error instanceof ApiError) || !error.message.includes('not ready')) return unknown(reasonOf(error));
    const failures = [...error.message.matchAll(/\[-\] (.*?)(?=\\u\{a\}|$)/gs)].map(([, failure = '']) => failure);
    return known({ isReady: false, failures });
  }
}

function failed(message: string): Reached {
  return { outcome: 'failed', fault: connectionFault(message) };
}

/** Without the method and path that the client puts before it, and Go's `error trying to reach service`. */
function lastPart(message: string): string {
  return message.replace(/^[A-Z]+ \S+: (\d+ \w+: )?/, '').replace(/^error trying to reach service: /, '');
}

import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { json } from 'node:stream/consumers';
import { checkServerIdentity } from '../../certs/certificate-names.ts';
import { messageOf } from '../../runtime/error-message.ts';
import type { ApiClient } from '../client/api-client.ts';
import { namespacedPath } from '../client/object-path.ts';
import { selfCheckReview } from './self-check-review.ts';
import { type ServiceRef, serverName } from './service-ref.ts';

interface ServiceSpec {
  readonly type?: string;
  readonly externalName?: string;
  readonly clusterIP?: string;
}

/** The timeout of a webhook call here, in milliseconds. */
const CALL_TIMEOUT_MS = 3_000;

/** The Service's address accepted no connection. The cause may be the network of this process, and not the Service. */
export class ServiceUnreachableError extends Error {
  override name = 'ServiceUnreachableError';
}

/**
 * Calls the webhook as the API server does: at the Service's address (`ResolveCluster` of
 * k8s.io/kube-aggregator/pkg/apiserver/resolvers.go), over TLS, with a dry-run review to which no policy applies.
 * @param bundle the CAs to trust, PEM; undefined: those of the system
 * @param signal aborts it
 * @throws Error with the cause; ServiceUnreachableError without a connection
 */
export async function callOverService(
  client: ApiClient,
  ref: ServiceRef,
  bundle: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const host = await serviceHost(client, ref);
  const review = selfCheckReview();
  const outgoing = request({
    host,
    port: ref.port,
    path: review.path,
    method: 'POST',
    servername: serverName(ref),
    checkServerIdentity,
    headers: { host: serverName(ref), 'content-type': 'application/json' },
    agent: false,
    signal: AbortSignal.any([signal, AbortSignal.timeout(CALL_TIMEOUT_MS)]),
    ...(bundle === undefined ? {} : { ca: bundle }),
  });
  let isConnected = false;
  outgoing.once('socket', (socket) => socket.once('connect', () => (isConnected = true)));
  outgoing.end(review.body);
  try {
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    const refusal = review.refusal(response.statusCode, await json(response));
    if (refusal !== undefined) throw new Error(refusal);
  } catch (error) {
    const where = `Service ${ref.namespace}/${ref.name} (${host} port ${ref.port})`;
    if (!isConnected) throw new ServiceUnreachableError(`${where} cannot be reached from here: ${messageOf(error)}`);
    throw new Error(`${where} does not lead here: ${messageOf(error)}`);
  }
}

async function serviceHost(client: ApiClient, { namespace, name }: ServiceRef): Promise<string> {
  const { spec } = await client.request<{ readonly spec?: ServiceSpec }>(
    'GET',
    namespacedPath('/api/v1', namespace, 'services', name),
  );
  const host = spec && hostOf(spec);
  if (host !== undefined) return host;
  throw new Error(`Service ${namespace}/${name} has no cluster IP: the API server cannot call a webhook through it`);
}

/** Returns the host at which the API server calls a Service, if it has one. A cluster IP answers inside the cluster only. */
export function hostOf({ type, externalName, clusterIP }: ServiceSpec): string | undefined {
  if (type === 'ExternalName' && externalName) return externalName;
  return clusterIP && clusterIP !== 'None' ? clusterIP : undefined;
}

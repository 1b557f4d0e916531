import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isReadyEndpoint, listEndpointSlices, podOf } from '../../cluster/endpoint-slices.ts';
import { callOverService, type ServiceRef, ServiceUnreachableError } from '../../cluster/service-endpoint.ts';
import { pause } from '../../runtime/pause.ts';

/** Right after a start, the endpoints may be a moment late. */
const ATTEMPTS = 10;
const PAUSE_MS = 500;
/** So many without a connection, and the way from the pod to itself is taken for closed. */
const UNREACHABLE_ATTEMPTS = 3;

export interface ServiceWait {
  readonly client: ApiClient;
  readonly service: ServiceRef;
  /** The name of this replica's pod. */
  readonly pod: string;
  /** The CAs to trust, PEM; undefined: those of the system. */
  readonly bundle: () => string | undefined;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
}

/**
 * Waits until the webhook answers over its Service. Some networks lead no pod to itself by way of a Service (no hairpin), and
 * the API server's way is another one: where nobody can be connected with, it is enough that this pod is a ready endpoint of
 * the Service. An answer that is wrong never is.
 * @returns undefined when it answered, or why it was not asked
 * @throws Error that says what does not work; ApiError
 */
export async function waitForService({
  client,
  service,
  pod,
  bundle,
  signal,
}: ServiceWait): Promise<string | undefined> {
  let unreachable = 0;
  for (let attempt = 1; ; attempt++) {
    try {
      await callOverService(client, service, bundle(), signal);
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ServiceUnreachableError && ++unreachable >= UNREACHABLE_ATTEMPTS) {
        if (await isEndpoint(client, service, pod)) return `${error.message}; this pod is a ready endpoint of it`;
      }
      if (attempt === ATTEMPTS) throw error;
    }
    await pause(PAUSE_MS, signal);
    signal.throwIfAborted();
  }
}

async function isEndpoint(client: ApiClient, service: ServiceRef, pod: string): Promise<boolean> {
  const slices = await listEndpointSlices(client, service);
  return slices
    .flatMap(({ endpoints }) => endpoints ?? [])
    .some((endpoint) => isReadyEndpoint(endpoint) && podOf(endpoint) === pod);
}

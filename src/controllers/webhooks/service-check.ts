import type { Logger } from 'pino';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isReadyEndpoint, listEndpointSlices, podOf } from '../../cluster/installation/endpoint-slices.ts';
import { callOverService, ServiceUnreachableError } from '../../cluster/installation/service-endpoint.ts';
import type { ServiceRef } from '../../cluster/installation/service-ref.ts';
import { pause } from '../../runtime/pause.ts';

/** The endpoints of a replica that has just started may follow a moment later. */
const ATTEMPTS = 10;
const PAUSE_MS = 500;
/** After this many attempts without a connection, the pod is assumed not to reach itself over the Service. */
const UNREACHABLE_ATTEMPTS = 3;

export interface ServiceCheckOptions {
  readonly client: ApiClient;
  readonly service: ServiceRef;
  /** The name of this replica's pod. */
  readonly pod: string;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/**
 * Whether the webhook answers over its Service. In each method, `bundle` has the CAs to trust, PEM. Undefined: those of the system.
 */
export interface ServiceCheck {
  /**
   * Waits until the webhook answers over its Service. In some networks, a pod cannot reach itself over a Service (no hairpin mode), and the API
   * server can. If no connection is possible, it is enough that this pod is a ready endpoint of the Service. A wrong answer is a failure.
   * @returns undefined if the webhook answered, or why it was not called
   * @throws Error that says what fails; ApiError
   */
  wait(bundle: string | undefined): Promise<string | undefined>;
  /** A configuration was registered after a wait with this result. */
  registered(kind: string, unverified: string | undefined): void;
  /** Why the webhook was registered without a call over its Service, or undefined once such a call was answered. */
  unverified(): string | undefined;
  /** Calls the webhook over its Service once, for what was registered without such a call. Throws nothing. */
  verify(bundle: string | undefined): Promise<void>;
}

export function serviceCheck({ client, service, pod, signal, log }: ServiceCheckOptions): ServiceCheck {
  let unverified: string | undefined;
  return {
    async wait(bundle) {
      let unreachable = 0;
      for (let attempt = 1; ; attempt++) {
        try {
          await callOverService(client, service, bundle, signal);
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
    },
    registered(kind, why) {
      unverified = why;
      if (why) log.warn(`${kind}: registered without a call over the Service: ${why}`);
    },
    unverified: () => unverified,
    async verify(bundle) {
      try {
        await callOverService(client, service, bundle, signal);
      } catch {
        // What it was registered with still holds.
        return;
      }
      unverified = undefined;
      log.info('the webhook answers over its Service');
    },
  };
}

async function isEndpoint(client: ApiClient, service: ServiceRef, pod: string): Promise<boolean> {
  const slices = await listEndpointSlices(client, service);
  return slices
    .flatMap(({ endpoints }) => endpoints ?? [])
    .some((endpoint) => isReadyEndpoint(endpoint) && podOf(endpoint) === pod);
}

import type { X509Certificate } from 'node:crypto';
import type { Logger } from 'pino';
import { fingerprints } from '../certs/inspect.ts';
import { createSubject, type Source } from '../runtime/source.ts';
import type { ApiClient } from './client/api-client.ts';
import { watchResource } from './watch/watch-cache.ts';

/** Name of both configurations. */
export const CONFIGURATION_NAME = 'taintkeeper';

/** The API server calls one of the two in each phase of admission. */
export const CONFIGURATIONS = {
  mutate: { kind: 'MutatingWebhookConfiguration', resource: 'mutatingwebhookconfigurations' },
  validate: { kind: 'ValidatingWebhookConfiguration', resource: 'validatingwebhookconfigurations' },
} as const;

export type ConfigurationPhase = keyof typeof CONFIGURATIONS;

export const ADMISSION_REGISTRATION = '/apis/admissionregistration.k8s.io/v1';

/** A webhook as it stands in a configuration (admissionregistration.k8s.io/v1), as far as it is read here. */
export interface Webhook {
  readonly name: string;
  readonly clientConfig: {
    readonly caBundle?: string;
    /** The API server takes 443 where there is no port. */
    readonly service?: {
      readonly namespace: string;
      readonly name: string;
      readonly port?: number;
      readonly path?: string;
    };
  };
  readonly [field: string]: unknown;
}

export interface WebhookConfiguration {
  readonly metadata: {
    readonly name: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly unknown[];
  };
  readonly webhooks?: readonly Webhook[];
  readonly [field: string]: unknown;
}

/** Both configurations as they stand in the cluster, watched. */
export interface RegisteredWebhooks {
  readonly synced: Promise<unknown>;
  isSynced(): boolean;
  /** Tells when one of them has changed. */
  readonly changes: Source;
  get(phase: ConfigurationPhase): WebhookConfiguration | undefined;
  /** The `caBundle` of every webhook, PEM; empty where a webhook has none. */
  caBundles(): string[];
  /** True when every webhook that is registered trusts the CA. */
  trust(ca: X509Certificate): boolean;
  stop(): Promise<unknown>;
}

export interface RegisteredWebhooksOptions {
  readonly client: ApiClient;
  readonly log: Logger;
}

export function watchWebhookConfigurations({ client, log }: RegisteredWebhooksOptions): RegisteredWebhooks {
  const changes = createSubject();
  const watch = (phase: ConfigurationPhase) =>
    watchResource({
      client,
      path: `${ADMISSION_REGISTRATION}/${CONFIGURATIONS[phase].resource}`,
      fieldSelector: `metadata.name=${CONFIGURATION_NAME}`,
      project: (object) => object as WebhookConfiguration,
      onChange: () => changes.next(),
      log,
    });
  const caches = { mutate: watch('mutate'), validate: watch('validate') };
  const synced = Promise.all([caches.mutate.synced, caches.validate.synced]);
  // Rejected when stopped before; whoever waits for it has a reference of their own.
  synced.catch(() => {});
  const get = (phase: ConfigurationPhase) => caches[phase].get(CONFIGURATION_NAME)?.value;

  const isSynced = () => Object.values(caches).every((cache) => cache.lastCurrent() !== undefined);
  const caBundles = () => [get('mutate'), get('validate')].flatMap(caBundlesOf);

  return {
    synced,
    isSynced,
    changes,
    get,
    caBundles,
    trust: (ca) => isSynced() && caBundles().every((bundle) => fingerprints(bundle).includes(ca.fingerprint256)),
    stop: () => Promise.all([caches.mutate.stop(), caches.validate.stop()]),
  };
}

/** The `caBundle` of every webhook, PEM; empty where a webhook has none. */
export function caBundlesOf(configuration: WebhookConfiguration | undefined): string[] {
  return (configuration?.webhooks ?? []).map(({ clientConfig }) =>
    Buffer.from(clientConfig.caBundle ?? '', 'base64').toString(),
  );
}

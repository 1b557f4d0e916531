import type { Logger } from 'pino';
import { type CaTrust, trackCaTrust } from '../../certs/ca-trust.ts';
import { createSubject, type Source } from '../../runtime/source.ts';
import type { ApiClient, RequestOptions } from '../client/api-client.ts';
import { findObject } from '../client/find-object.ts';
import { watchResource } from '../watch/watch-cache.ts';

/** Name of both configurations. */
export const CONFIGURATION_NAME = 'taintkeeper';

/** The API server calls one of the two in each phase of admission. */
export const CONFIGURATIONS = {
  mutate: { kind: 'MutatingWebhookConfiguration', resource: 'mutatingwebhookconfigurations' },
  validate: { kind: 'ValidatingWebhookConfiguration', resource: 'validatingwebhookconfigurations' },
} as const;

export type ConfigurationPhase = keyof typeof CONFIGURATIONS;

export const ADMISSION_REGISTRATION_GROUP = '/apis/admissionregistration.k8s.io';
export const ADMISSION_REGISTRATION = `${ADMISSION_REGISTRATION_GROUP}/v1`;

/** The fields of a webhook in a configuration (admissionregistration.k8s.io/v1) that are read here. */
export interface Webhook {
  readonly name: string;
  readonly clientConfig: {
    readonly caBundle?: string;
    /** The API server uses 443 if there is no port. */
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

/** Both configurations in the cluster, watched. */
export interface RegisteredWebhooks {
  readonly synced: Promise<unknown>;
  isSynced(): boolean;
  /** Resolves after the first lists, complete or not. */
  readonly tried: Promise<unknown>;
  /** Why one of them could not be read last; undefined while both are watched. */
  problem(): string | undefined;
  /** Emits when one of them has changed. */
  readonly changes: Source;
  get(phase: ConfigurationPhase): WebhookConfiguration | undefined;
  /** The `caBundle` of every webhook, PEM; empty where a webhook has none. */
  caBundles(): string[];
  readonly trust: CaTrust;
  stop(): Promise<unknown>;
}

export interface RegisteredWebhooksOptions {
  readonly client: ApiClient;
  readonly log: Logger;
}

export function watchWebhookConfigurations({ client, log }: RegisteredWebhooksOptions): RegisteredWebhooks {
  const changes = createSubject();
  const trust = trackCaTrust();
  const problems = new Map<ConfigurationPhase, string>();
  const tried = { mutate: Promise.withResolvers<void>(), validate: Promise.withResolvers<void>() };
  const watch = (phase: ConfigurationPhase) =>
    watchResource({
      client,
      path: `${ADMISSION_REGISTRATION}/${CONFIGURATIONS[phase].resource}`,
      fieldSelector: `metadata.name=${CONFIGURATION_NAME}`,
      project: (object) => object as WebhookConfiguration,
      onChange() {
        observe();
        changes.next();
      },
      onState(state) {
        if (state.connected) problems.delete(phase);
        else problems.set(phase, state.error);
        tried[phase].resolve();
      },
      log,
    });
  const caches = { mutate: watch('mutate'), validate: watch('validate') };
  const synced = Promise.all([caches.mutate.synced, caches.validate.synced]);
  // Rejected if stopped before. Callers that wait have a reference of their own.
  synced.then(observe, () => {});
  const get = (phase: ConfigurationPhase) => caches[phase].get(CONFIGURATION_NAME)?.value;

  const isSynced = () => Object.values(caches).every((cache) => cache.isSynced());
  const caBundles = () => [get('mutate'), get('validate')].flatMap(caBundlesOf);

  return {
    synced,
    isSynced,
    tried: Promise.all([tried.mutate.promise, tried.validate.promise]),
    problem: () => [...problems.values()][0],
    changes,
    get,
    caBundles,
    trust,
    stop: () => Promise.all([caches.mutate.stop(), caches.validate.stop()]),
  };

  /** Half of the configurations is no result. */
  function observe(): void {
    if (isSynced()) trust.observe(caBundles());
  }
}

/** The path of the configuration in the API server. */
export function configurationPath(phase: ConfigurationPhase): string {
  return `${ADMISSION_REGISTRATION}/${CONFIGURATIONS[phase].resource}/${CONFIGURATION_NAME}`;
}

/** Both configurations. Undefined: it does not exist. */
export type Configurations = Readonly<Record<ConfigurationPhase, WebhookConfiguration | undefined>>;

/**
 * Both current configurations.
 * @throws ApiError, Error
 */
export async function readConfigurations(
  client: Pick<ApiClient, 'request'>,
  options?: RequestOptions,
): Promise<Configurations> {
  const read = (phase: ConfigurationPhase) =>
    findObject<WebhookConfiguration>(client, configurationPath(phase), options);
  const [mutate, validate] = await Promise.all([read('mutate'), read('validate')]);
  return { mutate, validate };
}

/**
 * Both current configurations: their webhooks, in order.
 * @throws ApiError, Error
 */
export async function readWebhooks(client: Pick<ApiClient, 'request'>, options?: RequestOptions): Promise<Webhook[]> {
  const { mutate, validate } = await readConfigurations(client, options);
  return [mutate, validate].flatMap((configuration) => configuration?.webhooks ?? []);
}

/** The `caBundle` of every webhook, PEM; empty where a webhook has none. */
export function caBundlesOf({ webhooks }: Pick<WebhookConfiguration, 'webhooks'> = {}): string[] {
  return (webhooks ?? []).map(caBundleOf);
}

/** PEM; empty where the webhook has none. */
export function caBundleOf({ clientConfig }: Webhook): string {
  return Buffer.from(clientConfig.caBundle ?? '', 'base64').toString();
}

/** The inverse of {@link caBundleOf}. @param bundle PEM. Undefined: without `caBundle` */
export function caBundleFields(bundle: string | undefined): Pick<Webhook['clientConfig'], 'caBundle'> {
  return bundle === undefined ? {} : { caBundle: Buffer.from(bundle).toString('base64') };
}

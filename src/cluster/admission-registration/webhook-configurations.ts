import type { ApiClient, RequestOptions } from '../client/api-client.ts';
import { findObject } from '../client/find-object.ts';

/** Name of both configurations. */
export const CONFIGURATION_NAME = 'taintkeeper';

/** The API server calls one of the two in each phase of admission. */
export const CONFIGURATIONS = {
  mutate: { kind: 'MutatingWebhookConfiguration', resource: 'mutatingwebhookconfigurations' },
  validate: { kind: 'ValidatingWebhookConfiguration', resource: 'validatingwebhookconfigurations' },
} as const;

export type ConfigurationPhase = keyof typeof CONFIGURATIONS;

export const ADMISSION_REGISTRATION_PATH = '/apis/admissionregistration.k8s.io';
export const ADMISSION_REGISTRATION_V1_PATH = `${ADMISSION_REGISTRATION_PATH}/v1`;

/**
 * Annotation of a configuration: when a replica added its CA, by the API server's clock. Replicas then have certificates of different sources, and the leader
 * does not know which CAs the others need.
 */
export const CA_ADDED = 'taintkeeper.dev/ca-added';

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
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly unknown[];
  };
  readonly webhooks?: readonly Webhook[];
  readonly [field: string]: unknown;
}

/** The path of the configuration in the API server. */
export function configurationPath(phase: ConfigurationPhase): string {
  return `${ADMISSION_REGISTRATION_V1_PATH}/${CONFIGURATIONS[phase].resource}/${CONFIGURATION_NAME}`;
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

/**
 * For how many milliseconds no registered CA is removed: for the overlap after a replica added its own.
 * @param now by the API server's clock
 */
export function casStayForMs(
  { metadata }: Pick<WebhookConfiguration, 'metadata'>,
  now: Date,
  overlapMs: number,
): number {
  const ageMs = now.getTime() - Date.parse(metadata.annotations?.[CA_ADDED] ?? '');
  // Clocks differ, and no text keeps a CA for ever.
  return Math.abs(ageMs) < overlapMs ? overlapMs - ageMs : 0;
}

/** The inverse of {@link caBundleOf}. @param bundle PEM. Undefined: without `caBundle` */
export function caBundleFields(bundle: string | undefined): Pick<Webhook['clientConfig'], 'caBundle'> {
  return bundle === undefined ? {} : { caBundle: Buffer.from(bundle).toString('base64') };
}

import type { Logger } from 'pino';
import { type CaTrust, trackCaTrust } from '../../certs/ca-trust.ts';
import { createSubject, type Source } from '../../runtime/source.ts';
import type { ApiClient } from '../client/api-client.ts';
import { watchResource } from '../watch/watch-cache.ts';
import {
  ADMISSION_REGISTRATION_V1_PATH,
  CONFIGURATION_NAME,
  CONFIGURATIONS,
  type ConfigurationPhase,
  caBundlesOf,
  type WebhookConfiguration,
} from './webhook-configurations.ts';

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
      path: `${ADMISSION_REGISTRATION_V1_PATH}/${CONFIGURATIONS[phase].resource}`,
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

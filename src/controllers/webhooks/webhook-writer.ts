import type { Logger } from 'pino';
import {
  ADMISSION_REGISTRATION,
  CONFIGURATION_NAME,
  CONFIGURATIONS,
  type ConfigurationPhase,
  caBundleFields,
  caBundlesOf,
  configurationPath,
  type Webhook,
  type WebhookConfiguration,
} from '../../cluster/admission-registration/webhook-configurations.ts';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isConflict } from '../../cluster/client/api-error.ts';
import { deleteObject } from '../../cluster/client/delete-object.ts';
import { callOverService } from '../../cluster/installation/service-endpoint.ts';
import type { ServiceRef } from '../../cluster/installation/service-ref.ts';
import { PHASES } from '../../judge/decision.ts';
import { MANAGED_LABELS } from '../../objects/managed-labels.ts';
import type { WebhookEntry } from '../../webhooks/entry.ts';
import { type Ownership, ownedByClusterRole } from '../cluster-role-owner.ts';
import { CONFLICT_PAUSE_MS } from '../controller.ts';
import { type DesiredFields, updateManaged } from '../managed-objects.ts';
import { limitRepairs } from '../repair-limit.ts';
import { desiredWebhooks, WARNING_WEBHOOK, warningWebhook } from './desired-webhooks.ts';
import { registeredVersions } from './registered-versions.ts';
import type { StoredConfigurations } from './stored-configurations.ts';
import { waitForService } from './wait-for-service.ts';

/** The configurations are watched. This repairs changes that the watch misses. */
const CHECK_AGAIN_MS = 60_000;

/** A decision takes less than a millisecond. A longer timeout would only delay updates of nodes while the webhook is unavailable. */
const WEBHOOK_TIMEOUT_SECONDS = 2;

export interface WebhookWriterOptions {
  readonly client: ApiClient;
  readonly service: ServiceRef;
  /** The name of this replica's pod. */
  readonly pod: string;
  /** Computes the CAs to register, PEM. Undefined: those of the system. */
  readonly mergeBundle: () => string | undefined;
  /**
   * Called before a `caBundle` is written. Throws if a CA would be removed because of outdated certificates.
   */
  readonly confirmBundle: (present: readonly string[], next: string | undefined) => Promise<void>;
  readonly stored: StoredConfigurations;
  /** Name of the ClusterRole that owns the configurations, if any. */
  readonly ownerClusterRole: string | undefined;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

export interface Needed {
  /** What the installed policies need. */
  readonly entries: readonly WebhookEntry[];
  /** Whether all policies could be read. Otherwise no registered webhook is removed. */
  readonly isComplete: boolean;
  /** The versions of the installed policies. */
  readonly versions: ReadonlySet<string>;
}

/** Writes both webhook configurations. */
export interface WebhookWriter {
  /**
   * Registers the webhooks that policies need, restores what other writers changed, and removes webhooks that no policy needs. It registers none before
   * the webhook answers over the Service (see {@link waitForService}).
   * @returns in how many milliseconds to run again
   */
  reconcile(needed: Needed): Promise<number>;
  /** Whether the API server calls the webhooks for this version of a policy, by the configurations as last read and written. */
  isRegistered(version: string): boolean;
  /** Why the API server may not call all webhooks after the last run. Undefined if it calls them. */
  problem(): string | undefined;
  /** Why the webhook was registered without a call over its Service, or undefined once such a call was answered. */
  unverified(): string | undefined;
  /** Calls the webhook over its Service, if it was registered without such a call. Throws nothing. */
  verify(): Promise<void>;
}

export function webhookWriter(options: WebhookWriterOptions): WebhookWriter {
  const { client, service, pod, mergeBundle, stored, signal, log } = options;
  const repairs = { mutate: limitRepairs(), validate: limitRepairs() };
  const registered = registeredVersions();
  let problem: string | undefined;
  let unverified: string | undefined;
  let ownership: Ownership | undefined;

  return {
    async reconcile(needed) {
      const faults: Error[] = [];
      const differences: string[] = [];
      const attempt = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
        try {
          return await work();
        } catch (error) {
          faults.push(error as Error);
          return undefined;
        }
      };
      try {
        await stored.read();
      } catch (error) {
        problem = (error as Error).message;
        throw error;
      }
      // Each time: a new installation creates another ClusterRole of that name.
      ownership = (await attempt(() => ownedByClusterRole(client, options.ownerClusterRole))) ?? ownership;
      const waits: number[] = [];
      for (const phase of phasesInOrder(stored)) {
        await attempt(async () => {
          const bundle = mergeBundle();
          const webhooks = webhooksOf(phase, needed, bundle);
          // Without the one that only warns, policies are enforced.
          const enforcing = webhooks.filter(({ name }) => name !== WARNING_WEBHOOK);
          try {
            waits.push(await apply(phase, webhooks, bundle));
          } finally {
            const isRegistered = registered.observe(phase, stored.get(phase), {
              versions: needed.versions,
              webhooks: enforcing,
            });
            if (!isRegistered) differences.push(difference(phase));
          }
        });
      }
      const [fault] = faults;
      problem = fault?.message ?? differences[0];
      if (fault) throw fault;
      return Math.min(CHECK_AGAIN_MS, ...waits);
    },
    isRegistered: registered.has,
    problem: () => problem,
    unverified: () => unverified,
    async verify() {
      if (unverified === undefined) return;
      try {
        await callOverService(client, service, mergeBundle(), signal);
      } catch {
        // What it was registered with still holds.
        return;
      }
      unverified = undefined;
      log.info('the webhook answers over its Service');
    },
  };

  function webhooksOf(phase: ConfigurationPhase, { entries, isComplete }: Needed, bundle: string | undefined) {
    const at = { service, bundle };
    const webhooks = [
      ...desiredWebhooks(entries, phase, { ...at, timeoutSeconds: WEBHOOK_TIMEOUT_SECONDS }),
      ...(phase === 'validate' && entries.length > 0 ? [warningWebhook(at)] : []),
    ];
    return isComplete ? webhooks : [...webhooks, ...others(phase, webhooks, bundle)];
  }

  /** The other registered webhooks that call our Service, with the present CAs. */
  function others(phase: ConfigurationPhase, webhooks: readonly Webhook[], bundle: string | undefined): Webhook[] {
    const known = new Set(webhooks.map(({ name }) => name));
    return (stored.get(phase)?.webhooks ?? [])
      .filter(({ name, clientConfig }) => !known.has(name) && clientConfig.service && isOurs(clientConfig.service))
      .map((webhook) => ({
        ...webhook,
        clientConfig: {
          ...webhook.clientConfig,
          ...caBundleFields(bundle),
        },
      }));
  }

  /** @returns in how many milliseconds to run again */
  async function apply(
    phase: ConfigurationPhase,
    webhooks: readonly Webhook[],
    bundle: string | undefined,
  ): Promise<number> {
    const { kind } = CONFIGURATIONS[phase];
    const found = stored.get(phase);
    const limit = repairs[phase];
    const desired = { metadata: { labels: LABELS, ...ownership }, webhooks };
    if (webhooks.length === 0) return found ? remove(phase, found) : CHECK_AGAIN_MS;
    if (!found) return create(phase, desired, bundle);
    const { object, waitMs } = await updateManaged(found, desired, {
      client,
      path: configurationPath(phase),
      title: kind,
      limit,
      log: log.child({ webhooks: names(webhooks) }),
      confirm: () => options.confirmBundle(caBundlesOf(found), bundle),
      otherWriter: () => otherWriter(found),
    });
    stored.written(phase, object);
    return waitMs ?? CHECK_AGAIN_MS;
  }

  /** @returns in how many milliseconds to run again */
  async function create(
    phase: ConfigurationPhase,
    desired: DesiredConfiguration,
    bundle: string | undefined,
  ): Promise<number> {
    const { kind, resource } = CONFIGURATIONS[phase];
    const why = await waitForService({ client, service, pod, bundle, signal });
    const body = {
      apiVersion: API_VERSION,
      kind,
      ...desired,
      metadata: { name: CONFIGURATION_NAME, ...desired.metadata },
    };
    let answer: WebhookConfiguration;
    try {
      answer = await client.request<WebhookConfiguration>('POST', `${ADMISSION_REGISTRATION}/${resource}`, { body });
    } catch (error) {
      // Another client has created it since it was read.
      if (isConflict(error)) return CONFLICT_PAUSE_MS;
      throw error;
    }
    stored.written(phase, answer);
    unverified = why;
    if (why) log.warn(`${kind}: registered without a call over the Service: ${why}`);
    repairs[phase].written(desired);
    log.info({ webhooks: names(desired.webhooks) }, `${kind} registered`);
    return CHECK_AGAIN_MS;
  }

  function difference(phase: ConfigurationPhase): string {
    const writer = otherWriter(stored.get(phase));
    return `another writer changes ${CONFIGURATIONS[phase].kind} ${CONFIGURATION_NAME}: ${writer}`;
  }

  function otherWriter({ webhooks = [] }: Pick<WebhookConfiguration, 'webhooks'> = {}): string {
    const other = webhooks.map(({ clientConfig }) => clientConfig.service).find((one) => one && !isOurs(one));
    return other
      ? `by the installation in namespace ${other.namespace}, of which there may be only one in a cluster`
      : 'see its managedFields';
  }

  function isOurs({ namespace, name }: { namespace: string; name: string }): boolean {
    return namespace === service.namespace && name === service.name;
  }

  /** @returns in how many milliseconds to run again */
  async function remove(phase: ConfigurationPhase, { metadata }: WebhookConfiguration): Promise<number> {
    const outcome = await deleteObject(client, configurationPath(phase), metadata);
    if (outcome === 'changed') return CONFLICT_PAUSE_MS;
    stored.written(phase, undefined);
    if (outcome === 'deleted') log.info(`${CONFIGURATIONS[phase].kind} removed: no policy needs it`);
    return CHECK_AGAIN_MS;
  }
}

/**
 * Existing configurations come first: while their caBundle is wrong, no replica may be ready. Then mutation comes before validation, because validation
 * denies what a missing mutation has not restored.
 */
function phasesInOrder(stored: StoredConfigurations): ConfigurationPhase[] {
  const isStored = (phase: ConfigurationPhase) => stored.get(phase) !== undefined;
  return [...PHASES.filter(isStored), ...PHASES.filter((phase) => !isStored(phase))];
}

interface DesiredConfiguration extends DesiredFields {
  readonly webhooks: readonly Webhook[];
}

const API_VERSION = 'admissionregistration.k8s.io/v1';
const LABELS = {
  ...MANAGED_LABELS,
  // AKS otherwise adds a namespaceSelector that leaves out kube-system, where the CNI's DaemonSets are.
  'admissions.enforcer/disabled': 'true',
};

function names(webhooks: readonly object[]): string[] {
  return webhooks.map((webhook) => (webhook as { name: string }).name);
}

import type { Logger } from 'pino';
import {
  ADMISSION_REGISTRATION_V1_PATH,
  CONFIGURATION_NAME,
  CONFIGURATIONS,
  type ConfigurationPhase,
  caBundlesOf,
  configurationPath,
  type Webhook,
  type WebhookConfiguration,
} from '../../cluster/admission-registration/webhook-configurations.ts';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { deleteObject } from '../../cluster/client/delete-object.ts';
import { findObject } from '../../cluster/client/find-object.ts';
import { isSameService, type ServiceRef } from '../../cluster/installation/service-ref.ts';
import { MANAGED_LABELS } from '../../objects/managed-labels.ts';
import { type Ownership, ownedByClusterRole } from '../cluster-role-owner.ts';
import { CONFLICT_PAUSE_MS } from '../controller.ts';
import { createManaged, DELETIONS_SEEN_IN, type DesiredFields, updateManaged } from '../managed-objects.ts';
import { limitRepairs } from '../repair-limit.ts';
import type { ServiceCheck } from './service-check.ts';
import type { StoredConfigurations } from './stored-configurations.ts';

export interface WebhookWriterOptions {
  readonly client: ApiClient;
  readonly service: ServiceRef;
  readonly serviceCheck: Pick<ServiceCheck, 'wait' | 'registered'>;
  /**
   * Called before a `caBundle` is written. Throws if a CA would be removed because of outdated certificates.
   */
  readonly confirmBundle: (present: readonly string[], next: string | undefined) => Promise<void>;
  readonly stored: StoredConfigurations;
  /** Name of the ClusterRole that owns the configurations, if any. */
  readonly ownerClusterRole: string | undefined;
  readonly log: Logger;
}

/** Writes the webhook configurations, and notes in {@link StoredConfigurations} what the API server answers. */
export interface WebhookWriter {
  /**
   * Reads the ClusterRole that owns the configurations. If that fails, the last owner that was read stays.
   * @throws ApiError
   */
  readOwner(): Promise<void>;
  /**
   * Gives the configuration of the phase these webhooks. Without webhooks, it deletes the configuration. It creates none before the webhook answers over the Service
   * (see {@link ServiceCheck}).
   * @param bundle the CAs of the webhooks, PEM
   * @returns in how many milliseconds to run again; undefined if that is not needed
   * @throws ApiError, Error
   */
  write(
    phase: ConfigurationPhase,
    webhooks: readonly Webhook[],
    bundle: string | undefined,
  ): Promise<number | undefined>;
  /** Notes that the stored configuration does not have the webhooks that were written. @returns that problem */
  differs(phase: ConfigurationPhase): string;
  /** The problem that another writer changes webhooks again and again. Undefined if none does. */
  conflict(): string | undefined;
}

export function webhookWriter(options: WebhookWriterOptions): WebhookWriter {
  const { client, service, serviceCheck, stored, log } = options;
  const repairs = { mutate: limitRepairs(), validate: limitRepairs() };
  let ownership: Ownership | undefined;

  return {
    async readOwner() {
      ownership = await ownedByClusterRole(client, options.ownerClusterRole);
    },
    async write(phase, webhooks, bundle) {
      const found = stored.get(phase);
      const desired = { metadata: { labels: LABELS, ...ownership }, webhooks };
      if (webhooks.length === 0) {
        // A policy that needs them later repairs nothing.
        repairs[phase] = limitRepairs();
        return found ? remove(phase, found) : undefined;
      }
      if (!found) return create(phase, desired, bundle);
      const { object, waitMs } = await updateManaged(found, desired, {
        client,
        path: configurationPath(phase),
        title: CONFIGURATIONS[phase].kind,
        limit: repairs[phase],
        log: log.child({ webhooks: names(webhooks) }),
        confirm: () => options.confirmBundle(caBundlesOf(found), bundle),
        otherWriter: () => otherWriter(found),
      });
      stored.written(phase, object);
      return waitMs;
    },
    differs(phase) {
      const found = stored.get(phase);
      const done = found ? 'changes' : 'deletes';
      const writer = found ? otherWriter(found) : DELETIONS_SEEN_IN;
      const problem = `another writer ${done} ${CONFIGURATIONS[phase].kind} ${CONFIGURATION_NAME}: ${writer}`;
      repairs[phase].differs(problem);
      return problem;
    },
    conflict: () => repairs.mutate.conflict() ?? repairs.validate.conflict(),
  };

  async function create(
    phase: ConfigurationPhase,
    desired: DesiredConfiguration,
    bundle: string | undefined,
  ): Promise<number | undefined> {
    const { kind, resource } = CONFIGURATIONS[phase];
    let unverified: string | undefined;
    const created = await createManaged<WebhookConfiguration>(desired, {
      client,
      collection: `${ADMISSION_REGISTRATION_V1_PATH}/${resource}`,
      body: { apiVersion: API_VERSION, kind, ...desired, metadata: { name: CONFIGURATION_NAME, ...desired.metadata } },
      title: kind,
      limit: repairs[phase],
      log: log.child({ webhooks: names(desired.webhooks) }),
      confirm: async () => {
        unverified = await serviceCheck.wait(bundle);
      },
    });
    if (!created) {
      // Another client has created it since it was read.
      stored.written(phase, await findObject<WebhookConfiguration>(client, configurationPath(phase)));
      return CONFLICT_PAUSE_MS;
    }
    if (created.written) {
      stored.written(phase, created.object);
      serviceCheck.registered(kind, unverified);
    }
    return created.waitMs;
  }

  async function remove(phase: ConfigurationPhase, { metadata }: WebhookConfiguration): Promise<number | undefined> {
    const outcome = await deleteObject(client, configurationPath(phase), metadata);
    if (outcome === 'changed') return CONFLICT_PAUSE_MS;
    stored.written(phase, undefined);
    if (outcome === 'deleted') log.info(`${CONFIGURATIONS[phase].kind} removed: no policy needs it`);
    return undefined;
  }

  function otherWriter({ webhooks = [] }: Pick<WebhookConfiguration, 'webhooks'>): string {
    const services = webhooks.flatMap(({ clientConfig }) => clientConfig.service ?? []);
    const other = services.find((one) => !isSameService(one, service));
    return other
      ? `by the installation in namespace ${other.namespace}, of which there may be only one in a cluster`
      : 'see its managedFields';
  }
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

function names(webhooks: readonly Webhook[]): string[] {
  return webhooks.map(({ name }) => name);
}

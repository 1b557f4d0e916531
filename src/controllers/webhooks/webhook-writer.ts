import type { Logger } from 'pino';
import { deleteObject } from '../../cluster/client/delete-object.ts';
import { callOverService } from '../../cluster/service-endpoint.ts';
import {
  ADMISSION_REGISTRATION,
  CONFIGURATION_NAME,
  CONFIGURATIONS,
  type ConfigurationPhase,
  caBundlesOf,
  type Webhook,
  type WebhookConfiguration,
} from '../../cluster/webhook-configurations.ts';
import { PHASES } from '../../judge/decision.ts';
import { MANAGED_LABELS } from '../../objects/object-meta.ts';
import type { WebhookEntry } from '../../webhooks/entry.ts';
import { CONFLICT_PAUSE_MS } from '../controller.ts';
import { limitRepairs, type Ownership, ownedByClusterRole, updateManaged } from '../managed-objects.ts';
import { desiredWebhooks, warningWebhook } from './desired-webhooks.ts';
import { type ServiceWait, waitForService } from './wait-for-service.ts';

/** The configurations are watched. This repairs changes that the watch misses. */
const CHECK_AGAIN_MS = 60_000;

/** A decision takes less than a millisecond. A longer timeout would only delay updates of nodes while the webhook is unavailable. */
const WEBHOOK_TIMEOUT_SECONDS = 2;

export interface WebhookWriterOptions extends ServiceWait {
  /**
   * Called before a `caBundle` is written. Throws if a CA would be removed because of outdated certificates.
   */
  readonly confirmBundle: (present: readonly string[], next: string | undefined) => Promise<void>;
  /** The configuration as the watch has it. */
  readonly actual: (phase: ConfigurationPhase) => WebhookConfiguration | undefined;
  /** Name of the ClusterRole that owns the configurations, if any. */
  readonly ownerClusterRole: string | undefined;
  readonly log: Logger;
}

export interface Needed {
  /** What the installed policies need. */
  readonly entries: readonly WebhookEntry[];
  /** Whether all policies could be read. Otherwise no registered webhook is removed. */
  readonly isComplete: boolean;
}

/** Writes both webhook configurations. */
export interface WebhookWriter {
  /**
   * Registers the webhooks that policies need, restores what other writers changed, and removes webhooks that no policy needs. It registers none before
   * the webhook answers over the Service (see {@link waitForService}).
   * @returns in how many milliseconds to run again
   */
  reconcile(needed: Needed): Promise<number>;
  /** Why the last run failed, or undefined if it did not. */
  complaint(): string | undefined;
  /** Why the webhook was registered without a call over its Service, or undefined once such a call was answered. */
  unverified(): string | undefined;
  /** Calls the webhook over its Service, if it was registered without such a call. Throws nothing. */
  verify(): Promise<void>;
}

export function webhookWriter(options: WebhookWriterOptions): WebhookWriter {
  const { client, service, bundle, actual, log } = options;
  const repairs = { mutate: limitRepairs(), validate: limitRepairs() };
  let complaint: string | undefined;
  let unverified: string | undefined;
  let ownership: Ownership | undefined;

  return {
    async reconcile(needed) {
      const faults: Error[] = [];
      const attempt = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
        try {
          return await work();
        } catch (error) {
          faults.push(error as Error);
          return undefined;
        }
      };
      // Each time: a new installation creates another ClusterRole of that name.
      ownership = (await attempt(() => ownedByClusterRole(client, options.ownerClusterRole))) ?? ownership;
      // Existing configurations first: while their caBundle is wrong, no replica may be ready. Then mutation before validation, which denies what a
      // missing mutation has not restored.
      const waits = [
        ...(await applyAll(PHASES.filter((phase) => actual(phase)))),
        ...(await applyAll(PHASES.filter((phase) => !actual(phase)))),
      ];
      const [fault] = faults;
      complaint = fault?.message;
      if (fault) throw fault;
      return Math.min(CHECK_AGAIN_MS, ...waits);

      async function applyAll(phases: readonly ConfigurationPhase[]): Promise<number[]> {
        const found: number[] = [];
        for (const phase of phases) {
          const waitMs = await attempt(() => apply(phase, webhooksOf(phase, needed)));
          if (waitMs !== undefined) found.push(waitMs);
        }
        return found;
      }
    },
    complaint: () => complaint,
    unverified: () => unverified,
    async verify() {
      if (unverified === undefined) return;
      try {
        await callOverService(client, service, bundle(), options.signal);
      } catch {
        // What it was registered with still holds.
        return;
      }
      unverified = undefined;
      log.info('the webhook answers over its Service');
    },
  };

  function webhooksOf(phase: ConfigurationPhase, { entries, isComplete }: Needed) {
    const at = { service, bundle: bundle() };
    const webhooks = [
      ...desiredWebhooks(entries, phase, { ...at, timeoutSeconds: WEBHOOK_TIMEOUT_SECONDS }),
      ...(phase === 'validate' && entries.length > 0 ? [warningWebhook(at)] : []),
    ];
    return isComplete ? webhooks : [...webhooks, ...others(phase, webhooks)];
  }

  /** The other registered webhooks that call our Service, with the present CAs. */
  function others(phase: ConfigurationPhase, webhooks: readonly Webhook[]): Webhook[] {
    const known = new Set(webhooks.map(({ name }) => name));
    const caBundle = bundle();
    return (actual(phase)?.webhooks ?? [])
      .filter(({ name, clientConfig }) => !known.has(name) && clientConfig.service && isOurs(clientConfig.service))
      .map((webhook) => ({
        ...webhook,
        clientConfig: {
          ...webhook.clientConfig,
          ...(caBundle === undefined ? {} : { caBundle: Buffer.from(caBundle).toString('base64') }),
        },
      }));
  }

  /** @returns in how many milliseconds to run again */
  async function apply(phase: ConfigurationPhase, webhooks: readonly Webhook[]): Promise<number> {
    const { kind, resource } = CONFIGURATIONS[phase];
    const path = `${ADMISSION_REGISTRATION}/${resource}`;
    const found = actual(phase);
    const limit = repairs[phase];
    const desired = { metadata: { labels: LABELS, ...ownership }, webhooks };
    if (webhooks.length === 0) {
      return found ? remove(kind, `${path}/${CONFIGURATION_NAME}`, found) : CHECK_AGAIN_MS;
    }
    if (!found) {
      unverified = await waitForService(options);
      if (unverified) log.warn(`${kind}: registered without a call over the Service: ${unverified}`);
      const metadata = { name: CONFIGURATION_NAME, ...desired.metadata };
      await client.request('POST', path, { body: { apiVersion: API_VERSION, kind, metadata, webhooks } });
      limit.written(desired);
      log.info({ webhooks: names(webhooks) }, `${kind} registered`);
      return CHECK_AGAIN_MS;
    }
    const { waitMs } = await updateManaged(found, desired, {
      client,
      path: `${path}/${CONFIGURATION_NAME}`,
      title: kind,
      limit,
      log: log.child({ webhooks: names(webhooks) }),
      confirm: () => options.confirmBundle(caBundlesOf(found), bundle()),
      otherWriter: () => otherWriter(found),
    });
    return waitMs ?? CHECK_AGAIN_MS;
  }

  function otherWriter({ webhooks = [] }: WebhookConfiguration): string {
    const other = webhooks.map(({ clientConfig }) => clientConfig.service).find((one) => one && !isOurs(one));
    return other
      ? `by the installation in namespace ${other.namespace}, of which there may be only one in a cluster`
      : 'see its managedFields';
  }

  function isOurs({ namespace, name }: { namespace: string; name: string }): boolean {
    return namespace === service.namespace && name === service.name;
  }

  /** @returns in how many milliseconds to run again */
  async function remove(kind: string, path: string, found: WebhookConfiguration): Promise<number> {
    const outcome = await deleteObject(client, path, found.metadata);
    if (outcome === 'deleted') log.info(`${kind} removed: no policy needs it`);
    return outcome === 'changed' ? CONFLICT_PAUSE_MS : CHECK_AGAIN_MS;
  }
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

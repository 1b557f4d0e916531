import type { Logger } from 'pino';
import type { ApiClient } from '../cluster/client/api-client.ts';
import { ApiError } from '../cluster/client/api-error.ts';
import {
  ADMISSION_REGISTRATION,
  CONFIGURATION_NAME,
  CONFIGURATIONS,
  type ConfigurationPhase,
  type WebhookConfiguration,
} from '../cluster/webhook-configurations.ts';
import type { WebhookEntry } from '../policy/webhook-entries.ts';
import { covers, desiredWebhooks } from './desired-webhooks.ts';
import { knowsMatchConditions, withoutConditions } from './match-conditions.ts';
import { callOverService, type ServiceRef } from './service-endpoint.ts';

/** The configurations are watched; this repairs what a watch may miss. */
const LOOK_AGAIN_MS = 60_000;

/** An answer is on its way through the API server for so long at most; see the timeouts in design and operating guide. */
const WEBHOOK_TIMEOUT_SECONDS = 2;

export interface RegistrationOptions {
  readonly client: ApiClient;
  readonly service: ServiceRef;
  /** What the installed policies need. */
  readonly entries: () => readonly WebhookEntry[];
  /** The CAs that the API server has to trust, PEM; undefined where only somebody else knows. */
  readonly bundle: () => string | undefined;
  /** As last seen. */
  readonly actual: (phase: ConfigurationPhase) => WebhookConfiguration | undefined;
  /**
   * Name of the ClusterRole that the configurations go with when it is deleted, if any. An owner in a namespace would not do:
   * garbage collection takes such a reference of a cluster-scoped object for a broken one.
   */
  readonly ownerClusterRole: string | undefined;
  readonly log: Logger;
}

/** The leader's care for both webhook configurations. */
export interface Registration {
  /**
   * One run: no policy, no webhook; never one before the webhook answers over the Service; and whatever somebody else changed
   * is put right. Gives the time until the next look, in milliseconds.
   */
  reconcile(): Promise<number>;
  /** Why the API server does not call what the policies need, or undefined if it does. */
  notRegistered(): string | undefined;
}

export function webhookRegistration(options: RegistrationOptions): Registration {
  const { client, service, bundle, actual, log } = options;
  let complaint: string | undefined;
  /** Undefined until the API server was asked. */
  let conditions: boolean | undefined;

  return {
    async reconcile() {
      try {
        conditions ??= await askForConditions();
        const ownership = await findOwner();
        // Mutation first: validation refuses what a missing mutation has not restored.
        for (const phase of PHASES) await settle(phase, desired(phase), ownership);
        complaint = undefined;
      } catch (error) {
        complaint = (error as Error).message;
        throw error;
      }
      return LOOK_AGAIN_MS;
    },
    notRegistered: () =>
      PHASES.every((phase) => covers(actual(phase)?.webhooks ?? [], desired(phase)))
        ? undefined
        : (complaint ?? 'the webhook configurations are being written'),
  };

  function desired(phase: ConfigurationPhase) {
    const entries = conditions === false ? withoutConditions(options.entries()) : options.entries();
    return desiredWebhooks(entries, phase, { service, bundle: bundle(), timeoutSeconds: WEBHOOK_TIMEOUT_SECONDS });
  }

  async function askForConditions(): Promise<boolean> {
    const known = await knowsMatchConditions(client);
    if (!known)
      log.warn('the API server knows no matchConditions: it asks for every change of a node, and nothing fails closed');
    return known;
  }

  async function findOwner(): Promise<object> {
    if (options.ownerClusterRole === undefined) return {};
    const path = `/apis/rbac.authorization.k8s.io/v1/clusterroles/${options.ownerClusterRole}`;
    const { metadata } = await client.request<{ metadata: { name: string; uid: string } }>('GET', path);
    const { name, uid } = metadata;
    return { ownerReferences: [{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name, uid }] };
  }

  async function settle(phase: ConfigurationPhase, webhooks: readonly object[], ownership: object): Promise<void> {
    const { kind, resource } = CONFIGURATIONS[phase];
    const path = `${ADMISSION_REGISTRATION}/${resource}`;
    const found = actual(phase);
    if (webhooks.length === 0) {
      if (found) await remove(kind, `${path}/${CONFIGURATION_NAME}`, found);
      return;
    }
    if (!found) {
      await callOverService(client, service, bundle());
      const metadata = { name: CONFIGURATION_NAME, labels: LABELS, ...ownership };
      await client.request('POST', path, { body: { apiVersion: API_VERSION, kind, metadata, webhooks } });
      log.info({ webhooks: names(webhooks) }, `${kind} registered`);
    } else if (!covers(found, { metadata: { labels: LABELS, ...ownership }, webhooks })) {
      const metadata = { ...found.metadata, labels: { ...found.metadata.labels, ...LABELS }, ...ownership };
      await client.request('PUT', `${path}/${CONFIGURATION_NAME}`, { body: { ...found, metadata, webhooks } });
      log.info({ webhooks: names(webhooks) }, `${kind} put right`);
    }
  }

  async function remove(kind: string, path: string, found: WebhookConfiguration): Promise<void> {
    const { uid, resourceVersion } = found.metadata;
    try {
      await client.request('DELETE', path, { body: { preconditions: { uid, resourceVersion } } });
      log.info(`${kind} removed: no policy needs it`);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) throw error;
    }
  }
}

const PHASES = ['mutate', 'validate'] as const;
const API_VERSION = 'admissionregistration.k8s.io/v1';
const LABELS = { 'app.kubernetes.io/managed-by': 'taintkeeper' };

function names(webhooks: readonly object[]): string[] {
  return webhooks.map((webhook) => (webhook as { name: string }).name);
}

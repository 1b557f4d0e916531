import type { Logger } from 'pino';
import { asDaemonSet, viewDaemonSet } from './admission/daemon-set-object.ts';
import { asNode, viewNode } from './admission/node-object.ts';
import type { CertificateKeeper } from './certs/certificate-keeper.ts';
import type { SecretRef } from './certs/certificate-secret.ts';
import type { SecretKeeper } from './certs/secret-keeper.ts';
import type { ApiClient } from './cluster/client/api-client.ts';
import type { ClusterPolicies } from './cluster/policies.ts';
import { watchResource } from './cluster/watch/watch-cache.ts';
import type { RegisteredWebhooks } from './cluster/webhook-configurations.ts';
import { certificateRotation } from './controllers/certificate-rotation.ts';
import { defaultPolicies } from './controllers/default-policies.ts';
import { policyStatus } from './controllers/policy-status.ts';
import { startReconciler } from './controllers/reconciler.ts';
import type { ServiceRef } from './controllers/service-endpoint.ts';
import { webhookRegistration } from './controllers/webhook-registration.ts';
import type { Policy } from './policy/policy.ts';
import { type WebhookEntry, webhookEntries } from './policy/webhook-entries.ts';
import type { Metrics } from './server/metrics.ts';

/** Least time between two looks at all nodes and DaemonSets for the policies' status, in milliseconds. */
const STATUS_PAUSE_MS = 5_000;

/** The API server compiles every expression that is written: policies that change together are one write. */
const POLICIES_SETTLE_MS = 200;

export interface LeaderOptions {
  /** Writes only while this process leads. */
  readonly client: ApiClient;
  readonly namespace: string;
  readonly service: ServiceRef;
  readonly audit: boolean;
  readonly policies: ClusterPolicies;
  readonly webhooks: RegisteredWebhooks;
  readonly certificates: CertificateKeeper;
  /** The certificates once more where they are in a Secret, and so taintkeeper's to look after. */
  readonly secret:
    | { readonly keeper: SecretKeeper; readonly ref: SecretRef; readonly names: readonly string[] }
    | undefined;
  readonly caOverlapMs: number;
  /** Name of the ConfigMap with default policies, if there is one. */
  readonly defaultPolicies: string | undefined;
  /** Name of the ClusterRole that the webhook configurations go with, if any. */
  readonly ownerClusterRole: string | undefined;
  readonly metrics: Metrics;
  readonly log: Logger;
}

export type Dependency = 'policies' | 'webhooks' | 'certificates';

export interface LeaderWork {
  /** Something that the work depends on has changed. */
  changed(what: Dependency): void;
  /** Ends all of it, once the runs in progress have. */
  stop(): Promise<void>;
}

/** Starts the controllers: what must be done once in a cluster, by the leader. */
export function startLeaderWork(options: LeaderOptions): LeaderWork {
  const { client, namespace, service, audit, policies, webhooks, certificates, secret, metrics, log } = options;
  const controller = (name: string, reconcile: () => Promise<number | undefined>, pauseMs = 0) =>
    startReconciler({ name, reconcile, log, pauseMs, onResult: (result) => metrics.reconciled(name, result) });

  const nodes = watchResource({
    client,
    path: '/api/v1/nodes',
    project: (object) => viewNode(asNode(object, []), ''),
    onChange: () => status.trigger(),
    onState: ({ connected }) => metrics.watchState('nodes', connected),
    log,
  });
  const daemonSets = watchResource({
    client,
    path: '/apis/apps/v1/daemonsets',
    project: (object) => viewDaemonSet(asDaemonSet(object, []), namespaceOf(object), ''),
    onChange: () => status.trigger(),
    onState: ({ connected }) => metrics.watchState('daemonsets', connected),
    log,
  });
  const synced = Promise.all([nodes.synced, daemonSets.synced]);
  // Asked for below; until then nobody listens.
  synced.catch(() => {});

  const { reconcile: register, notRegistered } = webhookRegistration({
    client,
    service,
    entries: compileOnce(policies.valid, audit, log),
    bundle: () => certificates.current().bundle,
    actual: webhooks.get,
    ownerClusterRole: options.ownerClusterRole,
    log,
  });
  const writeStatus = policyStatus({
    client,
    objects: policies.objects,
    compiled: policies.compiled,
    nodes: () => Array.from(nodes.entries(), ({ value }) => value),
    daemonSets: () => Array.from(daemonSets.entries(), ({ value }) => value),
    notRegistered,
  });

  const registration = controller('webhook-registration', register);
  const status = controller('policy-status', () => synced.then(writeStatus), STATUS_PAUSE_MS);
  const rotation = secret
    ? controller(
        'certificate-rotation',
        certificateRotation({ client, ...secret, overlapMs: options.caOverlapMs, caBundles: webhooks.caBundles, log }),
      )
    : undefined;
  const defaults = options.defaultPolicies
    ? controller('default-policies', defaultPolicies({ client, namespace, configMap: options.defaultPolicies, log }))
    : undefined;

  return {
    changed(what) {
      registration.trigger(what === 'policies' ? POLICIES_SETTLE_MS : 0);
      if (what !== 'certificates') status.trigger();
      if (what !== 'policies') rotation?.trigger();
    },
    async stop() {
      await Promise.all([nodes.stop(), daemonSets.stop()]);
      await Promise.all([registration, status, rotation, defaults].map((one) => one?.stop()));
    },
  };
}

/** The webhooks that the policies need. Compiling hundreds of policies takes a good part of a second: once for each change. */
function compileOnce(valid: () => readonly Policy[], audit: boolean, log: Logger): () => readonly WebhookEntry[] {
  let policies: readonly Policy[] | undefined;
  let entries: readonly WebhookEntry[] = [];
  return () => {
    if (policies !== valid()) {
      policies = valid();
      entries = webhookEntries(policies, { audit });
      for (const { name, widened } of entries) {
        if (widened) log.warn(`webhook ${name} is called for more requests than necessary: ${widened}`);
      }
    }
    return entries;
  };
}

function namespaceOf(object: unknown): string {
  return (object as { metadata: { namespace?: string } }).metadata.namespace ?? '';
}

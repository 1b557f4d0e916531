import type { Logger } from 'pino';
import type { CertificateKeeper } from './certs/certificate-keeper.ts';
import { fingerprints } from './certs/inspect.ts';
import { readSecret, type SecretRef } from './cluster/certificate-secret.ts';
import type { ApiClient } from './cluster/client/api-client.ts';
import { type ClusterPolicies, versionInForce } from './cluster/policies.ts';
import type { SecretKeeper } from './cluster/secret-keeper.ts';
import type { ServiceRef } from './cluster/service-endpoint.ts';
import { watchResource } from './cluster/watch/watch-cache.ts';
import type { RegisteredWebhooks } from './cluster/webhook-configurations.ts';
import { backstop } from './controllers/backstop/backstop-controller.ts';
import { carriedCas } from './controllers/certificates/carried-cas.ts';
import { certificateRotation } from './controllers/certificates/certificate-rotation.ts';
import { startDaemonSetPatching } from './controllers/daemon-sets/daemon-set-patching.ts';
import { startNodeRepair } from './controllers/nodes/node-repair.ts';
import { startPodRecovery } from './controllers/recovery/pod-recovery.ts';
import { replicaSpread } from './controllers/replicas/replica-spread.ts';
import { roleOwnership } from './controllers/replicas/role-ownership.ts';
import { type ClusterSurvey, isNews, projectDaemonSet, projectNode } from './controllers/sources.ts';
import { defaultPolicies } from './controllers/status/default-policies.ts';
import { permissions } from './controllers/status/permissions.ts';
import { policyStatus } from './controllers/status/status-writer.ts';
import { followPolicies } from './controllers/webhooks/followed-entries.ts';
import { webhookRegistration } from './controllers/webhooks/webhook-registration.ts';
import type { RecordedEvent } from './kubernetes/event.ts';
import { translate } from './native/translate.ts';
import { startReconciler } from './runtime/work-queue.ts';
import type { LeaderMetrics } from './server/metrics.ts';

/** Least time between two looks at all nodes and DaemonSets for the policies' status, in milliseconds. */
const STATUS_PAUSE_MS = 5_000;

/** A Node is 30-60 KB, of which little is kept: what is read of a page at once is most of what a leader needs of memory. */
const NODES_PER_PAGE = 25;

/** The API server compiles every expression that is written: policies that change together are one write. */
const POLICIES_SETTLE_MS = 200;

export interface LeaderOptions {
  /** Aborted when this process leads no longer: nothing waits for anything then. */
  readonly signal: AbortSignal;
  /** Writes only while this process leads. */
  readonly client: ApiClient;
  readonly namespace: string;
  /** The name of this replica's pod. */
  readonly identity: string;
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
  /** How many nodes a second get a taint that evicts pods, in each zone. */
  readonly evictionRate: number;
  readonly record: (event: RecordedEvent) => void;
  readonly metrics: LeaderMetrics;
  readonly log: Logger;
}

export type Dependency = 'policies' | 'status' | 'webhooks' | 'certificates';

export interface LeaderWork {
  readonly survey: ClusterSurvey;
  /** Something that the work depends on has changed. */
  changed(what: Dependency): void;
  /** Ends all of it, once the runs in progress have. */
  stop(): Promise<void>;
}

/** Starts the controllers: what must be done once in a cluster, by the leader. */
export function startLeaderWork(options: LeaderOptions): LeaderWork {
  const { client, namespace, service, audit, policies, webhooks, certificates, secret, record, metrics, log } = options;
  const controller = (name: string, reconcile: () => Promise<number | undefined>, pauseMs = 0) =>
    startReconciler({ name, reconcile, log, pauseMs, onResult: (result) => metrics.reconciled(name, result) });

  const nodes = watchResource({
    client,
    path: '/api/v1/nodes',
    pageSize: NODES_PER_PAGE,
    project: projectNode,
    onChange(change) {
      const { entry } = change;
      if (isNews(change)) observed();
      nodeRepair.nodeChanged(entry.name);
      patching.changed();
      recovery.nodeChanged(entry.name);
    },
    onState: ({ connected }) => metrics.watchState('nodes', connected),
    log,
  });
  const daemonSets = watchResource({
    client,
    path: '/apis/apps/v1/daemonsets',
    project: projectDaemonSet,
    onChange({ entry }) {
      observed();
      patching.changed();
      recovery.daemonSetChanged(entry.namespace, entry.name);
    },
    onState: ({ connected }) => metrics.watchState('daemonsets', connected),
    log,
  });
  let isSynced = false;
  const synced = Promise.all([nodes.synced, daemonSets.synced]).then(() => {
    isSynced = true;
  });
  // Asked for below; until then nobody listens.
  synced.catch(() => {});
  let revision = 0;
  const observed = () => {
    revision++;
    status.trigger();
  };

  const surroundings = {
    client,
    namespace,
    nodes,
    daemonSets,
    synced,
    compiled: () => policies.snapshot().compiled,
    record,
    metrics,
    onTroubles: observed,
    log,
  };
  const rights = permissions({
    client,
    objects: policies.objects,
    audit,
    onChange() {
      patching.changed();
      recovery.policiesChanged();
      backing.trigger();
      status.trigger();
    },
    log,
  });
  const nodeRepair = startNodeRepair({
    ...surroundings,
    isComplete: () => policies.isComplete('TaintPolicy'),
    audit,
    evictionRate: options.evictionRate,
  });
  const patching = startDaemonSetPatching({ ...surroundings, mayPatch: () => rights.permits('patchDaemonSets') });
  const recovery = startPodRecovery({
    ...surroundings,
    permits: rights.permits,
    onFindings: () => status.trigger(),
  });

  const carried = carriedCas({ registered: webhooks.caBundles, overlapMs: options.caOverlapMs, now: client.now });
  const entries = followPolicies(policies.snapshot, audit, log);
  const {
    reconcile: register,
    complaint,
    unverified,
  } = webhookRegistration({
    client,
    service,
    pod: options.identity,
    signal: options.signal,
    entries: entries.current,
    bundle: () => (secret ? certificates.current().bundle : carried.bundle(certificates.current().bundle)),
    confirmBundle: secret ? bundleConfirmation(client, secret) : async () => {},
    actual: webhooks.get,
    isComplete: () => policies.objects().every(({ inForce }) => inForce !== undefined),
    ownerClusterRole: options.ownerClusterRole,
    log,
  });
  /** Which versions of policies the registered webhooks are for. */
  let registered: ReadonlySet<string> = new Set();
  const attempted = Promise.withResolvers<void>();
  const registration = startReconciler({
    name: 'webhook-registration',
    async reconcile() {
      try {
        const againInMs = await register();
        registered = entries.from().versions;
        const dueInMs = Math.min(againInMs, carried.dueInMs());
        return entries.from() === policies.snapshot() ? dueInMs : Math.min(dueInMs, entries.dueInMs());
      } catch (error) {
        if (!webhooks.get('mutate') && !webhooks.get('validate')) registered = new Set();
        throw error;
      }
    },
    log,
    onResult(result) {
      metrics.reconciled('webhook-registration', result);
      attempted.resolve();
      status.trigger();
    },
  });

  const natives = backstop({
    client,
    mayWrite: () => rights.permits('nativePolicies'),
    objects: policies.objects,
    audit,
    namespace,
    ownerClusterRole: options.ownerClusterRole,
    translate,
    log,
  });
  const backing = startReconciler({
    name: 'backstop',
    reconcile: natives.reconcile,
    log,
    onResult(result) {
      metrics.reconciled('backstop', result);
      status.trigger();
    },
  });

  const writeStatus = policyStatus({
    client,
    objects: policies.objects,
    compiled: () => policies.snapshot().compiled,
    audit,
    nodes: () => Array.from(nodes.entries(), ({ value }) => value),
    // Those beside taintkeeper itself are never sent to it.
    daemonSets: () =>
      Array.from(daemonSets.entries(), ({ value }) => value).filter((daemonSet) => daemonSet.namespace !== namespace),
    stuckPods: recovery.stuckPods,
    standing(policy) {
      // Where writing fails, the webhooks that are there stay in force.
      if (registered.has(versionInForce(policy) ?? '')) return 'registered';
      const fault = complaint();
      return fault === undefined ? 'pending' : { fault };
    },
    unverified,
    backstop: natives.condition,
    evicting: ({ kind, name }) => (kind === 'TaintPolicy' ? nodeRepair.evicting(name) : undefined),
    troubles: () => [rights, nodeRepair, patching, recovery, natives].flatMap((one) => one.troubles()),
    metrics,
  });
  const status = controller(
    'policy-status',
    () => Promise.all([synced, attempted.promise]).then(writeStatus),
    STATUS_PAUSE_MS,
  );
  const permitting = controller('permissions', rights.reconcile);
  const rotation = secret
    ? controller(
        'certificate-rotation',
        certificateRotation({ client, ...secret, overlapMs: options.caOverlapMs, caBundles: webhooks.caBundles, log }),
      )
    : undefined;
  const spread = controller(
    'replica-spread',
    replicaSpread({ client, service, self: options.identity, nodes, synced, log }),
  );
  const defaults = options.defaultPolicies
    ? controller('default-policies', defaultPolicies({ client, namespace, configMap: options.defaultPolicies, log }))
    : undefined;

  const { ownerClusterRole: clusterRole } = options;
  const ownership = clusterRole
    ? controller('role-ownership', roleOwnership({ client, clusterRole, namespace, log }))
    : undefined;

  return {
    survey: {
      isSynced: () => isSynced,
      revision: () => revision,
      nodes: () => Array.from(nodes.entries(), ({ value }) => value),
      daemonSets: () => Array.from(daemonSets.entries(), ({ value }) => value),
      isContested: nodeRepair.isContested,
    },
    changed(what) {
      switch (what) {
        case 'policies':
          revision++;
          permitting.trigger();
          nodeRepair.policiesChanged();
          patching.changed();
          recovery.policiesChanged();
          backing.trigger(POLICIES_SETTLE_MS);
          // The policies' status follows the registration.
          return registration.trigger(Math.max(POLICIES_SETTLE_MS, entries.dueInMs()));
        case 'status':
          return status.trigger();
        case 'webhooks':
        case 'certificates':
          registration.trigger();
          rotation?.trigger();
      }
    },
    async stop() {
      // First, so that nothing begins any more, and what fails now is no failure.
      const controllers = [
        ...[permitting, registration, backing, status, ownership],
        ...[nodeRepair, patching, recovery, rotation, defaults, spread],
      ];
      const ended = Promise.all(controllers.map((one) => one?.stop()));
      attempted.resolve();
      await Promise.all([nodes.stop(), daemonSets.stop()]);
      for (const resource of ['nodes', 'daemonsets']) metrics.watchEnded(resource);
      await ended;
      metrics.leadershipEnded();
    },
  };
}

/**
 * A leader that has not heard of the Secret for a while may know less than the one before: a CA leaves a `caBundle` only on the
 * word of the Secret as it is now.
 */
function bundleConfirmation(client: ApiClient, { keeper, ref }: NonNullable<LeaderOptions['secret']>) {
  return async (present: readonly string[], next: string | undefined) => {
    const staying = new Set(fingerprints(next ?? ''));
    if (present.flatMap(fingerprints).every((one) => staying.has(one))) return;
    const { resourceVersion } = await readSecret(client, ref);
    if (resourceVersion !== keeper.stored().resourceVersion) {
      throw new Error(
        `Secret ${ref.namespace}/${ref.name} is newer than what is known of it: no CA is taken out of a caBundle`,
      );
    }
  };
}

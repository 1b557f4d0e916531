import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient, UserClient } from '../cluster/client/api-client.ts';
import { type ClusterNode, projectDaemonSet, projectNode } from '../cluster/cluster-objects.ts';
import { holderOf, leaseStore } from '../cluster/lease/lease.ts';
import { concernsUs, listPools, type PoolApi, servedPoolApis } from '../cluster/node-pools.ts';
import { listPolicies } from '../cluster/policies.ts';
import { undefinedKinds } from '../cluster/policy-definitions.ts';
import type { PolicyObject } from '../cluster/policy-object.ts';
import { POLICY_KINDS } from '../cluster/policy-paths.ts';
import { listObjects } from '../cluster/watch/list-pages.ts';
import { ADMISSION_REGISTRATION, CONFIGURATIONS } from '../cluster/webhook-configurations.ts';
import type { NodePool } from '../coverage/node-pool.ts';
import { isNowhere } from '../coverage/replica-spread.ts';
import { readBuiltinPolicies } from '../files/builtin-policies.ts';
import { parsePolicies } from '../files/policy-files.ts';
import type { DaemonSetView } from '../judge/daemon-set-view.ts';
import { NODE_METADATA_POLICY } from '../native/node-metadata.ts';
import type { PodObject } from '../objects/pod-object.ts';
import { MIRROR_ANNOTATION } from '../objects/workload-object.ts';
import type { Policy, PolicyKind } from '../policy/policy.ts';
import type { PolicyStatus } from '../policy/policy-status.ts';
import { type ApiServer, askApiServers } from './api-servers.ts';
import type { Installation } from './installation.ts';
import { known, look, mapped, type Reading, read } from './reading.ts';
import { type RightsReview, reviewRights } from './rights.ts';
import { type Admission, sendTrial, type Trial, trialFor, withoutStatus } from './trial.ts';

/** A node as the leader sees it, and the fields that only checks read. */
export interface DoctorNode extends ClusterNode {
  /** The names in `status.images` of images that no registry has. By default a kubelet reports its 50 largest images. */
  readonly loadedImages?: readonly string[];
  /** `status.nodeInfo.kubeletVersion`, such as `v1.36.3`. Empty until the kubelet reports it. */
  readonly kubeletVersion: string;
  /** The message of its condition Ready, unless that is True. */
  readonly notReady?: string;
}

/** A webhook of a Mutating- or ValidatingWebhookConfiguration. The API server has filled in all defaults. */
export interface RegisteredWebhook {
  readonly name: string;
  readonly clientConfig?: {
    readonly service?: { readonly namespace: string; readonly name: string };
    readonly url?: string;
  };
  readonly rules?: readonly WebhookRule[] | null;
  readonly failurePolicy?: string;
  readonly timeoutSeconds?: number;
  readonly objectSelector?: object | null;
  readonly matchConditions?: readonly unknown[] | null;
}

export interface WebhookRule {
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  readonly resources?: readonly string[];
  readonly operations?: readonly string[];
  readonly scope?: string;
}

export interface RegisteredConfiguration {
  readonly resource: 'mutatingwebhookconfigurations' | 'validatingwebhookconfigurations';
  readonly name: string;
  readonly webhooks: readonly RegisteredWebhook[];
}

/** The Lease, watched for some seconds. A Lease that changes is renewed, whatever the clocks say. */
export interface LeaseWatch {
  /** Undefined: there is no Lease. '': its holder released it. */
  readonly holder: string | undefined;
  readonly renewed: boolean;
  /** By the holder's clock. */
  readonly renewTime: string | undefined;
  readonly watchedSeconds: number;
}

/** Node pools of autoscalers. */
export interface NodePoolFacts {
  /** The APIs that are installed and have nodes in this cluster. */
  readonly apis: readonly PoolApi[];
  readonly pools: readonly NodePool[];
}

/** An API server that runs as a static pod. */
export interface ApiServerPod {
  readonly node: string;
  /** Whether kubeadm set it up. */
  readonly kubeadm: boolean;
}

/** Policies, the objects that they select, and what enforces them. */
export interface ClusterFacts {
  readonly policies: Reading<readonly PolicyObject[]>;
  /** The kinds of policies without a CustomResourceDefinition. */
  readonly undefinedKinds: Reading<readonly PolicyKind[]>;
  /** The policies that the program contains. */
  readonly builtin: readonly Policy[];
  readonly nodes: Reading<readonly DoctorNode[]>;
  readonly daemonSets: Reading<readonly DaemonSetView[]>;
  readonly nodePools: Reading<NodePoolFacts>;
  /** The ValidatingAdmissionPolicy that protects the annotation allow-removal of nodes, and its binding. Undefined for one that is missing. */
  readonly metadataProtection: Reading<readonly ({ readonly spec?: unknown } | undefined)[]>;
  /** All webhook configurations of the cluster. */
  readonly configurations: Reading<readonly RegisteredConfiguration[]>;
  readonly rights: Reading<RightsReview>;
  readonly lease: Reading<LeaseWatch>;
  /** The API servers that run as static pods. */
  readonly apiServerPods: Reading<readonly ApiServerPod[]>;
  /** `gitVersion` of the API server. */
  readonly version: Reading<string>;
  /** The API server's metrics, in Prometheus' text format. */
  readonly metrics: Reading<string>;
  /** What became of a dry-run request that the webhook should answer. */
  readonly admission: Reading<Admission>;
  /** The same for each API server at its own address. Empty if there is one only, or nothing to try. */
  readonly apiServers: Reading<readonly ApiServer[]>;
}

/** The leader writes a status within 5 s: `PAUSE_MS` of its status writer, in src/controllers/status/. */
const STATUS_PAUSE_MS = 6_000;

/** Reads the policies and all that they are about. A failed read is part of the result, and nothing is thrown. */
export async function gatherCluster(client: UserClient, installation: Installation): Promise<ClusterFacts> {
  const listed = read(() =>
    listObjects(client, '/api/v1/nodes', (node) => ({ view: viewDoctorNode(node), spec: withoutStatus(node) })),
  );
  const nodes = listed.then((known) => mapped(known, ({ view }) => view));
  const missing = read(() => undefinedKinds(client));
  const policies = missing.then((kinds) => read(() => policiesWithStatus(client, kinds.ok ? kinds.value : [])));
  const tried = Promise.all([policies, listed]).then(async ([listedPolicies, found]) => {
    const nodes = mapped(found, ({ spec }) => spec);
    return tryAdmission(client, await trialFor(client, installation.namespace, { policies: listedPolicies, nodes }));
  });
  const metadataProtection = read(() =>
    Promise.all(
      ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'].map((resource) =>
        look<{ readonly spec?: unknown }>(client, `${ADMISSION_REGISTRATION}/${resource}/${NODE_METADATA_POLICY}`),
      ),
    ),
  );
  const [builtin, daemonSets, nodePools, configurations, rights, lease, apiServerPods, version, metrics] =
    await Promise.all([
      readBuiltinPolicies(),
      read(() => listObjects(client, '/apis/apps/v1/daemonsets', projectDaemonSet)),
      nodes.then((known) => read(() => gatherNodePools(client, known.ok ? known.value : []))),
      read(() => listConfigurations(client)),
      read(() => reviewRights(client, installation)),
      read(() => watchLease(client, installation)),
      read(() => listApiServerPods(client)),
      read(async () => (await client.request<{ gitVersion: string }>('GET', '/version')).gitVersion),
      read(() => client.request<string>('GET', '/metrics', { accept: 'text/plain' })),
    ]);
  return {
    builtin: parsePolicies(builtin),
    policies: await policies,
    undefinedKinds: await missing,
    nodes: await nodes,
    daemonSets,
    nodePools,
    metadataProtection: await metadataProtection,
    configurations,
    rights,
    lease,
    apiServerPods,
    version,
    metrics,
    ...(await tried),
  };
}

async function tryAdmission(
  client: UserClient,
  trial: Reading<Trial | undefined>,
): Promise<Pick<ClusterFacts, 'admission' | 'apiServers'>> {
  if (!trial.ok) return { admission: trial, apiServers: trial };
  if (!trial.value) return { admission: known({ outcome: 'nothing to try' }), apiServers: known([]) };
  const [admission, apiServers] = await Promise.all([
    sendTrial(client, trial.value),
    askApiServers(client, trial.value),
  ]);
  return { admission, apiServers };
}

/** kubeadm writes it into the manifest of the API server. */
const KUBEADM_ANNOTATION = 'kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint';

/**
 * The API servers among the mirrors of static pods, by the labels that kubeadm and Talos give them.
 * @throws ApiError, Error
 */
async function listApiServerPods(client: ApiClient): Promise<ApiServerPod[]> {
  const pods = await listObjects(client, '/api/v1/namespaces/kube-system/pods', (object) => object as PodObject, {
    labelSelector: 'tier=control-plane',
  });
  return pods.flatMap(({ metadata: { labels = {}, annotations = {} }, spec }) => {
    const isApiServer = [labels.component, labels['k8s-app']].includes('kube-apiserver');
    if (!isApiServer || annotations[MIRROR_ANNOTATION] === undefined || !spec?.nodeName) return [];
    return [{ node: spec.nodeName, kubeadm: annotations[KUBEADM_ANNOTATION] !== undefined }];
  });
}

/** @throws ApiError, Error */
async function gatherNodePools(client: ApiClient, nodes: readonly DoctorNode[]): Promise<NodePoolFacts> {
  const clusters = new Set(nodes.flatMap(({ machineCluster }) => machineCluster ?? []));
  const apis = (await servedPoolApis(client)).filter((api) => concernsUs(api, clusters));
  const pools = await Promise.all(apis.map((api) => listPools(client, api, clusters)));
  return { apis, pools: pools.flat() };
}

/**
 * The policies. If the status of one may be out of date, they are read once more after a pause: it is older than the spec, or counts objects that
 * differ, which the leader may have repaired since.
 */
export async function policiesWithStatus(
  client: ApiClient,
  missing: readonly PolicyKind[],
  { pauseMs = STATUS_PAUSE_MS } = {},
): Promise<PolicyObject[]> {
  // Of none of them: the error says so.
  const kinds =
    missing.length < POLICY_KINDS.length ? POLICY_KINDS.filter((kind) => !missing.includes(kind)) : POLICY_KINDS;
  const policies = await listPolicies(client, kinds);
  if (policies.every(isSettled)) return policies;
  await delay(pauseMs);
  return listPolicies(client, kinds);
}

function isSettled({ status, generation }: PolicyObject): boolean {
  const { observedGeneration, violating = 0 } = (status ?? {}) as PolicyStatus;
  return observedGeneration === generation && violating === 0;
}

async function listConfigurations(client: ApiClient): Promise<RegisteredConfiguration[]> {
  const lists = Object.values(CONFIGURATIONS).map(({ resource }) =>
    listObjects(client, `${ADMISSION_REGISTRATION}/${resource}`, (object): RegisteredConfiguration => {
      const { metadata, webhooks } = object as {
        metadata: { name: string };
        webhooks?: readonly RegisteredWebhook[] | null;
      };
      return { resource, name: metadata.name, webhooks: webhooks ?? [] };
    }),
  );
  return (await Promise.all(lists)).flat();
}

function viewDoctorNode(object: unknown): DoctorNode {
  const { status } = object as {
    status?: {
      nodeInfo?: { kubeletVersion?: string };
      images?: readonly { names?: readonly string[] | null }[] | null;
      conditions?: readonly { type: string; status: string; message?: string }[] | null;
    };
  };
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return {
    ...projectNode(object),
    ...(ready && ready.status !== 'True' ? { notReady: ready.message ?? '' } : {}),
    kubeletVersion: status?.nodeInfo?.kubeletVersion ?? '',
    loadedImages: (status?.images ?? []).flatMap(({ names }) => names ?? []).filter(isNowhere),
  };
}

/** Three times the renewal period of a leader, so that a single lost answer does not count. */
const WATCH_MS = 6_000;
const POLL_MS = 250;
const REQUEST_TIMEOUT_MS = 3_000;

/**
 * Reads the Lease until its holder renews it, or for six seconds. A leader renews it every two.
 * @throws ApiError, Error
 */
export async function watchLease(
  client: ApiClient,
  { namespace, lease }: Pick<Installation, 'namespace' | 'lease'>,
  { watchMs = WATCH_MS } = {},
): Promise<LeaseWatch> {
  const store = leaseStore(client, namespace, lease);
  const started = performance.now();
  const look = () => store.read({ timeoutMs: REQUEST_TIMEOUT_MS, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
  const first = await look();
  for (;;) {
    const now = await look();
    const changed = now !== undefined && now.metadata.resourceVersion !== first?.metadata.resourceVersion;
    const renewed = changed && holderOf(now) !== undefined;
    const watchedMs = performance.now() - started;
    if (renewed || watchedMs > watchMs) {
      return {
        holder: now && (holderOf(now) ?? ''),
        renewed,
        renewTime: now?.spec?.renewTime,
        watchedSeconds: Math.round(watchedMs / 1_000),
      };
    }
    await delay(POLL_MS);
  }
}

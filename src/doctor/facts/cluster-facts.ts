import { ADMISSION_REGISTRATION } from '../../cluster/admission-registration/webhook-configurations.ts';
import type { ApiClient, UserClient } from '../../cluster/client/api-client.ts';
import { concernsUs, listPools, type PoolApi, servedPoolApis } from '../../cluster/nodes/node-pools.ts';
import { kindsWithoutDefinition } from '../../cluster/policies/policy-definitions.ts';
import { type PolicyObject, policiesInForce } from '../../cluster/policies/policy-object.ts';
import { whoAmI } from '../../cluster/rights/access-review.ts';
import { projectDaemonSet } from '../../cluster/watch/cluster-objects.ts';
import { listObjects } from '../../cluster/watch/list-pages.ts';
import { readBuiltinPolicies } from '../../files/builtin-policies.ts';
import { parsePolicies } from '../../files/policy-files.ts';
import type { DaemonSetView } from '../../judge/daemon-set-view.ts';
import { NODE_METADATA_POLICY } from '../../native/node-metadata.ts';
import type { NodePool } from '../../node-pools/node-pool.ts';
import type { PodObject } from '../../objects/pod-object.ts';
import { MIRROR_ANNOTATION } from '../../objects/pod-object.ts';
import type { Policy, PolicyKind } from '../../policy/policy.ts';
import { type ApiServer, askApiServers } from './api-servers.ts';
import { type DoctorNode, viewDoctorNode } from './doctor-node.ts';
import type { Installation } from './installation.ts';
import { policiesWithStatus } from './policies-with-status.ts';
import { all, known, mapped, type Reading, read, readObject } from './reading.ts';
import { listConfigurations, type RegisteredConfiguration } from './registered-webhooks.ts';
import { type RightsReview, reviewRights } from './rights-review.ts';
import { type Admission, sendTrial } from './send-trial.ts';
import { findTrial, type NodeLike, type Trial, withoutStatus } from './trial.ts';
import { type LeaseWatch, watchLease } from './watch-lease.ts';

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
  readonly kindsWithoutDefinition: Reading<readonly PolicyKind[]>;
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

/** Reads the policies and all that they are about. A failed read is part of the result, and nothing is thrown. */
export async function gatherCluster(client: UserClient, installation: Installation): Promise<ClusterFacts> {
  const listed = read(() =>
    listObjects(client, '/api/v1/nodes', (node) => ({ view: viewDoctorNode(node), spec: withoutStatus(node) })),
  );
  const nodes = listed.then((reading) => mapped(reading, ({ view }) => view));
  const withoutDefinition = read(() => kindsWithoutDefinition(client));
  const policies = withoutDefinition.then((kinds) =>
    read(() => policiesWithStatus(client, kinds.ok ? kinds.value : [])),
  );
  const tried = Promise.all([policies, listed]).then(async ([policies, listedNodes]) => {
    const nodes = mapped(listedNodes, ({ spec }) => spec);
    return tryAdmission(client, await trialFor(client, installation.namespace, { policies, nodes }));
  });
  const metadataProtection = read(() =>
    Promise.all(
      ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'].map((resource) =>
        readObject<{ readonly spec?: unknown }>(
          client,
          `${ADMISSION_REGISTRATION}/${resource}/${NODE_METADATA_POLICY}`,
        ),
      ),
    ),
  );
  const [builtin, daemonSets, nodePools, configurations, rights, lease, apiServerPods, version, metrics] =
    await Promise.all([
      readBuiltinPolicies(),
      read(() => listObjects(client, '/apis/apps/v1/daemonsets', projectDaemonSet)),
      nodes.then((reading) => read(() => gatherNodePools(client, reading.ok ? reading.value : []))),
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
    kindsWithoutDefinition: await withoutDefinition,
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

/** Finds a {@link Trial} in the objects of the cluster. */
async function trialFor(
  client: ApiClient,
  namespace: string,
  cluster: { readonly policies: Reading<readonly PolicyObject[]>; readonly nodes: Reading<readonly NodeLike[]> },
): Promise<Reading<Trial | undefined>> {
  const material = all({ ...cluster, requester: await read(() => whoAmI(client)) });
  if (!material.ok) return material;
  const { policies, nodes, requester } = material.value;
  return known(findTrial({ policies: policiesInForce(policies), nodes, requester, namespace }));
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

import { ADMISSION_REGISTRATION_V1_PATH } from '../../cluster/admission-registration/webhook-configurations.ts';
import type { ApiClient, UserClient } from '../../cluster/client/api-client.ts';
import { listObjects } from '../../cluster/list/list-objects.ts';
import { projectDaemonSet } from '../../cluster/objects/cluster-objects.ts';
import { readKindsWithoutDefinition } from '../../cluster/policies/policy-definitions.ts';
import type { PolicyObject } from '../../cluster/policies/policy-object.ts';
import { readBuiltinPolicies } from '../../files/builtin-policies.ts';
import { parsePolicies } from '../../files/policy-files.ts';
import type { DaemonSetView } from '../../judge/daemon-set-view.ts';
import { NODE_METADATA_POLICY } from '../../native/node-metadata.ts';
import type { Policy, PolicyKind } from '../../policy/policy.ts';
import { type ApiServerPod, listApiServerPods } from './api-server-pods.ts';
import { type DoctorNode, viewDoctorNode } from './doctor-node.ts';
import type { Installation } from './installation.ts';
import { gatherNodePools, type NodePoolFacts } from './node-pool-facts.ts';
import { policiesWithStatus } from './policies-with-status.ts';
import { mapped, type Reading, read, readObject } from './reading.ts';
import { listConfigurations, type RegisteredConfiguration } from './registered-webhooks.ts';
import { type RightsReview, reviewRights } from './rights-review.ts';
import { withoutStatus } from './trial.ts';
import { gatherTrial, type TrialFacts } from './trial-facts.ts';
import { type LeaseWatch, watchLease } from './watch-lease.ts';

/** An object with its spec as it is stored. */
export interface StoredSpec {
  readonly spec?: unknown;
}

/** A ValidatingAdmissionPolicy and its binding. Undefined for one that is missing. */
export interface MetadataProtection {
  readonly policy: StoredSpec | undefined;
  readonly binding: StoredSpec | undefined;
}

/** Policies, the objects that they select, and what enforces them. */
export interface ClusterFacts extends TrialFacts {
  readonly policies: Reading<readonly PolicyObject[]>;
  /** The kinds of policies without a CustomResourceDefinition. */
  readonly kindsWithoutDefinition: Reading<readonly PolicyKind[]>;
  /** The policies that the program contains. */
  readonly builtin: readonly Policy[];
  readonly nodes: Reading<readonly DoctorNode[]>;
  readonly daemonSets: Reading<readonly DaemonSetView[]>;
  readonly nodePools: Reading<NodePoolFacts>;
  /** What protects the annotation allow-removal of nodes. */
  readonly metadataProtection: Reading<MetadataProtection>;
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
}

/**
 * Reads the policies and all that they are about. A failed read is part of the result.
 * @throws Error only for a fault of the program, such as in the choice of the trial
 */
export async function gatherCluster(client: UserClient, installation: Installation): Promise<ClusterFacts> {
  const listed = read(() =>
    listObjects(client, '/api/v1/nodes', (node) => ({ view: viewDoctorNode(node), spec: withoutStatus(node) })),
  );
  const nodes = listed.then((reading) => mapped(reading, ({ view }) => view));
  const withoutDefinition = read(() => readKindsWithoutDefinition(client));
  const policies = withoutDefinition.then((kinds) =>
    read(() => policiesWithStatus(client, kinds.ok ? kinds.value : [])),
  );
  const trial = Promise.all([policies, listed]).then(async ([policies, listedNodes]) => {
    const nodes = mapped(listedNodes, ({ spec }) => spec);
    return gatherTrial(client, installation.namespace, { policies, nodes });
  });
  const metadataProtection = read(() => readMetadataProtection(client));
  const [builtin, daemonSets, nodePools, configurations, rights, lease, apiServerPods, version, metrics, tried] =
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
      // Awaited here, because an error before anything awaits it would end the process.
      trial,
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
    ...tried,
  };
}

/** @throws ApiError, Error */
async function readMetadataProtection(client: ApiClient): Promise<MetadataProtection> {
  const stored = (resource: string) =>
    readObject<StoredSpec>(client, `${ADMISSION_REGISTRATION_V1_PATH}/${resource}/${NODE_METADATA_POLICY}`);
  const [policy, binding] = await Promise.all([
    stored('validatingadmissionpolicies'),
    stored('validatingadmissionpolicybindings'),
  ]);
  return { policy, binding };
}

import type { NodePool } from '../../node-pools/node-pool.ts';
import { viewKarpenterPool } from '../../objects/karpenter-pool.ts';
import { viewMachinePool } from '../../objects/machine-pool.ts';
import type { OptionalRight } from '../../policy/required-rights.ts';
import type { ApiClient } from '../client/api-client.ts';
import { findApi } from '../client/find-object.ts';
import { listObjects } from '../list/list-objects.ts';
import { howToGrant, OPTIONAL_RIGHTS } from '../rights/rights.ts';

/** An API whose objects are node pools, in the version that is read. */
export interface PoolApi {
  /** The rights to list them. The group and the resources are the API's. */
  readonly right: Extract<OptionalRight, 'listNodePools' | 'listMachineDeployments'>;
  readonly version: string;
}

/** The readable versions, the best first: v1beta2 of Cluster API has taints. */
const READ_VERSIONS = {
  listNodePools: ['v1'],
  listMachineDeployments: ['v1beta2', 'v1beta1'],
} as const satisfies Record<PoolApi['right'], readonly string[]>;
const RIGHTS = Object.keys(READ_VERSIONS) as PoolApi['right'][];

const PRODUCTS = { listNodePools: 'Karpenter', listMachineDeployments: 'Cluster API' } as const;

/**
 * Which of these APIs the API server serves. Every user may ask that. A list would be refused to a user without the right even if the resource does
 * not exist.
 * @throws ApiError, Error
 */
export async function servedPoolApis(client: ApiClient): Promise<PoolApi[]> {
  const found = await Promise.all(
    RIGHTS.map(async (right) => {
      const served = await groupVersions(client, OPTIONAL_RIGHTS[right].group);
      const version = READ_VERSIONS[right].find((one) => served.includes(one));
      return version === undefined ? [] : [{ right, version }];
    }),
  );
  return found.flat();
}

async function groupVersions(client: ApiClient, group: string): Promise<string[]> {
  const found = await findApi<{ versions?: { version: string }[] }>(client, `/apis/${group}`);
  return found?.versions?.map(({ version }) => version) ?? [];
}

/**
 * The pools of the API whose nodes an autoscaler starts in this cluster.
 * @param clusters NAMESPACE/NAME of the Clusters of Cluster API whose nodes are in this cluster
 * @throws ApiError, Error
 */
export async function listPools(
  client: ApiClient,
  { right, version }: PoolApi,
  clusters: ReadonlySet<string>,
): Promise<NodePool[]> {
  const { group, resources } = OPTIONAL_RIGHTS[right];
  const found = resources.map((resource) =>
    listObjects(client, `/apis/${group}/${version}/${resource}`, (object): NodePool | undefined => {
      if (right === 'listNodePools') return viewKarpenterPool(object);
      return viewMachinePool(resource === 'machinesets' ? 'MachineSet' : 'MachineDeployment', object, clusters);
    }),
  );
  return (await Promise.all(found)).flat().filter((pool) => pool !== undefined);
}

/** Whether the API can have pools of this cluster. Machines of other clusters do not count. */
export function concernsUs({ right }: PoolApi, clusters: ReadonlySet<string>): boolean {
  return right === 'listNodePools' || clusters.size > 0;
}

/** Why pools cannot be read, and who changes that. */
export function hiddenPoolsText({ right }: PoolApi): string {
  return `${PRODUCTS[right]} is installed, and taintkeeper may not ${OPTIONAL_RIGHTS[right].to}: ${howToGrant(right)}`;
}

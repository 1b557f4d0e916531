import type { ApiClient } from '../../cluster/client/api-client.ts';
import { concernsUs, listPools, type PoolApi, servedPoolApis } from '../../cluster/nodes/node-pools.ts';
import type { NodePool } from '../../node-pools/node-pool.ts';
import type { DoctorNode } from './doctor-node.ts';

/** Node pools of autoscalers. */
export interface NodePoolFacts {
  /** The APIs that are installed and have nodes in this cluster. */
  readonly apis: readonly PoolApi[];
  readonly pools: readonly NodePool[];
}

/** @throws ApiError, Error */
export async function gatherNodePools(client: ApiClient, nodes: readonly DoctorNode[]): Promise<NodePoolFacts> {
  const clusters = new Set(nodes.flatMap(({ machineCluster }) => machineCluster ?? []));
  const apis = (await servedPoolApis(client)).filter((api) => concernsUs(api, clusters));
  const pools = await Promise.all(apis.map((api) => listPools(client, api, clusters)));
  return { apis, pools: pools.flat() };
}

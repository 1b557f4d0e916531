import { MERGE_PATCH } from '../control-plane/content-types.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { succeeded } from '../control-plane/rest.ts';
import { admin } from '../control-plane/users.ts';
import { createNodes, createTaintPolicy } from '../e2e/drift.ts';
import { GPU, type Node, path, type Taint } from '../e2e/nodes.ts';

const KEPT: Taint = { key: 'example.com/kept', value: 'x', effect: 'NoSchedule' };

/** Nodes that share a policy, by the label `pool`. */
export interface Pool {
  /** Of the label, and of the policy. */
  readonly name: string;
  readonly nodes: readonly string[];
  readonly taints: readonly Taint[];
}

export interface Pools {
  /** Nobody removes its taints, by a policy in mode Deny that fails closed. */
  readonly deny: Pool;
  /** Its taints are restored, by a policy that fails open. */
  readonly restore: Pool;
  /** As `deny`, for what has nothing to do with the policy: labels, and taints of one's own. */
  readonly own: Pool;
}

const POLICIES = {
  deny: { mode: 'Deny', taints: [{ ...GPU, ensure: 'Always' }] },
  restore: {
    mode: 'Restore',
    taints: [
      { ...GPU, ensure: 'Always' },
      { ...KEPT, ensure: 'Always' },
    ],
  },
} as const;

/** How many nodes each pool has: so many that nobody removes the taints of one more than three times in ten minutes. */
const SIZES = { deny: 100, restore: 200, own: 100 } as const;

/** Creates policies and nodes. */
export async function createPools(cp: ControlPlane): Promise<Pools> {
  await createPolicies(cp);
  const pools: Pools = {
    deny: { name: 'deny', nodes: names('deny'), taints: [GPU] },
    restore: { name: 'restore', nodes: names('restore'), taints: [GPU, KEPT] },
    own: { name: 'deny', nodes: names('own'), taints: [GPU] },
  };
  for (const { name, nodes, taints } of Object.values(pools)) await createNodes(cp, nodes, name, taints);
  return pools;
}

/** Creates the policies of the pools. */
async function createPolicies(cp: ControlPlane): Promise<void> {
  for (const [name, spec] of Object.entries(POLICIES)) await createTaintPolicy(cp, name, spec);
}

/** The keys of the pool's taints that a node lacks. */
export function lacking({ taints }: Pool, node: Node): string[] {
  return taints.map(({ key }) => key).filter((key) => !node.spec.taints?.some((taint) => taint.key === key));
}

export async function listNodes(cp: ControlPlane): Promise<Node[]> {
  return (await succeeded(cp.request<{ items: Node[] }>(admin, 'GET', '/api/v1/nodes'))).items;
}

/** Gives a node the taints of its pool again, as an admin who puts right what was reported. */
export async function putRight(cp: ControlPlane, { taints }: Pool, node: string): Promise<void> {
  await cp.request(admin, 'PATCH', path(node), { body: { spec: { taints } }, contentType: MERGE_PATCH });
}

function names(pool: keyof typeof SIZES): string[] {
  return Array.from({ length: SIZES[pool] }, (_, index) => `${pool}-${index + 1}`);
}

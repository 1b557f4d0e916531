import type { ApiClient } from '../cluster/client/api-client.ts';
import { isForbidden, isNotServed } from '../cluster/client/api-error.ts';
import { listObjects } from '../cluster/list/list-objects.ts';
import type { ClusterNode } from '../cluster/objects/cluster-objects.ts';
import { listPolicies } from '../cluster/policies/policies.ts';
import { readKindsWithoutDefinition } from '../cluster/policies/policy-definitions.ts';
import { type PolicyObject, policiesInForce } from '../cluster/policies/policy-object.ts';
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';
import { compilePolicies } from '../policy/policy-set.ts';
import { type Leftover, readDaemonSet, readNode, startupTaintsOn } from './leftover.ts';
import { UnreadableStateError } from './unreadable-state-error.ts';

/** What taintkeeper left in a cluster. */
export interface Leftovers {
  /** Those with startup taints first, then other Nodes, then DaemonSets; in the API server's order. */
  readonly objects: readonly Leftover[];
  readonly unreadyNodes: readonly ClusterNode[];
  /** Whether the CustomResourceDefinition of TaintPolicies exists. Without it, startup taints of deleted policies are unknown. */
  readonly isDefined: boolean;
  /** The TaintPolicies in force. */
  readonly policies: readonly CompiledTaintPolicy[];
  /** The TaintPolicies that cannot be used: whether nodes carry startup taints of them is unknown. */
  readonly unusable: readonly PolicyObject[];
}

/** @throws UnreadableStateError if the user may not read the policies, ApiError, Error */
export async function findLeftovers(client: ApiClient): Promise<Leftovers> {
  const found = await readTaintPolicies(client);
  const objects = found ?? [];
  const policies = compilePolicies(policiesInForce(objects)).taintPolicies;
  const [nodes, daemonSets] = await Promise.all([
    listObjects(client, '/api/v1/nodes', (object) => readNode(object, policies)),
    listObjects(client, '/apis/apps/v1/daemonsets', readDaemonSet),
  ]);
  const candidates: readonly Leftover[] = [...nodes, ...daemonSets];
  const leftovers = candidates.filter((object) => object.annotations.length > 0 || startupTaintsOn(object).length > 0);
  return {
    isDefined: found !== undefined,
    policies,
    unusable: objects.filter(({ inForce }) => inForce === undefined),
    // Startup taints first: they keep pods from nodes.
    objects: leftovers.toSorted(
      (a, b) => Number(startupTaintsOn(b).length > 0) - Number(startupTaintsOn(a).length > 0),
    ),
    unreadyNodes: nodes.flatMap(({ value }) => (value.ready ? [] : [value])),
  };
}

/**
 * Undefined if the CustomResourceDefinition does not exist.
 * @throws UnreadableStateError if the user may not read the policies, ApiError, Error
 */
async function readTaintPolicies(client: ApiClient): Promise<PolicyObject[] | undefined> {
  try {
    return await listPolicies(client, ['TaintPolicy']);
  } catch (error) {
    if (!(isForbidden(error) || isNotServed(error))) throw error;
    // RBAC also refuses lists of kinds that are not served.
    if ((await readKindsWithoutDefinition(client)).includes('TaintPolicy')) return undefined;
    if (!isForbidden(error)) throw error;
    throw new UnreadableStateError('which startup taints are left', error);
  }
}

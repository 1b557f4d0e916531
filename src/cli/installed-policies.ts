import type { ApiClient } from '../cluster/client/api-client.ts';
import { isNotServed } from '../cluster/client/api-error.ts';
import { listPolicies } from '../cluster/policies/policies.ts';
import type { PolicyObject } from '../cluster/policies/policy-object.ts';
import { InputError } from '../files/input-error.ts';
import type { PolicyKind } from '../policy/policy.ts';

/**
 * The policies of these kinds in the cluster.
 * @throws InputError if taintkeeper is not installed, ApiError
 */
export async function installedPolicies(client: ApiClient, ...kinds: readonly PolicyKind[]): Promise<PolicyObject[]> {
  const lists = kinds.map(async (kind) => {
    const policies = await policiesIfInstalled(client, kind);
    if (policies !== undefined) return policies;
    throw new InputError([`the cluster has no ${pluralOf(kind)}: taintkeeper is not installed there`]);
  });
  return (await Promise.all(lists)).flat();
}

/** `TaintPolicies` for `TaintPolicy`. */
export function pluralOf(kind: PolicyKind): string {
  return kind.replace(/y$/, 'ies');
}

/**
 * The policies of a kind in the cluster. Undefined if taintkeeper is not installed.
 * @throws ApiError
 */
export async function policiesIfInstalled(client: ApiClient, kind: PolicyKind): Promise<PolicyObject[] | undefined> {
  try {
    return await listPolicies(client, [kind]);
  } catch (error) {
    if (isNotServed(error)) return undefined;
    throw error;
  }
}

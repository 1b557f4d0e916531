import type { PolicyObject } from '../../cluster/policies.ts';
import type { Policy } from '../../policy/policy.ts';

/** The policies that are in force, by kind and name as they came. */
export function validPolicies(objects: readonly PolicyObject[]): Policy[] {
  return objects.flatMap(({ inForce }) => inForce?.policy ?? []);
}

import { POLICY_API_GROUP, type PolicyKind } from '../../policy/policy.ts';
import type { ApiClient } from '../client/api-client.ts';
import { findApi } from '../client/find-object.ts';
import { POLICY_API_PATH, POLICY_KINDS, POLICY_RESOURCES } from './policy-paths.ts';

interface ApiGroups {
  readonly groups: readonly { readonly name: string }[];
}

/**
 * The kinds of policies whose CustomResourceDefinition does not exist, by discovery. A plain 404 of a list is no proof: a proxy answers with it, too.
 * @throws ApiError; Error for an answer that is no discovery document
 */
export async function readKindsWithoutDefinition(client: Pick<ApiClient, 'request'>): Promise<PolicyKind[]> {
  const found = await findApi<unknown>(client, POLICY_API_PATH);
  if (found !== undefined) return kindsMissingInGroup(found);
  return kindsOfMissingGroup(await client.request<unknown>('GET', '/apis'));
}

/** The kinds that the APIResourceList of the group does not have. @throws Error */
export function kindsMissingInGroup(resourceList: unknown): PolicyKind[] {
  const { resources } = (resourceList ?? {}) as { readonly resources?: unknown };
  if (!Array.isArray(resources)) throw new Error(`GET ${POLICY_API_PATH}: the answer is no discovery document`);
  const names = new Set(resources.map((resource: { readonly name?: unknown } | null) => resource?.name));
  return POLICY_KINDS.filter((kind) => !names.has(POLICY_RESOURCES[kind]));
}

/** All kinds, if the APIGroupList does not have the group. @throws Error if it has it: it is served, and the 404 came from elsewhere */
export function kindsOfMissingGroup(groupList: unknown): PolicyKind[] {
  const { groups } = (groupList ?? {}) as Partial<ApiGroups>;
  if (!Array.isArray(groups) || groups.some(({ name }) => name === POLICY_API_GROUP)) {
    throw new Error(`GET ${POLICY_API_PATH}: the answer is no discovery document`);
  }
  return [...POLICY_KINDS];
}

/** The name of the CustomResourceDefinition. */
export function definitionOf(kind: PolicyKind): string {
  return `${POLICY_RESOURCES[kind]}.${POLICY_API_GROUP}`;
}

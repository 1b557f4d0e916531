import type { ApiClient } from '../../cluster/client/api-client.ts';
import { ApiError } from '../../cluster/client/api-error.ts';
import type { PolicyObject } from '../../cluster/policies/policy-object.ts';
import type { PolicyKind } from '../../policy/policy.ts';
import { policiesIfInstalled } from '../installed-policies.ts';

/** The policies of a kind, for commands that also work without them. */
interface PoliciesOfKind {
  /** None if taintkeeper is not installed, or they could not be read. */
  readonly objects: readonly PolicyObject[];
  /** Why they could not be read. */
  readonly problem: string | undefined;
}

/** Reads the policies of a kind in the cluster. */
export async function policiesOfKind(client: ApiClient, kind: PolicyKind): Promise<PoliciesOfKind> {
  try {
    return { objects: (await policiesIfInstalled(client, kind)) ?? [], problem: undefined };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { objects: [], problem: error.message };
  }
}

import type { ApiClient } from '../../cluster/client/api-client.ts';
import { listPolicies } from '../../cluster/policies/policies.ts';
import type { PolicyObject } from '../../cluster/policies/policy-object.ts';
import { POLICY_KINDS } from '../../cluster/policies/policy-paths.ts';
import { STATUS_PAUSE_MS } from '../../controllers/status/status-controller.ts';
import type { PolicyKind } from '../../policy/policy.ts';
import type { PolicyStatus } from '../../policy/reporting/policy-status.ts';
import { pause } from '../../runtime/pause.ts';

/** The leader evaluates changed policies after its pause. The rest is for writing the status. */
const SETTLING_MS = STATUS_PAUSE_MS + 1_000;

/**
 * The policies. If the status of one may be out of date, they are read once more after a pause: it is older than the spec, or counts objects that
 * differ, which the leader may have repaired since.
 */
export async function policiesWithStatus(
  client: ApiClient,
  missing: readonly PolicyKind[],
  { pauseMs = SETTLING_MS } = {},
): Promise<PolicyObject[]> {
  // Of none of them: the error says so.
  const kinds =
    missing.length < POLICY_KINDS.length ? POLICY_KINDS.filter((kind) => !missing.includes(kind)) : POLICY_KINDS;
  const policies = await listPolicies(client, kinds);
  if (policies.every(isSettled)) return policies;
  await pause(pauseMs);
  return listPolicies(client, kinds);
}

function isSettled({ status, generation }: PolicyObject): boolean {
  const { observedGeneration, violating = 0 } = (status ?? {}) as PolicyStatus;
  return observedGeneration === generation && violating === 0;
}

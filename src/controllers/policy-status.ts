import { isDeepStrictEqual } from 'node:util';
import type { ApiClient } from '../cluster/client/api-client.ts';
import { ApiError } from '../cluster/client/api-error.ts';
import { POLICY_GROUP, POLICY_RESOURCES, type PolicyObject } from '../cluster/policies.ts';
import type { DaemonSetView } from '../policy/daemon-set.ts';
import type { NodeView } from '../policy/node.ts';
import { daemonSetFindings, nodeFindings } from '../policy/policy-findings.ts';
import type { PolicySet } from '../policy/policy-set.ts';
import { type Findings, nextPolicyStatus, type PolicyStatus } from '../policy/policy-status.ts';

export interface PolicyStatusOptions {
  readonly client: ApiClient;
  readonly objects: () => readonly PolicyObject[];
  readonly compiled: () => PolicySet;
  readonly nodes: () => Iterable<NodeView>;
  readonly daemonSets: () => Iterable<DaemonSetView>;
  /** Why the webhook is not called for what the policies need, or undefined if it is. */
  readonly notRegistered: () => string | undefined;
}

/** One run that writes the status of every policy whose status is no longer right. */
export function policyStatus(options: PolicyStatusOptions): () => Promise<undefined> {
  const { client, objects, compiled, nodes, daemonSets, notRegistered } = options;
  /** Of each policy all violators, by its uid; the status names only the first few. */
  const violators = new Map<string, readonly string[]>();

  return async () => {
    const nodeViews = [...nodes()];
    const daemonSetViews = [...daemonSets()];
    const { taintPolicies, tolerationPolicies } = compiled();
    const reason = notRegistered();
    for (const policy of objects()) {
      const before = policy.status as PolicyStatus | undefined;
      const findings = findingsOf(policy, violators.get(policy.uid) ?? before?.violators ?? []);
      violators.set(policy.uid, findings?.violators ?? []);
      const after = nextPolicyStatus({
        before,
        generation: policy.generation,
        problems: policy.result.ok ? [] : policy.result.problems,
        notRegistered: reason,
        findings,
        now: new Date(),
      });
      if (!isDeepStrictEqual(before, after)) await write(policy, after);
    }
    return undefined;

    function findingsOf({ kind, name }: PolicyObject, known: readonly string[]): Findings | undefined {
      if (kind === 'TaintPolicy') {
        const found = taintPolicies.find((policy) => policy.name === name);
        return found && nodeFindings(found, nodeViews, known);
      }
      const found = tolerationPolicies.find((policy) => policy.name === name);
      return found && daemonSetFindings(found, daemonSetViews, known);
    }
  };

  async function write({ kind, name, uid, resourceVersion }: PolicyObject, status: PolicyStatus): Promise<void> {
    try {
      await client.request('PATCH', `${POLICY_GROUP}/${POLICY_RESOURCES[kind]}/${name}/status`, {
        contentType: 'application/merge-patch+json',
        // Not onto another policy of the same name, nor over what another leader has written.
        body: { metadata: { uid, resourceVersion }, status },
      });
    } catch (error) {
      if (!(error instanceof ApiError && (error.status === 404 || error.status === 409))) throw error;
    }
  }
}

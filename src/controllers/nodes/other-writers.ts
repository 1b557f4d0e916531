import type { ApiClient } from '../../cluster/client/api-client.ts';
import { findObject } from '../../cluster/client/find-object.ts';
import { atMost } from '../../kubernetes/text.ts';
import { describeOwner, fieldOwner, type ManagedFields } from '../../objects/managed-fields.ts';
import type { StalledReason } from '../../policy/status-conditions.ts';
import type { ReportedProblem } from '../reports.ts';

// What is common to the problems with nodes that a policy reports.

/** Nodes or taints that a message names at most. */
const MAX_NAMED = 5;

interface NodeObject {
  readonly metadata: { readonly managedFields?: readonly ManagedFields[] };
}

/**
 * Who wrote the taints of the node last, taintkeeper left out, for people. Undefined where the node or the field does not exist: a field
 * that was removed has no owner.
 * @throws ApiError
 */
export async function otherWriterOf(client: Pick<ApiClient, 'request'>, name: string): Promise<string | undefined> {
  const node = await findObject<NodeObject>(client, `/api/v1/nodes/${name}`);
  const owner = node && fieldOwner(node.metadata.managedFields ?? [], ['spec', 'taints']);
  if (!owner) return undefined;
  // Events without times are equal, and counted as one.
  const { time: _, ...who } = owner;
  return describeOwner(who);
}

/** What concerns TaintPolicies, by name. */
export interface Concern {
  readonly policies: Iterable<string>;
  readonly text: string;
}

/** One problem for each policy, ordered by name. @param message from at most {@link MAX_NAMED} texts, and how many are left out */
export function problemsOf(
  concerns: readonly Concern[],
  reason: StalledReason,
  message: (texts: readonly string[]) => string,
): ReportedProblem[] {
  const byPolicy = Map.groupBy(
    concerns.flatMap(({ policies, text }) => Array.from(policies, (policy) => ({ policy, text }))),
    ({ policy }) => policy,
  );
  return [...byPolicy.keys()].sort().map((policy) => ({
    kind: 'TaintPolicy',
    policy,
    reason,
    message: message(
      atMost(
        MAX_NAMED,
        (byPolicy.get(policy) ?? []).map(({ text }) => text),
      ),
    ),
  }));
}

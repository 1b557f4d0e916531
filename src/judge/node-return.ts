import type { StringMap } from '../kubernetes/label-selector.ts';
import { type Machine, sameMachine } from '../kubernetes/machine.ts';
import type { Taint } from '../kubernetes/taint.ts';
import { selectingPolicies } from '../policy/policy-index.ts';
import { type CompiledTaintPolicy, ONCE_ESTABLISHED } from '../policy/policy-set.ts';
import { isKept, type NodeRecord } from './node-record.ts';
import type { RetainedTaint } from './node-view.ts';

/**
 * What a node that comes back is to carry again, each taint once for each policy that retains it, with the value that was recorded. A
 * kubelet that starts tries to register its node also where that is still there: before its deletion was seen, there is nothing to report.
 */
export function retainedTaints(
  { machine, taints, deletedAt }: NodeRecord,
  node: { readonly labels: StringMap; readonly machine: Machine },
  policies: readonly CompiledTaintPolicy[],
  now: number,
): RetainedTaint[] {
  const isSame = sameMachine(machine, node.machine);
  return selectingPolicies(policies, node.labels).flatMap((policy) =>
    taints.filter(isKept).flatMap((recorded) => {
      const { key, value, effect, earlierDeletedAt: since = deletedAt } = recorded;
      const isReported = since !== undefined || policy.mode !== 'Audit';
      const field = retainedBy(recorded, policy, now - (since ?? now), isSame);
      return isReported && field !== undefined ? [{ policy, field, taint: { key, value, effect } }] : [];
    }),
  );
}

/**
 * The field by which the policy gives the taint back to a Node that registers so long after the deletion of the one before it. Undefined where
 * the policy does not give it back.
 */
export function retainedBy(
  taint: Taint,
  { deletedNodeRetentionMs, removalRestrictedBy }: CompiledTaintPolicy,
  ageMs: number,
  isSame: boolean,
): string | undefined {
  const isRetained = deletedNodeRetentionMs !== undefined && ageMs < deletedNodeRetentionMs && isSame;
  return isRetained ? removalRestrictedBy(taint, ONCE_ESTABLISHED) : undefined;
}

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
  return selectingPolicies(policies, node.labels)
    .filter(({ deletedNodeRetentionMs }) => deletedNodeRetentionMs !== undefined)
    .flatMap((policy) =>
      taints.filter(isKept).flatMap((recorded) => {
        const { key, value, effect, earlierDeletedAt: since = deletedAt } = recorded;
        const isReported = since !== undefined || policy.mode !== 'Audit';
        if (!isReported || !isRetained(recorded, policy, now - (since ?? now), isSame)) return [];
        return {
          policy,
          field: policy.removalRestrictedBy(recorded, ONCE_ESTABLISHED) ?? '',
          taint: { key, value, effect },
        };
      }),
    );
}

/** Whether the policy gives the taint back to a Node that registers so long after the deletion of the one before it. */
export function isRetained(
  taint: Taint,
  { deletedNodeRetentionMs, removalRestrictedBy }: CompiledTaintPolicy,
  ageMs: number,
  isSame: boolean,
): boolean {
  return (
    deletedNodeRetentionMs !== undefined &&
    ageMs < deletedNodeRetentionMs &&
    isSame &&
    removalRestrictedBy(taint, ONCE_ESTABLISHED) !== undefined
  );
}

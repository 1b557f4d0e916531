import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { isEnforcedWithoutAudit } from '../../policy/enforcement.ts';
import { byName } from '../../policy/policy-set.ts';

type Policies = readonly CompiledTaintPolicy[];

/** The most policies of one node that are compared. */
const MAX_TOGETHER = 32;
/** The most lists of policies that are compared. A cluster has one for each kind of node, but users who may label nodes could cause more. */
const MAX_LISTS = 1_000;

/** The companions of a policy with startup taints that wait: the other policies whose taints some of its nodes get, too. */
export interface Companions {
  /** Adds the policies that select a node. Each list object is read once. */
  add(selecting: Policies): void;
  /** By name. */
  of(policy: CompiledTaintPolicy): Policies;
}

export function collectCompanions(): Companions {
  const seen = new Set<Policies>();
  const found = new Map<CompiledTaintPolicy, Set<CompiledTaintPolicy>>();
  return {
    add(selecting) {
      if (seen.has(selecting) || seen.size === MAX_LISTS) return;
      seen.add(selecting);
      const together = selecting.filter(setsTaints).slice(0, MAX_TOGETHER);
      for (const policy of together) {
        if (policy.untilReady.length === 0) continue;
        const companions = found.get(policy) ?? new Set();
        found.set(policy, companions);
        for (const other of together) if (other !== policy) companions.add(other);
      }
    },
    of: (policy) => [...(found.get(policy) ?? [])].sort(byName),
  };
}

/** Whether nodes get taints of the policy that they may carry while a startup taint waits. */
function setsTaints(policy: CompiledTaintPolicy): boolean {
  return isEnforcedWithoutAudit(policy) && policy.untilReady.length + policy.required.length > 0;
}

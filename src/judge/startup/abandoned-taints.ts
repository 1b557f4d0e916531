import type { Taint } from '../../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { isRemovalAllowed, parseAllowedRemovals } from '../allow-removal.ts';
import { allAllowRemovalByAnnotation, domainProtectors, POLICY_GONE_MS } from '../ended-startup-taints.ts';
import type { StoredNode } from '../node-view.ts';
import type { RemovableTaint } from './removable-taint.ts';
import { ownTaint, type StartupRequirement } from './startup-requirement.ts';

/** A startup taint that the leader has seen on a node, by a policy. */
export interface TrackedTaint {
  readonly requirement: StartupRequirement;
  /** Since when no policy declares it on the node, in milliseconds of the monotonic clock. Undefined while one does. */
  readonly undeclaredSince: number | undefined;
}

/** A startup taint on the node that no policy declares any more. */
export interface UndeclaredTaint extends TrackedTaint {
  readonly undeclaredSince: number;
  /** As the node carries it. */
  readonly taint: Taint;
  /** See {@link domainProtectors}. */
  readonly protectors: readonly CompiledTaintPolicy[];
}

interface TrackedOnNode {
  /** The policies that select the node and are enforced, or would be without `--audit`: see {@link enforcedWithoutAuditAmong}. */
  readonly enforcing: readonly CompiledTaintPolicy[];
  /** The value of each taint of the node. */
  readonly valueByTaint: ReadonlyMap<string, string>;
  readonly facts: {
    readonly tracked: readonly TrackedTaint[];
    /** Whether all policies could be read: one that could not may have the taint. */
    readonly isComplete: boolean;
    /** In milliseconds of the monotonic clock. */
    readonly now: number;
  };
}

/** The taints that the leader has seen there by a policy, and that no policy has on the node now. */
export function undeclaredTaints({ enforcing, valueByTaint, facts }: TrackedOnNode): UndeclaredTaint[] {
  const { tracked, isComplete, now } = facts;
  return tracked.flatMap(({ requirement, undeclaredSince }) => {
    const taint = ownTaint(requirement, valueByTaint);
    const protectors = taint && domainProtectors(enforcing, taint);
    if (!protectors) return [];
    return { requirement, undeclaredSince: isComplete ? (undeclaredSince ?? now) : now, taint, protectors };
  });
}

interface AbandonedTaints {
  readonly removable: readonly RemovableTaint[];
  /** A policy protects them: the annotation allow-removal has to get an entry first. */
  readonly needEntry: readonly RemovableTaint[];
}

/** The taints that no policy has declared on the node for {@link POLICY_GONE_MS}, except those whose policies ignore the annotation allow-removal. */
export function abandonedTaints(
  undeclared: readonly UndeclaredTaint[],
  node: Pick<StoredNode, 'allowRemoval'>,
  now: number,
): AbandonedTaints {
  const abandoned = undeclared.filter(({ undeclaredSince }) => now - undeclaredSince >= POLICY_GONE_MS);
  const { remove = [], allow = [] } = Object.groupBy(abandoned, (one) => howToRemove(one, node));
  return { removable: remove.map(abandonedTaint), needEntry: allow.map(abandonedTaint) };
}

/** A write that removes a protected taint needs an entry of the annotation from before. `keep`: a policy ignores entries. */
function howToRemove(
  { taint, protectors }: UndeclaredTaint,
  { allowRemoval }: Pick<StoredNode, 'allowRemoval'>,
): 'remove' | 'allow' | 'keep' {
  if (protectors.length === 0) return 'remove';
  if (!allAllowRemovalByAnnotation(protectors)) return 'keep';
  return isRemovalAllowed(parseAllowedRemovals(allowRemoval), taint) ? 'remove' : 'allow';
}

function abandonedTaint({ requirement, taint, protectors }: UndeclaredTaint): RemovableTaint {
  const reason = 'no policy has it on the node any more';
  // A deleted policy has no status that could report a problem.
  const policyNames = [...requirement.policyNames, ...protectors.map(({ name }) => name)];
  return { taint, policyNames, reason, endsEntry: true };
}

import { formatTaint, identity, removedTaints, type Taint, withTaints } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { readsAllowRemoval } from './allow-removal.ts';
import { allowRemovalAfter } from './allow-removal-notices.ts';
import { allow, type Decision, patch } from './decision.ts';
import type { NodeChanges } from './node-changes.ts';
import { policyNames, removedText, reportAllowed, violationsOf } from './node-update-reports.ts';
import { type DesiredNode, isKubelet, type NodeUpdate } from './node-view.ts';
import { effectiveAdditions, isForbidden, isRemovedWithPermission, type Ruling, type Rulings } from './rulings.ts';
import { isForbiddenUnselection, unselections } from './unselections.ts';

/** What mutation makes of an update: see {@link judgeNodeUpdate}. */
export function mutateNode(
  request: NodeUpdate,
  changes: NodeChanges,
  { removals, additions }: Rulings,
  policies: readonly CompiledTaintPolicy[],
): Decision<DesiredNode> {
  const { requester, node, oldNode } = request;
  // NodeRestriction judges the patched object as the node's own and would refuse all of it.
  const byKubelet = isKubelet(requester);
  const effective = effectiveAdditions(additions, removals);
  const restored = byKubelet ? [] : removals.filter(({ mode }) => mode === 'Restore');
  const reverted = byKubelet ? [] : effective.filter(({ mode }) => mode === 'Restore');
  const taints = repairedTaints(request, restored, reverted);
  const repairedRequest = { ...request, node: { ...node, taints } };
  // After the repair: the policy may end its selection of a node whose taint was restored.
  const unselected = unselections(repairedRequest, policies);
  const refused =
    [...removals, ...effective].some(byKubelet ? isForbidden : ({ mode }) => mode === 'Deny') ||
    unselected.some(isForbiddenUnselection);
  const isReverted = isAnyOf(taintsOf(reverted));
  const remaining = removals.filter(({ taint }) => !isReverted(taint));
  if (refused) {
    // Validation denies the request, and reports it.
    return restored.length + reverted.length === 0
      ? allow()
      : patch({ taints, allowRemoval: node.allowRemoval }, [], []);
  }
  // Audit policies do not read the annotation.
  const allowRemoval =
    byKubelet || !policies.some(readsAllowRemoval)
      ? node.allowRemoval
      : allowRemovalAfter(
          request,
          {
            removed: taintsOf(remaining.filter(isRemovedWithPermission)),
            added: removedTaints(taints, oldNode.taints),
            isAdding: changes.added.length > 0,
          },
          policies,
        );
  const allowed = reportAllowed(repairedRequest, { removals: remaining, additions: effective }, unselected, policies);
  if (restored.length + reverted.length === 0 && allowRemoval === node.allowRemoval) return allowed;
  return patch(
    { taints, allowRemoval },
    [
      ...restored.flatMap((ruling) => violationsOf(ruling, ruling.by, 'restored')),
      ...reverted.flatMap((ruling) => violationsOf(ruling, ruling.by, 'reverted')),
      ...allowed.violations,
    ],
    [
      ...restored.map(({ taint, by }) => `${policyNames(by)} restored taint ${formatTaint(taint)}`),
      ...reverted.map(({ taint, by }) => removedText(policyNames(by), taint)),
      ...allowed.warnings,
    ],
  );
}

/** The taints of the request, with the restored ones, and without the reverted additions. A reverted change of a value results in the earlier value. */
function repairedTaints(
  { node, oldNode }: NodeUpdate,
  restored: readonly Ruling[],
  reverted: readonly Ruling[],
): Taint[] {
  const isReverted = isAnyOf(taintsOf(reverted));
  const before = oldNode.taints.filter(isReverted);
  const isChanged = isAnyOf(before);
  const kept = node.taints.filter((taint) => !isReverted(taint) || isChanged(taint));
  return withTaints(kept, [...taintsOf(restored), ...before]);
}

function taintsOf(found: readonly { readonly taint: Taint }[]): Taint[] {
  return found.map(({ taint }) => taint);
}

function isAnyOf(taints: readonly Taint[]): (taint: Taint) => boolean {
  if (taints.length === 0) return () => false;
  const identities = new Set(taints.map(identity));
  return (taint) => identities.has(identity(taint));
}

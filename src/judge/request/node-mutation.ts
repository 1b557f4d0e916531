import { formatTaint, sameTaint, type Taint, valuesAmong, withTaints } from '../../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { isEnforced } from '../../policy/enforcement.ts';
import { isProtectedBy } from '../../policy/policy-index.ts';
import { rewriteAllowRemoval } from '../allow-removal.ts';
import { allow, type Decision, patch } from '../decision.ts';
import { isDeclaredTaint, satisfies } from '../declared-taints.ts';
import type { DesiredNode } from '../node-view.ts';
import { missingOutcome, removalOutcome } from '../outcomes.ts';
import { taintViolation } from '../violation.ts';
import { addedWarning } from './added-warnings.ts';
import { isKubelet, type NodeUpdate } from './node-request.ts';
import { policyNames, violationsOf } from './node-update-reports.ts';
import { enforcedExemptions, isForbidden, type JudgedUpdate, type Ruling } from './removal-rulings.ts';
import { taintsOnSelection } from './taints-on-selection.ts';

/** The decision of mutation about an update: see {@link judgeNodeUpdate}. */
export function mutateNode(update: JudgedUpdate): Decision<DesiredNode> {
  const { request, rulings, selecting, labelsChange } = update;
  const { requester, node } = request;
  // The admission plugin NodeRestriction attributes the patch to the node, and would refuse the whole request.
  const byKubelet = isKubelet(requester);
  const restored = byKubelet ? [] : rulings.filter(({ mode }) => mode === 'Restore');
  const restoredTaints = withTaints(node.taints, taintsOf(restored));
  if (rulings.some(byKubelet ? isForbidden : ({ mode }) => mode === 'Deny')) {
    // Validation denies the request, and reports it. What can be restored is restored all the same: with `failurePolicy: Ignore`, validation may not be
    // called, and another mutating webhook may still restore the denied taints.
    return restored.length === 0 ? allow() : patch({ taints: restoredTaints, allowRemoval: node.allowRemoval }, [], []);
  }
  const setOnSelection = byKubelet || !labelsChange ? [] : taintsOnSelection(request, restoredTaints, selecting);
  const taints = withTaints(restoredTaints, taintsOf(setOnSelection));
  const permitted = rulings.filter((ruling) => !isForbidden(ruling));
  const allowRemoval = byKubelet ? node.allowRemoval : entriesAfter(update, permitted, taints);
  const byExemption = permitted.flatMap((ruling) =>
    violationsOf(ruling, enforcedExemptions(ruling), removalOutcome('AllowedByExemption')),
  );
  if (restored.length + setOnSelection.length === 0 && allowRemoval === node.allowRemoval) return allow(byExemption);
  return patch(
    { taints, allowRemoval },
    [
      ...restored.flatMap((ruling) => violationsOf(ruling, ruling.by, removalOutcome('Restored'))),
      ...setOnSelection.map(({ policy, field, taint }) =>
        taintViolation(policy, field, taint, missingOutcome('Added')),
      ),
      ...byExemption,
    ],
    [
      ...restored.map(({ taint, by }) => `${policyNames(by)} restored taint ${formatTaint(taint)}`),
      ...setOnSelection.map(({ taint, policy }) =>
        addedWarning(`TaintPolicy ${policy.name}`, `taint ${formatTaint(taint)}`),
      ),
    ],
  );
}

/**
 * The annotation `allow-removal` after an update.
 * @param permitted the removals that no enforced policy forbids
 * @param taints of the node after the update
 */
function entriesAfter(
  { request, changes, selecting }: Pick<JudgedUpdate, 'request' | 'changes' | 'selecting'>,
  permitted: readonly Ruling[],
  taints: readonly Taint[],
): string | undefined {
  const valueByTaint = valuesAmong(taints, taintsOf(permitted));
  return rewriteAllowRemoval(request.node.allowRemoval, {
    // A request that adds a taint ends the entry for it.
    entriesEnded: changes.added.filter((taint) => isProtectedBy(selecting, taint)),
    more: taintsOf(permitted.filter((ruling) => staysOff(ruling, request, valueByTaint, selecting))),
  });
}

/**
 * Whether an exempt user removes a required taint for good: without an entry in the annotation, the leader would set it again. `SPEC_CONSTRAINTS` of
 * policy/taint-policy-constraints.ts ensures that a policy which requires taints and exempts users reads entries.
 *
 * If a policy that requires the taint begins to select the node, the update counts as a registration, for which exemptions have no effect: the node
 * would have both the entry and the taint.
 * @param valueByTaint the taints after the request: see {@link valuesAmong}
 * @param selecting the policies of every mode that select the node by its labels before or after the update
 */
function staysOff(
  ruling: Ruling,
  { node, oldNode }: Pick<NodeUpdate, 'node' | 'oldNode'>,
  valueByTaint: ReadonlyMap<string, string>,
  selecting: readonly CompiledTaintPolicy[],
): boolean {
  const { taint } = ruling;
  const begins = (policy: CompiledTaintPolicy) =>
    isEnforced(policy) &&
    policy.required.some((one) => sameTaint(one.taint, taint)) &&
    !policy.selectsNode(oldNode.labels);
  return (
    enforcedExemptions(ruling).some(
      ({ policy }) =>
        policy.selectsNode(node.labels) &&
        policy.required.some((one) => isDeclaredTaint(taint, one) && !satisfies(valueByTaint, one)),
    ) && !selecting.some(begins)
  );
}

function taintsOf(found: readonly { readonly taint: Taint }[]): Taint[] {
  return found.map(({ taint }) => taint);
}

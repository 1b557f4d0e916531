import { formatTaint, identity, removedTaints, type Taint, valuesOf, withTaints } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { allow, type Decision, patch } from './decision.ts';
import { isRemoved, lostTaints } from './node-record.ts';
import { announcements, binds, type Change, departureChange, namesOf, report } from './node-update-reports.ts';
import { type DesiredNode, type EstablishedView, isNode, type NodeUpdate } from './node-view.ts';
import type { Outcome } from './outcomes.ts';
import {
  type AllowedRemoval,
  namesAny,
  parseAllowedRemovals,
  readsAllowRemoval,
  requiredTaints,
  rewriteAllowRemoval,
  satisfies,
} from './removal.ts';
import {
  type Departure,
  departures,
  isForbidden,
  isForbiddenDeparture,
  isRemovedWithPermission,
  type Ruling,
  withoutKept,
} from './rulings.ts';

/** What an update does to taints that policies protect or guard. */
export interface Changes {
  readonly removals: readonly Ruling[];
  /** Of guarded taints; a changed value is one, also where the removal of the old one is forbidden. */
  readonly additions: readonly Ruling[];
}

/** What mutation makes of an update: see {@link judgeNodeUpdate}. */
export function mutateNode(
  request: NodeUpdate,
  { removals, additions }: Changes,
  policies: readonly CompiledTaintPolicy[],
): Decision<DesiredNode> {
  const { requester, node, oldNode } = request;
  // NodeRestriction judges the patched object as the node's own and would refuse all of it.
  const byNode = isNode(requester);
  const open = withoutKept(additions, removals);
  const restored = byNode ? [] : removals.filter(({ mode }) => mode === 'Restore');
  const reverted = byNode ? [] : open.filter(({ mode }) => mode === 'Restore');
  const taints = repairedTaints(request, restored, reverted);
  const repairedRequest = { ...request, node: { ...node, taints } };
  const departing = departures(repairedRequest, policies);
  const refused =
    [...removals, ...open].some(byNode ? isForbidden : ({ mode }) => mode === 'Deny') ||
    departing.some(isForbiddenDeparture);
  const stays = isAnyOf(taintsOf(reverted));
  const leaving = removals.filter(({ taint }) => !stays(taint));
  if (refused) {
    // Of a request that validation refuses, nothing was done: there is nothing to report then.
    return restored.length + reverted.length === 0
      ? allow()
      : patch({ taints, allowRemoval: node.allowRemoval }, [], []);
  }
  // Policies that only report have no say in the annotation.
  const allowRemoval =
    byNode || !policies.some(readsAllowRemoval)
      ? node.allowRemoval
      : allowRemovalAfter(
          request,
          taintsOf(leaving.filter(isRemovedWithPermission)),
          removedTaints(taints, oldNode.taints),
          policies,
        );
  const rest = passed(repairedRequest, { removals: leaving, additions: open }, departing, policies);
  if (restored.length + reverted.length === 0 && allowRemoval === node.allowRemoval) return rest;
  return patch(
    { taints, allowRemoval },
    [
      ...restored.flatMap((ruling) => report(ruling, ruling.enforcing, 'restored')),
      ...reverted.flatMap((ruling) => report(ruling, ruling.enforcing, 'reverted')),
      ...rest.violations,
    ],
    [
      ...restored.map(({ taint, enforcing }) => `${namesOf(enforcing)} restored taint ${formatTaint(taint)}`),
      ...reverted.map(({ taint, enforcing }) => removedText(namesOf(enforcing), taint)),
      ...rest.warnings,
    ],
  );
}

/**
 * The annotation `allow-removal` as the leader is to find it: a notice for each taint that the request removes with permission. Without it, the
 * leader would take the removal for a loss. An announcement is used up by that, so that it does not serve again, and a notice ends when its
 * taint is added. Until the record has it, no request that adds taints deletes a notice: a writer with an old copy of the whole node must not
 * undo the removal.
 */
function allowRemovalAfter(
  { node, oldNode }: NodeUpdate,
  removed: readonly Taint[],
  added: readonly Taint[],
  policies: readonly CompiledTaintPolicy[],
): string | undefined {
  const allowed = parseAllowedRemovals(node.allowRemoval);
  const removedValues = valuesOf(removed);
  const addedValues = valuesOf(added);
  const isUsed = (entry: AllowedRemoval) => namesAny(entry, entry.isNotice ? addedValues : removedValues);
  const there = new Set(allowed.entries.map(({ text }) => text));
  const isAdding = removedTaints(node.taints, oldNode.taints).length > 0;
  const kept = (isAdding ? pendingNotices(oldNode, policies) : []).filter(
    (entry) => !there.has(entry.text) && !isUsed(entry),
  );
  if (removed.length + kept.length === 0 && !allowed.entries.some(isUsed)) return node.allowRemoval;
  return rewriteAllowRemoval(allowed, isUsed, { kept, removed });
}

/** The notices on the node that its record does not have yet. */
function pendingNotices(
  { labels, taints, allowRemoval, recorded }: EstablishedView,
  policies: readonly CompiledTaintPolicy[],
): AllowedRemoval[] {
  const { entries } = parseAllowedRemovals(allowRemoval);
  if (entries.length === 0) return [];
  const carried = valuesOf(taints);
  const lost = valuesOf(lostTaints(recorded, taints));
  const lacking = valuesOf(
    requiredTaints(labels, policies)
      .filter((one) => !satisfies(carried, one) && !isRemoved(recorded, one))
      .map(({ taint }) => taint),
  );
  return entries.filter(
    (entry) =>
      entry.isNotice && entry.taint !== undefined && (namesAny(entry, lost) || lacking.has(identity(entry.taint))),
  );
}

/** What Deny and Restore policies let pass: by an exemption, by labels, or by an announcement. */
function passed(
  request: NodeUpdate,
  { removals, additions }: Changes,
  departing: readonly Departure[],
  policies: readonly CompiledTaintPolicy[],
): Decision<never> {
  const byExemption = (rulings: readonly Ruling[], outcome: Outcome) =>
    rulings
      .filter((ruling) => !isForbidden(ruling))
      .flatMap((ruling) => report(ruling, ruling.exempt.filter(binds), outcome));
  const changes: Change[] = [...departing.filter(binds).map(departureChange), ...announcements(request, policies)];
  return allow(
    [
      ...byExemption(removals, 'exempt'),
      ...byExemption(additions, 'addition-exempt'),
      ...changes.flatMap(({ violation }) => (violation ? [violation] : [])),
    ],
    changes.map(({ warning }) => warning),
  );
}

/** The taints with what was removed in them again, and without what was added, or with the value that it had. */
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

function removedText(by: string, taint: Taint): string {
  return `${by} removed taint ${formatTaint(taint)}: only exempt users may add it`;
}

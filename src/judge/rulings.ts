import { identity, removedTaints, type Taint, valuesOf } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { TaintMode } from '../policy/taint-policy.ts';
import { isRemoved, lostTaints } from './node-record.ts';
import type { EstablishedView, NodeUpdate, NodeView } from './node-view.ts';
import {
  isRemovalAllowed,
  isRemovalNamed,
  isRequiredRemovalNamed,
  isRequiredTaint,
  parseAllowedRemovals,
  requiredTaints,
  satisfies,
} from './removal.ts';

/**
 * The most taints of one update that are compared with the rules of all policies: of those that it removes, of those that it adds, and of
 * those with which a node leaves a policy. No real node has as many. A request with thousands must not block the replica, nor bypass the
 * policies: taints beyond the limit count as protected.
 */
export const MAX_JUDGED = 128;

/**
 * The most taints of each list, without equal ends, that are compared to find those that an update removes or adds. To compare the tens of
 * thousands that fit into a node takes longer than everything else.
 */
export const MAX_COMPARED = 8_192;

/** A policy that protects or guards a taint, and the field that says so. */
export interface Protection {
  readonly policy: CompiledTaintPolicy;
  readonly field: string;
}

/** What the policies say of one taint that an update removes or adds. */
export interface Ruling {
  readonly taint: Taint;
  /** The strongest mode of the policies that stand, or undefined when all of them let it pass. */
  readonly mode: TaintMode | undefined;
  /** The policies of that mode. */
  readonly enforcing: readonly Protection[];
  /** Policies that let the taint go because the allow-removal annotation named it, or would without --audit. An addition is never allowed by annotation. */
  readonly allowed: readonly Protection[];
  /** Policies that exempt the requester. */
  readonly exempt: readonly Protection[];
}

/** Whether the request must not do it. */
export function isForbidden({ mode }: Ruling): boolean {
  return mode === 'Deny' || mode === 'Restore';
}

/** Whether the taint is removed with permission, and the leader is not to restore it. Audit policies change nothing. */
export function isRemovedWithPermission(ruling: Ruling): boolean {
  const { allowed, exempt } = ruling;
  return !isForbidden(ruling) && [...allowed, ...exempt].some(({ policy }) => policy.mode !== 'Audit');
}

/**
 * Of the taints that the update removes.
 * @param removed those that it removes
 * @param policies those that are for the node, by its labels before or after; the strongest mode first
 */
export function removalRulings(
  request: NodeUpdate,
  removed: readonly Taint[],
  policies: readonly CompiledTaintPolicy[],
): Ruling[] {
  const allows = annotationCheck(request);
  const { established } = request.oldNode;
  const exempting = exemptingAmong(policies, request);
  return removed.map((taint) =>
    rule(taint, policies, exempting, (policy) => policy.removalRestrictedBy(taint, established), allows),
  );
}

/**
 * Of the taints that the update adds, those that a policy guards; a changed value counts as added. What the node is to carry is not guarded:
 * a required taint that it lacks, of whatever policy, and what its record says that it has lost. But one that was removed with permission
 * is not to be carried any more: otherwise a writer with an old copy of the node could bring it back.
 */
export function additionRulings(request: NodeUpdate, policies: readonly CompiledTaintPolicy[]): Ruling[] {
  const { node, oldNode } = request;
  if (!policies.some(({ additionRules }) => additionRules.length > 0)) return [];
  const added = removedTaints(node.taints, oldNode.taints);
  if (added.length === 0) return [];
  const isExpected = missingOn(oldNode, node, policies);
  const exempting = exemptingAmong(policies, request);
  return added
    .filter((taint) => !isExpected(taint))
    .map((taint) => rule(taint, policies, exempting, (policy) => policy.additionRestrictedBy(taint)))
    .filter(({ enforcing, exempt }) => enforcing.length + exempt.length > 0);
}

/**
 * Whether the node is to carry a taint that it lacks. The annotation counts besides the record, which is written a moment after a removal:
 * mutation has written the entry in the request that removed the taint.
 */
function missingOn(
  oldNode: EstablishedView,
  { labels }: NodeView,
  policies: readonly CompiledTaintPolicy[],
): (taint: Taint) => boolean {
  const allowed = parseAllowedRemovals(oldNode.allowRemoval);
  const present = requiredTaints(labels, policies);
  const keys = new Set(present.map(({ taint }) => taint.key));
  const carried = valuesOf(oldNode.taints.filter(({ key }) => keys.has(key)));
  const lacking = Map.groupBy(
    present.filter(
      (one) =>
        !satisfies(carried, one) &&
        !(mayBePermitted(one.policy) && (isRemoved(oldNode.recorded, one) || isRequiredRemovalNamed(allowed, one))),
    ),
    ({ taint }) => identity(taint),
  );
  const lost = valuesOf(
    lostTaints(oldNode.recorded, oldNode.taints).filter(
      (taint) =>
        !isRemovalNamed(allowed, taint) ||
        !policies.some((policy) => policy.protectedBy(taint) !== undefined && mayBePermitted(policy)),
    ),
  );
  return (taint) =>
    lost.get(identity(taint)) === (taint.value ?? '') ||
    (lacking.get(identity(taint)) ?? []).some((one) => isRequiredTaint(taint, one));
}

/** Whether some user may remove taints that the policy protects. Where none may, an entry of the annotation means nothing. */
export function mayBePermitted({ removableByAnnotation, exemptsAnybody }: CompiledTaintPolicy): boolean {
  return removableByAnnotation || exemptsAnybody;
}

/** Without those whose removal is forbidden: a value that stays is not changed. */
export function withoutKept(additions: readonly Ruling[], removals: readonly Ruling[]): Ruling[] {
  const kept = new Set(removals.filter(isForbidden).map(({ taint }) => identity(taint)));
  return additions.filter(({ taint }) => !kept.has(identity(taint)));
}

/**
 * Whether the annotation allows a removal. It counts as it stood before the request, so that no single write can both announce and remove. It
 * counts once: mutation turns the entry into a notice, and by the time of validation no announcement is left. With --audit, nobody does that.
 */
function annotationCheck({ phase, node, oldNode }: NodeUpdate): (taint: Taint, by: Protection) => boolean {
  const before = parseAllowedRemovals(oldNode.allowRemoval);
  const after = parseAllowedRemovals(node.allowRemoval);
  return (taint, { policy, field }) =>
    isRemovalAllowed(before, taint) &&
    (policy.removableByAnnotation
      ? phase === 'mutate' || !isRemovalAllowed(after, taint)
      : policy.wouldAllowByAnnotation && policy.trial(field) !== 'Audit');
}

function exemptingAmong(
  policies: readonly CompiledTaintPolicy[],
  { requester }: NodeUpdate,
): ReadonlySet<CompiledTaintPolicy> {
  return new Set(policies.filter((policy) => policy.exempts(requester)));
}

function rule(
  taint: Taint,
  policies: readonly CompiledTaintPolicy[],
  exempting: ReadonlySet<CompiledTaintPolicy>,
  fieldOf: (policy: CompiledTaintPolicy) => string | undefined,
  allows: (taint: Taint, by: Protection) => boolean = () => false,
): Ruling {
  const enforcing: Protection[] = [];
  const allowed: Protection[] = [];
  const exempt: Protection[] = [];
  for (const policy of policies) {
    const field = fieldOf(policy);
    if (field === undefined) continue;
    if (exempting.has(policy)) exempt.push({ policy, field });
    else if (allows(taint, { policy, field })) allowed.push({ policy, field });
    else enforcing.push({ policy, field });
  }
  // Policies come with the strongest mode first.
  const mode = enforcing[0]?.policy.mode;
  return { taint, mode, enforcing: enforcing.filter(({ policy }) => policy.mode === mode), allowed, exempt };
}

/** A protected taint with which a node leaves a policy by its labels. */
export interface Departure extends Protection {
  readonly taint: Taint;
  /** Whether the policy restricts the unselection of nodes with the taint, and no annotation allowed its removal before the request. */
  readonly isRefused: boolean;
}

/** Whether the request must not do it. */
export function isForbiddenDeparture({ policy, isRefused }: Departure): boolean {
  return isRefused && policy.mode !== 'Audit';
}

/**
 * The taints that a node carries out of policies which do not exempt the requester. The annotation that allows a removal is
 * not spent by that: the taint is still there to be removed.
 */
export function departures(
  { requester, node, oldNode }: NodeUpdate,
  policies: readonly CompiledTaintPolicy[],
): Departure[] {
  const left = policies.filter(
    (policy) => policy.selectsNode(oldNode.labels) && !policy.selectsNode(node.labels) && !policy.exempts(requester),
  );
  if (left.length === 0) return [];
  const allowed = parseAllowedRemovals(oldNode.allowRemoval);
  const beyond = node.taints[MAX_JUDGED];
  return left.flatMap((policy) =>
    node.taints.slice(0, MAX_JUDGED + 1).flatMap((taint) => {
      const restricting = taint === beyond ? policy.unselectionRules[0]?.field : policy.unselectionRestrictedBy(taint);
      const field =
        restricting ?? (taint === beyond ? undefined : policy.removalRestrictedBy(taint, oldNode.established));
      if (field === undefined) return [];
      const isRemovableByAnnotation = policy.removableByAnnotation || policy.wouldAllowByAnnotation;
      const isAllowed = taint !== beyond && isRemovableByAnnotation && isRemovalAllowed(allowed, taint);
      const isRefused = restricting !== undefined && !isAllowed;
      return [{ policy, field, taint, isRefused }];
    }),
  );
}

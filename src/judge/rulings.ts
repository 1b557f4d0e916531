import { identity, type Taint } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { TaintMode } from '../policy/taint-policy.ts';
import { isRemovalAllowed, parseAllowedRemovals } from './allow-removal.ts';
import { expectedAdditions } from './expected-additions.ts';
import type { NodeUpdate } from './node-view.ts';

/** A policy that restricts the removal or the addition of a taint, and its field. */
export interface Protection {
  readonly policy: CompiledTaintPolicy;
  readonly field: string;
}

/** Whether the policy does more than report. */
export function isEnforcing({ policy }: { readonly policy: CompiledTaintPolicy }): boolean {
  return policy.mode !== 'Audit';
}

/** Whether the policy only reports. */
export function isAuditOnly(protection: Protection): boolean {
  return !isEnforcing(protection);
}

/** What the policies say of one taint that an update removes or adds. */
export interface Ruling {
  readonly taint: Taint;
  /** The strongest mode of the policies that restrict it. Undefined if each of them allows it, or exempts the requester. */
  readonly mode: TaintMode | undefined;
  /** The policies of that mode. */
  readonly by: readonly Protection[];
  /** Policies that allow the removal by annotation, or would without --audit. No addition is allowed by annotation. */
  readonly allowed: readonly Protection[];
  /** Policies that exempt the requester. */
  readonly exempt: readonly Protection[];
}

/** What the policies say of an update. */
export interface Rulings {
  readonly removals: readonly Ruling[];
  /** Of additions. A changed value is one, also if the removal of the earlier value is forbidden. */
  readonly additions: readonly Ruling[];
}

/** Whether the request must not do it. */
export function isForbidden({ mode }: Ruling): boolean {
  return mode === 'Deny' || mode === 'Restore';
}

/** Whether the taint is removed with permission, and the leader is not to restore it. Audit policies change nothing. */
export function isRemovedWithPermission(ruling: Ruling): boolean {
  const { allowed, exempt } = ruling;
  return !isForbidden(ruling) && [...allowed, ...exempt].some(isEnforcing);
}

/**
 * What the policies say of each removed taint.
 * @param policies those that select the node, by its labels before or after the update. The strongest mode first
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
    rulingOf(taint, policies, exempting, (policy) => policy.removalRestrictedBy(taint, established), allows),
  );
}

/**
 * What the policies say of each added taint, if any of them restricts additions. A taint that the node is to carry may be added: a missing required
 * taint of any policy, or one that the record lists as lost. A taint that was removed with permission does not count, because a writer with an old
 * copy of the node could add it again.
 */
export function additionRulings(
  request: NodeUpdate,
  added: readonly Taint[],
  policies: readonly CompiledTaintPolicy[],
): Ruling[] {
  if (added.length === 0 || !policies.some(({ additionRules }) => additionRules.length > 0)) return [];
  const isExpected = expectedAdditions(request.oldNode, request.node, policies);
  const exempting = exemptingAmong(policies, request);
  return added
    .filter((taint) => !isExpected(taint))
    .map((taint) => rulingOf(taint, policies, exempting, (policy) => policy.additionRestrictedBy(taint)));
}

/** The additions without new values of taints whose removal is forbidden: those keep their value. */
export function effectiveAdditions(additions: readonly Ruling[], removals: readonly Ruling[]): Ruling[] {
  const kept = new Set(removals.filter(isForbidden).map(({ taint }) => identity(taint)));
  return additions.filter(({ taint }) => !kept.has(identity(taint)));
}

/**
 * Whether the annotation allows a removal. The value before the request counts, so that no single write can both announce and remove. It
 * counts once: mutation turns the entry into a notice, and validation finds no announcement. With --audit, there is no mutation.
 */
function annotationCheck({ phase, node, oldNode }: NodeUpdate): (taint: Taint, by: Protection) => boolean {
  const before = parseAllowedRemovals(oldNode.allowRemoval);
  const after = parseAllowedRemovals(node.allowRemoval);
  return (taint, { policy, field }) =>
    policy.allowsRemovalByAnnotation &&
    isRemovalAllowed(before, taint) &&
    (policy.mode === 'Audit' ? policy.trial(field) !== 'Audit' : phase === 'mutate' || !isRemovalAllowed(after, taint));
}

function exemptingAmong(
  policies: readonly CompiledTaintPolicy[],
  { requester }: NodeUpdate,
): ReadonlySet<CompiledTaintPolicy> {
  return new Set(policies.filter((policy) => policy.exempts(requester)));
}

function rulingOf(
  taint: Taint,
  policies: readonly CompiledTaintPolicy[],
  exempting: ReadonlySet<CompiledTaintPolicy>,
  fieldOf: (policy: CompiledTaintPolicy) => string | undefined,
  allows?: (taint: Taint, by: Protection) => boolean,
): Ruling {
  const restricting: Protection[] = [];
  const allowed: Protection[] = [];
  const exempt: Protection[] = [];
  for (const policy of policies) {
    const field = fieldOf(policy);
    if (field === undefined) continue;
    if (exempting.has(policy)) exempt.push({ policy, field });
    else if (allows?.(taint, { policy, field })) allowed.push({ policy, field });
    else restricting.push({ policy, field });
  }
  // Policies come with the strongest mode first.
  const mode = restricting[0]?.policy.mode;
  return { taint, mode, by: restricting.filter(({ policy }) => policy.mode === mode), allowed, exempt };
}

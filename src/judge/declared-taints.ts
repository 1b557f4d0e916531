import type { StringMap } from '../kubernetes/label-selector.ts';
import { equalTaints, sameTaint, type Taint, taintIdentity, valuesAmong } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy, EnsuredTaint } from '../policy/compiled-taint-policy.ts';
import { isEnforcedWithoutAudit } from '../policy/enforcement.ts';
import { selectingPolicies } from '../policy/policy-index.ts';
import type { NodeView } from './node-view.ts';

/** A taint that a policy sets on a node. */
export interface DeclaredTaint extends EnsuredTaint {
  readonly policy: CompiledTaintPolicy;
}

/** The required taints that policies set on a node with these labels, in the order of the policies. */
export function requiredTaints(labels: StringMap, policies: readonly CompiledTaintPolicy[]): DeclaredTaint[] {
  return declaredTaints('required', labels, policies);
}

/** The required taints that are missing on a node with these labels and taints. */
export function missingRequired(
  { labels, taints }: Pick<NodeView, 'labels' | 'taints'>,
  policies: readonly CompiledTaintPolicy[],
): DeclaredTaint[] {
  return missingOf(requiredTaints(labels, policies), taints);
}

/** The taints that a node with these labels gets when it registers: the required ones, and startup taints. */
export function taintsAtRegistration(labels: StringMap, policies: readonly CompiledTaintPolicy[]): DeclaredTaint[] {
  return declaredTaints('ensured', labels, policies);
}

/** Whether the taint, with its value, is a startup taint of one of the policies: of `AtRegistration` or `UntilReady`. */
export function isStartupTaintOf(policies: readonly CompiledTaintPolicy[], taint: Taint): boolean {
  return policies.some(({ startup }) => startup.some((one) => isDeclaredTaint(taint, one)));
}

/**
 * The startup taints of the policy that the leader removes once the node is ready.
 * @param taints of a node that the policy selects
 */
export function carriedUntilReady(policy: CompiledTaintPolicy, taints: readonly Taint[]): Taint[] {
  if (!isEnforcedWithoutAudit(policy)) return [];
  return taints.filter((taint) => policy.untilReady.some((one) => isDeclaredTaint(taint, one)));
}

/**
 * The taints to set, one for each key and effect, with the value of the first policy that names a value. Policies come with the strongest mode first.
 */
export function taintsToSet<Missing extends EnsuredTaint>(missing: readonly Missing[]): Missing[] {
  const groups = Map.groupBy(missing, ({ taint }) => taintIdentity(taint));
  return [...groups.values()].flatMap((alike) => [...alike.filter(({ anyValue }) => !anyValue), ...alike].slice(0, 1));
}

function declaredTaints(
  declaration: 'required' | 'ensured',
  labels: StringMap,
  policies: readonly CompiledTaintPolicy[],
): DeclaredTaint[] {
  return selectingPolicies(policies, labels).flatMap((policy) =>
    policy[declaration].map((one): DeclaredTaint => ({ ...one, policy })),
  );
}

/** The declared taints that a node with these taints lacks. */
export function missingOf(declared: readonly DeclaredTaint[], taints: readonly Taint[]): DeclaredTaint[] {
  const valueByTaint = valuesAmong(
    taints,
    declared.map(({ taint }) => taint),
  );
  return declared.filter((one) => !satisfies(valueByTaint, one));
}

/** Whether the taints contain the required one. @param valueByTaint see {@link valuesOf} */
export function satisfies(valueByTaint: ReadonlyMap<string, string>, { taint, anyValue }: EnsuredTaint): boolean {
  const value = valueByTaint.get(taintIdentity(taint));
  return value !== undefined && (anyValue || value === (taint.value ?? ''));
}

/**
 * Whether a node now carries the removed taint with another value, which a policy requires. The declared mode of the policy counts: with `--audit`,
 * such a change passes without a warning, too.
 * @param valueByTaint the taints of the node: see {@link valuesOf}
 */
export function isReplaced(
  taint: Taint,
  valueByTaint: ReadonlyMap<string, string>,
  required: readonly DeclaredTaint[],
): boolean {
  return required.some(
    (one) =>
      isEnforcedWithoutAudit(one.policy) &&
      !one.anyValue &&
      sameTaint(one.taint, taint) &&
      satisfies(valueByTaint, one),
  );
}

/** Whether the taint is the one that the policy declares, with any value if it names none. */
export function isDeclaredTaint(taint: Taint, { taint: declared, anyValue }: EnsuredTaint): boolean {
  return anyValue ? sameTaint(taint, declared) : equalTaints(taint, declared);
}

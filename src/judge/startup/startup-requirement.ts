import { oncePer } from '../../collections/once-per.ts';
import { equalTaints, type Taint, taintIdentity, valuesOf } from '../../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { enforcedWithoutAudit, isProtectedBy } from '../../policy/policy-index.ts';
import { joinedParts, type ReadyParts } from '../../policy/ready-when.ts';
import { taintsToSet } from '../declared-taints.ts';
import type { NodeView } from '../node-view.ts';

/** A taint of `ensure: UntilReady` on a node, with what policies say of it together. */
export interface StartupRequirement {
  /** As the leader sets it: with the value that a node gets when it registers, if these policies accept that. */
  readonly taint: Taint;
  /** The values with which policies set it. Absent if one of them names none: then any value counts. */
  readonly values?: readonly string[];
  readonly policyNames: readonly string[];
  /** Of all these policies. */
  readonly parts: ReadyParts;
  /** What this version does not know of these policies, for example `TaintPolicy network (spec.taints[0].readyWhen.future)`. */
  readonly unknownParts: readonly string[];
  /** After how long a node that waits is reported: the earliest deadline of these policies. Counted from the creation of the Node. */
  readonly progressDeadlineMs: number;
  /**
   * After how long the taint is removed although `readyWhen` does not hold: the latest deadline of these policies. Undefined if one of them keeps the
   * taint.
   */
  readonly removeAfterMs: number | undefined;
  /** Whether one of the policies sets it again after a reboot. */
  readonly setsAgain: boolean;
}

/** The startup taints that policies set on a node. */
export interface StartupTaints {
  /** Those of `ensure: UntilReady` that the node carries, or is about to get. */
  readonly untilReady: readonly Taint[];
  /** Those of `ensure: AtRegistration`, which another client removes. */
  readonly atRegistration: readonly Taint[];
}

/** The taints of `ensure: UntilReady` that these policies have on a node, each once. Many nodes have the same policies. */
export const startupRequirements = oncePer(
  (enforcing: readonly CompiledTaintPolicy[]): readonly StartupRequirement[] => {
    const stated = enforcing.flatMap(({ name, untilReady }) => untilReady.map((one) => ({ ...one, policy: name })));
    const registered = taintsToSet(enforcing.flatMap(({ ensured }) => ensured));
    const valueAtRegistration = valuesOf(registered.map(({ taint }) => taint));
    return [...Map.groupBy(stated, ({ taint }) => taintIdentity(taint)).values()].flatMap((alike) => {
      const [first] = taintsToSet(alike);
      if (!first) return [];
      const values = alike.some(({ anyValue }) => anyValue)
        ? {}
        : { values: [...new Set(alike.map(({ taint }) => taint.value ?? ''))] };
      return {
        taint: ownTaint({ taint: first.taint, ...values }, valueAtRegistration) ?? first.taint,
        ...values,
        policyNames: [...new Set(alike.map(({ policy }) => policy))].sort(),
        parts: joinedParts(alike.map(({ parts }) => parts)),
        unknownParts: alike.flatMap(({ policy, unknownParts }) =>
          unknownParts.map((field) => `TaintPolicy ${policy} (${field})`),
        ),
        progressDeadlineMs: Math.min(...alike.map(({ progressDeadlineMs }) => progressDeadlineMs)),
        removeAfterMs: latest(alike.map(({ removeAfterMs }) => removeAfterMs)),
        setsAgain: alike.some(({ setsAgain }) => setsAgain),
      };
    });
  },
);

/**
 * The startup taints that policies have set on a node.
 * @param requirements see {@link carriedAmong}
 */
export function startupTaintsOf(
  requirements: readonly StartupRequirement[],
  enforcing: readonly CompiledTaintPolicy[],
): StartupTaints {
  const atRegistration = enforcing.flatMap(({ ensured }) =>
    ensured.filter(({ ensure }) => ensure === 'AtRegistration'),
  );
  return {
    untilReady: requirements.map(({ taint }) => taint),
    atRegistration: atRegistration.map(({ taint }) => taint),
  };
}

/** The startup taints that a node carries and that the leader removes once `readyWhen` holds. */
export function carriedStartup(
  node: Pick<NodeView, 'labels' | 'taints'>,
  policies: readonly CompiledTaintPolicy[],
): StartupRequirement[] {
  const enforcing = enforcedWithoutAudit(policies, node.labels);
  return carriedAmong(startupRequirements(enforcing), valuesOf(node.taints), enforcing);
}

/**
 * Those of the requirements whose taints a node carries, each with the value that it carries. Another policy that protects such a taint wins. With another value, it is the taint of another writer.
 * @param valueByTaint the taints of the node, see {@link valuesOf}
 * @param enforcing the policies that select the node and are enforced, or would be without `--audit`: see {@link enforcedWithoutAudit}
 */
export function carriedAmong(
  requirements: readonly StartupRequirement[],
  valueByTaint: ReadonlyMap<string, string>,
  enforcing: readonly CompiledTaintPolicy[],
): StartupRequirement[] {
  return requirements.flatMap((requirement) => {
    const taint = ownTaint(requirement, valueByTaint);
    if (taint === undefined || isProtectedBy(enforcing, taint)) return [];
    return equalTaints(taint, requirement.taint) ? requirement : { ...requirement, taint };
  });
}

/**
 * The taint of the requirement as the node carries it. Undefined if it does not, or with another value than the policies set.
 * @param valueByTaint the taints of the node, see {@link valuesOf}
 */
export function ownTaint(
  { taint: { key, effect }, values }: Pick<StartupRequirement, 'taint' | 'values'>,
  valueByTaint: ReadonlyMap<string, string>,
): Taint | undefined {
  const value = valueByTaint.get(taintIdentity({ key, effect }));
  if (value === undefined || (values !== undefined && !values.includes(value))) return undefined;
  return { key, ...(value === '' ? {} : { value }), effect };
}

/** Undefined if one of them is: then there is no latest. */
function latest(times: readonly (number | undefined)[]): number | undefined {
  return times.reduce((last, ms) => (last === undefined || ms === undefined ? undefined : Math.max(last, ms)));
}

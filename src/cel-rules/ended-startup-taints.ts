import { all, any, bind, cel, type Expression, FALSE, not } from '../cel/expression.ts';
import { exists } from '../cel/lists.ts';
import { taintIdentity } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy, EnsuredTaint } from '../policy/compiled-taint-policy.ts';
import { isEnforced } from '../policy/enforcement.ts';
import type { CompiledTaintRule } from '../policy/taint-rule.ts';
import { anyPolicy, conditionsOf, selectsBeforeOrAfter } from './node-policies.ts';
import { isProtected } from './protected-taints.ts';
import {
  among,
  EXACT_NAME,
  exactName,
  isOneOfNames,
  NAME_WITHOUT_VALUE,
  NAMES_AFTER,
  nameWithoutValue,
  TAINTS_BEFORE,
} from './taints.ts';

/** The policies that set startup taints which the leader removes, and that a node can leave by its labels. */
export function leavablePolicies(policies: readonly CompiledTaintPolicy[]): CompiledTaintPolicy[] {
  const awaiting = policies.filter((policy) => isEnforced(policy) && policy.untilReady.length > 0);
  return awaiting.filter((policy) => leaves(policy) !== FALSE);
}

/**
 * True if the node carries a startup taint, before the update and after it, that no policy has there after the change of its labels: {@link
 * endedStartupTaints} in CEL. The policy is still in force then, so that each key `DOMAIN/*` leaves the taint out. With more than `size` taints, each
 * update counts by which a policy with such a taint no longer selects the node.
 */
export function endsStartupTaint(policies: readonly CompiledTaintPolicy[], size: number): Expression {
  const groups = Map.groupBy(leavablePolicies(policies), (policy) => conditionsOf(policy).nodes);
  return any(
    [...groups.values()].map((alike) => {
      const ended = all([
        isOneOfTaints(alike.flatMap(({ untilReady }) => untilReady)),
        among(EXACT_NAME, NAMES_AFTER),
        not(isKept(alike, policies)),
        not(isProtectedByOthers(alike, policies)),
      ]);
      return all([
        any(alike.map(leaves)),
        any([cel(2)`size(${TAINTS_BEFORE}) > ${size}`, bind([NAMES_AFTER], exists(TAINTS_BEFORE, 't', ended))]),
      ]);
    }),
  );
}

/** True for an update by which the policy no longer selects the node. */
function leaves(policy: CompiledTaintPolicy): Expression {
  const { before, after } = conditionsOf(policy).selects;
  return all([before, not(after)]);
}

/** True for a taint `t` that is one of these. */
function isOneOfTaints(taints: readonly EnsuredTaint[]): Expression {
  const names = (anyValue: boolean) => taints.filter((one) => one.anyValue === anyValue).map(({ taint }) => taint);
  return any([
    isOneOfNames(NAME_WITHOUT_VALUE, names(true).map(nameWithoutValue)),
    isOneOfNames(EXACT_NAME, names(false).map(exactName)),
  ]);
}

/** True for a taint `t` that one of the policies sets when a node registers, and that selects the node after the update. */
function isKept(leaving: readonly CompiledTaintPolicy[], policies: readonly CompiledTaintPolicy[]): Expression {
  const identities = new Set(leaving.flatMap(({ untilReady }) => untilReady.map(({ taint }) => taintIdentity(taint))));
  const others = policies.filter(
    (policy) =>
      isEnforced(policy) &&
      !leaving.includes(policy) &&
      policy.startup.some(({ taint }) => identities.has(taintIdentity(taint))),
  );
  return any(others.map((policy) => all([isOneOfTaints(policy.startup), conditionsOf(policy).selects.after])));
}

/** True for a taint `t` that one of the policies protects on the node, by its exact key, before the update or after it. */
function isProtectedByOthers(
  leaving: readonly CompiledTaintPolicy[],
  policies: readonly CompiledTaintPolicy[],
): Expression {
  const keys = new Set(leaving.flatMap(({ untilReady }) => untilReady.map(({ taint }) => taint.key)));
  const concerns = ({ key }: CompiledTaintRule) => keys.has(key);
  const protecting = policies.filter((policy) => isEnforced(policy) && policy.protectionRules.some(concerns));
  return anyPolicy(
    protecting,
    (policy, rules) => all([isProtected(rules.filter(concerns)), selectsBeforeOrAfter(policy)]),
    { ignoresExemptions: true },
  );
}

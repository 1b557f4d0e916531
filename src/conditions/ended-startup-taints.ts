import { all, any, bind, cel, type Expression, FALSE, not } from '../cel/expression.ts';
import { exists } from '../cel/lists.ts';
import { identity } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { CompiledTaintRule } from '../policy/taint-rule.ts';
import { anyPolicy, conditionsOf, selectsBeforeOrAfter } from './node-policies.ts';
import { isProtected, matchesIdentity } from './protected-taints.ts';
import {
  among,
  EXACT_NAME,
  exactName,
  IDENTITY,
  identityName,
  isOneOfNames,
  NAMES_AFTER,
  TAINTS_BEFORE,
} from './taints.ts';

/** The policies that set startup taints which the leader removes, and that a node can leave by its labels. */
export function leavablePolicies(policies: readonly CompiledTaintPolicy[]): CompiledTaintPolicy[] {
  return awaitingPolicies(policies).filter((policy) => leaves(policy) !== FALSE);
}

function awaitingPolicies(policies: readonly CompiledTaintPolicy[]): CompiledTaintPolicy[] {
  return policies.filter(({ mode, untilReady }) => mode !== 'Audit' && untilReady.length > 0);
}

/**
 * True if the node carries a startup taint, before the update and after it, that no policy has there after the change of its labels: {@link
 * endedStartupTaints} in CEL. With more than `size` taints, each update counts by which a policy with such a taint no longer selects the node.
 */
export function endsStartupTaint(policies: readonly CompiledTaintPolicy[], size: number): Expression {
  const groups = [...Map.groupBy(leavablePolicies(policies), (policy) => conditionsOf(policy).nodes).values()];
  const keeping = awaitingPolicies(policies);
  return any(
    groups.map((alike) => {
      const [first] = alike;
      if (!first) return FALSE;
      const ended = all([
        isWaiting(alike),
        among(EXACT_NAME, NAMES_AFTER.name),
        not(isKept(alike, keeping)),
        not(isProtectedByOthers(alike, policies)),
      ]);
      return all([
        leaves(first),
        any([cel(3)`size(${TAINTS_BEFORE}) > ${size}`, bind([NAMES_AFTER], exists(TAINTS_BEFORE.name, 't', ended))]),
      ]);
    }),
  );
}

/** True for an update by which the policy no longer selects the node. */
function leaves(policy: CompiledTaintPolicy): Expression {
  const { before, after } = conditionsOf(policy).selects;
  return all([before, not(after)]);
}

/** True for a startup taint `t` of one of the policies. */
function isWaiting(policies: readonly CompiledTaintPolicy[]): Expression {
  const taints = policies.flatMap(({ untilReady }) => untilReady.map(({ value }) => value));
  const names = (anyValue: boolean) => taints.filter((one) => one.anyValue === anyValue).map(({ taint }) => taint);
  return any([
    isOneOfNames(IDENTITY, names(true).map(identityName)),
    isOneOfNames(EXACT_NAME, names(false).map(exactName)),
  ]);
}

/** True for a taint `t` that one of the policies sets until the node is ready, and selects the node after the update. */
function isKept(leaving: readonly CompiledTaintPolicy[], policies: readonly CompiledTaintPolicy[]): Expression {
  const identities = identitiesOf(leaving);
  const others = policies.filter(
    (policy) => !leaving.includes(policy) && [...identitiesOf([policy])].some((one) => identities.has(one)),
  );
  return any(others.map((policy) => all([isWaiting([policy]), conditionsOf(policy).selects.after])));
}

function identitiesOf(policies: readonly CompiledTaintPolicy[]): ReadonlySet<string> {
  return new Set(policies.flatMap(({ untilReady }) => untilReady.map(({ value }) => identity(value.taint))));
}

/** True for a taint `t` that one of the policies protects on the node, before the update or after it. */
function isProtectedByOthers(
  leaving: readonly CompiledTaintPolicy[],
  policies: readonly CompiledTaintPolicy[],
): Expression {
  const taints = leaving.flatMap(({ untilReady }) => untilReady.map(({ value }) => value.taint));
  const concerns = (rule: CompiledTaintRule) => taints.some((taint) => matchesIdentity(rule, taint));
  const protecting = policies.filter(({ mode, protectionRules }) => mode !== 'Audit' && protectionRules.some(concerns));
  return anyPolicy(
    protecting,
    (policy, rules) => all([isProtected(rules.filter(concerns)), selectsBeforeOrAfter(policy)]),
    { ignoresExemptions: true },
  );
}

import { all, any, cel, type Expression, FALSE, not, type Variable } from '../cel/expression.ts';
import { each, literals, those } from '../cel/lists.ts';
import { mayBePermitted } from '../judge/allow-removal.ts';
import { isPattern, matchesPattern } from '../kubernetes/pattern.ts';
import type { Taint } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy, EnsuredTaint } from '../policy/policy-set.ts';
import type { CompiledTaintRule } from '../policy/taint-rule.ts';
import { conditionsOf } from './node-policies.ts';
import { ADDED, EXACT_NAME, IDENTITY, notAmong } from './taints.ts';

/** `key:Effect` of the taints before an update. */
const IDS_BEFORE: Variable = { name: 'beforeIds', definition: each('before', IDENTITY) };

/** The taints that an update adds and that no policy requires on the node: policies may restrict their addition. */
export const ADDITIONS = 'additions';

/**
 * True for an added taint `t` that may have been removed with permission, if the policy that requires it permits some user.
 */
export interface Removed {
  /** It is required with its value. */
  readonly withValue: Expression;
  /** It is required with any value. */
  readonly withAnyValue: Expression;
}

const NOT_REMOVED: Removed = { withValue: FALSE, withAnyValue: FALSE };

/**
 * The variable {@link ADDITIONS}, with the variables that it uses. It equals {@link additionRulings}, except for the record of the node, which no
 * expression can read.
 * @param policies all policies: a required taint counts whichever policy requires it
 * @param guards the rules to check
 */
export function additionVariables(
  policies: readonly CompiledTaintPolicy[],
  guards: readonly CompiledTaintRule[],
  removed: Removed,
): Variable[] {
  const isConcerned = ({ key }: Taint) =>
    guards.some((guard) => (isPattern(guard.key) ? matchesPattern(guard.key, key) : guard.key === key));
  const groups = Map.groupBy(policies, (policy) =>
    JSON.stringify([conditionsOf(policy).nodes, mayBePermitted(policy)]),
  );
  const required = any(
    [...groups.values()].flatMap((alike) => {
      const present = alike.flatMap((policy) => policy.required.map(({ value }) => value));
      const concerned = present.filter(({ taint }) => isConcerned(taint));
      const [first] = alike;
      if (first === undefined || concerned.length === 0) return [];
      const isLackingOne = isLacking(concerned, mayBePermitted(first) ? removed : NOT_REMOVED);
      return [all([isLackingOne, conditionsOf(first).selects.after])];
    }),
  );
  return [IDS_BEFORE, { name: ADDITIONS, definition: those(ADDED.name, not(required)) }];
}

/** True for an added taint `t` that is one of these, if the node lacked it. */
function isLacking(present: readonly EnsuredTaint[], removed: Removed): Expression {
  const namesOf = (anyValue: boolean, write: (taint: Taint) => string) =>
    [...new Set(present.filter((one) => one.anyValue === anyValue).map(({ taint }) => write(taint)))].sort();
  const exact = namesOf(false, ({ key, value, effect }) => `${key}=${value ?? ''}:${effect}`);
  const whatever = namesOf(true, ({ key, effect }) => `${key}:${effect}`);
  return any([
    all([isOneOfNames(EXACT_NAME, exact), not(removed.withValue)]),
    all([isOneOfNames(IDENTITY, whatever), notAmong(IDENTITY, IDS_BEFORE.name), not(removed.withAnyValue)]),
  ]);
}

function isOneOfNames(name: Expression, names: readonly string[]): Expression {
  if (names.length === 0) return any([]);
  return cel((size) => name.cost(size) + names.length + 12)`(${name}) in ${literals(names)}`;
}

import { all, any, cel, type Expression, FALSE, literal, not, type Variable } from '../cel/expression.ts';
import { each, literals, those } from '../cel/lists.ts';
import { REMOVED_ANNOTATION } from '../judge/removal.ts';
import { isPattern, matchesPattern } from '../kubernetes/pattern.ts';
import { TAINT_EFFECTS, type Taint } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy, RequiredTaint } from '../policy/policy-set.ts';
import type { CompiledTaintRule } from '../policy/taint-rule.ts';
import { conditionsOf } from './node-policies.ts';
import { listedIn } from './protected-taints.ts';
import { ADDED, EXACT_NAME, FORMATTED, IDENTITY, notAmong } from './taints.ts';

/** `key:Effect` of the taints before an update. */
const IDS_BEFORE: Variable = { name: 'beforeIds', definition: each('before', IDENTITY) };

/** What somebody exempt removed before the update, as it is written. */
const REMOVALS: Variable = { name: 'removals', definition: listedIn(REMOVED_ANNOTATION) };

const ENTRY = `^[^\\s=:]+(=[^\\s=:]*)?:(${TAINT_EFFECTS.join('|')})$`;
/** To try the pattern on an entry, and to cut it up. */
const ENTRY_COST = 1_200;
const REMOVED_IDS: Variable = {
  name: 'removedIds',
  definition: cel(70 * ENTRY_COST)`${REMOVALS}.filter(e, e.matches(${literal(ENTRY)}))
  .map(e, e.split(":")[0].split("=")[0] + ":" + e.split(":")[1])`,
};

/** The taints that an update adds and that are not wanted on the node: those that policies may guard. */
export const ADDITIONS = 'additions';

/**
 * The variable {@link ADDITIONS}, with those that it uses before it: as {@link additionRulings} has it, but for what the record of the node lists.
 * @param policies all that there are: a required taint is wanted whoever declares it
 * @param guards the rules that are asked about
 * @param restored true for an added taint that the node carried before
 */
export function additionVariables(
  policies: readonly CompiledTaintPolicy[],
  guards: readonly CompiledTaintRule[],
  restored: Expression = FALSE,
): Variable[] {
  const isConcerned = ({ key }: Taint) =>
    guards.some((guard) => (isPattern(guard.key) ? matchesPattern(guard.key, key) : guard.key === key));
  const groups = Map.groupBy(policies, (policy) => JSON.stringify([conditionsOf(policy).nodes, policy.exemptsAnybody]));
  const wanted = any(
    [...groups.values()].flatMap((alike) => {
      const present = alike.flatMap((policy) => policy.required.map(({ value }) => value));
      const concerned = present.filter(({ taint }) => isConcerned(taint));
      const [first] = alike;
      if (first === undefined || concerned.length === 0) return [];
      return [all([isLacking(concerned, first.exemptsAnybody), conditionsOf(first).selects.after])];
    }),
  );
  return [
    IDS_BEFORE,
    REMOVALS,
    REMOVED_IDS,
    { name: ADDITIONS, definition: those(ADDED.name, all([not(restored), not(wanted)])) },
  ];
}

/**
 * True for an added taint `t` that is one of these, where the node lacked it.
 * @param spares whether one that somebody exempt removed is not wanted any more
 */
function isLacking(present: readonly RequiredTaint[], spares: boolean): Expression {
  const namesOf = (anyValue: boolean, write: (taint: Taint) => string) =>
    [...new Set(present.filter((one) => one.anyValue === anyValue).map(({ taint }) => write(taint)))].sort();
  const exact = namesOf(false, ({ key, value, effect }) => `${key}=${value ?? ''}:${effect}`);
  const whatever = namesOf(true, ({ key, effect }) => `${key}:${effect}`);
  return any([
    all([
      isOneOfNames(EXACT_NAME, exact),
      ...(spares ? [notAmong(FORMATTED, REMOVALS.name), notAmong(EXACT_NAME, REMOVALS.name)] : []),
    ]),
    all([
      isOneOfNames(IDENTITY, whatever),
      notAmong(IDENTITY, IDS_BEFORE.name),
      ...(spares ? [notAmong(IDENTITY, REMOVED_IDS.name)] : []),
    ]),
  ]);
}

function isOneOfNames(name: Expression, names: readonly string[]): Expression {
  if (names.length === 0) return any([]);
  return cel((size) => name.cost(size) + names.length + 12)`(${name}) in ${literals(names)}`;
}

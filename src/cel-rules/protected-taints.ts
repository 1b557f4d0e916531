import { all, any, cel, type Expression, not, reference, type Variable } from '../cel/expression.ts';
import { exists, those } from '../cel/lists.ts';
import { isKeyOf, isOneOf, matchesAny, type Operand } from '../cel/pattern.ts';
import { groupsBy } from '../collections/groups-by.ts';
import { LABEL_VALUE_LENGTH, QUALIFIED_NAME_LENGTH } from '../kubernetes/names.ts';
import { isPattern, matchesPattern, patternsOverlap } from '../kubernetes/pattern.ts';
import { isTransientTaintKey, TRANSIENT_TAINT_KEYS } from '../kubernetes/transient-taints.ts';
import type { CompiledTaintRule, TaintRule } from '../policy/taint-rule.ts';
import { REMOVED, VALUE } from './taints.ts';

const KEY: Operand = { value: cel(2)`t.key`, maxLength: QUALIFIED_NAME_LENGTH };
const EFFECT: Operand = { value: cel(2)`t.effect`, maxLength: 16 };
const TAINT_VALUE: Operand = { value: cel(2)`${VALUE}`, maxLength: LABEL_VALUE_LENGTH };

/** True if one of the removed taints is one that a rule protects. Where one of the rules is a pattern, {@link lastingRemoved} must be bound. */
export function removesProtectedBy(rules: readonly CompiledTaintRule[]): Expression {
  const { names, patterns } = sorted(rules);
  return any([exists(REMOVED, 't', meets(names)), exists(LASTING_REMOVED, 't', meets(patterns))]);
}

function sorted(rules: readonly CompiledTaintRule[]): Record<'names' | 'patterns', CompiledTaintRule[]> {
  return { names: rules.filter(({ key }) => !isPattern(key)), patterns: rules.filter(({ key }) => isPattern(key)) };
}

/**
 * True for a taint `t` that a rule protects.
 *
 * @param transient true for a taint that a pattern never matches; by default true for every such taint
 */
export function isProtected(rules: readonly CompiledTaintRule[], transient?: Expression): Expression {
  const { names, patterns } = sorted(rules);
  const isExcluded = transient ?? isTransient(patterns.map(({ key }) => key));
  return any([meets(names), all([meets(patterns), not(isExcluded)])]);
}

/** True for a taint `t` that a pattern never matches, unless one of the rules names it by an exact key. */
export function isTransientByName(rules: readonly TaintRule[]): Expression {
  const keys = rules.map(({ key }) => key).filter((key) => !isPattern(key) && isTransientTaintKey(key));
  return isOneOf(KEY, [...new Set(keys)].sort());
}

/**
 * The removed taints without those that a pattern never matches. Only taints that the keys could match are distinguished.
 * @param rules at least those of each {@link removesProtectedBy} that uses it
 */
export function lastingRemoved(rules: readonly TaintRule[]): Variable {
  const condition = not(isTransient(rules.map(({ key }) => key).filter(isPattern)));
  return { name: 'lastingRemoved', definition: those(REMOVED, condition) };
}
/** A reference to {@link lastingRemoved}. */
const LASTING_REMOVED = reference('lastingRemoved');

/** True for a taint `t` whose key a pattern must not match, though one of these matches it. */
function isTransient(patterns: readonly string[]): Expression {
  return matchesAnyOfMany(
    TRANSIENT_TAINT_KEYS.filter((transient) => patterns.some((pattern) => patternsOverlap(pattern, transient))),
  );
}

/** A list of more keys costs more than a map. */
const FEW_KEYS = 8;

/** A node can have thousands of taints, and the condition is evaluated for each of them. */
function matchesAnyOfMany(keys: readonly string[]): Expression {
  const [families, exact] = [keys.filter(isPattern), keys.filter((key) => !isPattern(key))];
  if (exact.length <= FEW_KEYS) return matchesAny(KEY, keys);
  return any([isKeyOf(KEY, exact), matchesAny(KEY, families)]);
}

/** True for a taint `t` that a rule matches. Rules with the same effect, value and exceptions share one condition. */
function meets(rules: readonly TaintRule[]): Expression {
  const shapes = groupsBy(rules, ({ value, effect, except }) => JSON.stringify([value, effect, except]));
  return any(
    shapes.map((alike) => {
      const [{ value, effect, except = [] }] = alike;
      return all([
        matchesAny(KEY, alike.map(({ key }) => key).sort()),
        not(matchesAny(KEY, except.toSorted())),
        ...(effect === undefined ? [] : [isOneOf(EFFECT, [effect])]),
        ...(value === undefined ? [] : [isOneOf(TAINT_VALUE, [value])]),
      ]);
    }),
  );
}

/** Limit for a condition on keys that is evaluated for every taint of a long list. */
const MAX_KEY_COST = 200;
const MAX_KEY_LENGTH = 8_000;

/**
 * True for every taint `t` that a rule protects, and never for one that Kubernetes, autoscalers or operators set and remove, unless a rule names it:
 * Kubernetes must be able to remove `not-ready` while the webhook is unavailable.
 */
export function keyCondition(rules: readonly TaintRule[]): Expression {
  const keys = [...new Set(rules.map(({ key }) => key))].sort();
  const isCheap = ({ cost, text }: Expression) => cost(0) <= MAX_KEY_COST && text.length <= MAX_KEY_LENGTH;
  const candidates = [() => hasKeyOf(rules), () => isLastingOrOneOf(keys)];
  for (const candidate of candidates) {
    const condition = candidate();
    if (isCheap(condition)) return condition;
  }
  return isLastingOrLikeOneOf(keys);
}

/** True for a taint `t` whose key one of the rules matches, with any value and effect. */
function hasKeyOf(rules: readonly TaintRule[]): Expression {
  const patterns = rules.filter(({ key }) => isPattern(key));
  const names = rules.map(({ key }) => key).filter((key) => !isPattern(key));
  return any([
    isOneOf(KEY, [...new Set(names)].sort()),
    all([
      meets(patterns.map(({ key, except }) => ({ key, ...(except ? { except } : {}) }))),
      not(isTransient(patterns.map(({ key }) => key))),
    ]),
  ]);
}

/** True for every taint `t` except those that Kubernetes, autoscalers or operators set and remove and that no key names exactly. */
function isLastingOrOneOf(keys: readonly string[]): Expression {
  return any([
    isOneOf(
      KEY,
      keys.filter((key) => !isPattern(key) && isTransientTaintKey(key)),
    ),
    not(isTransient(['*'])),
  ]);
}

/** The same. If a key names one taint of a family of such taints, the whole family counts. */
function isLastingOrLikeOneOf(keys: readonly string[]): Expression {
  const names = keys.filter((key) => !isPattern(key));
  const families = TRANSIENT_TAINT_KEYS.filter((family) => !names.some((name) => matchesPattern(family, name)));
  return not(matchesAnyOfMany(families));
}

import {
  all,
  any,
  bind,
  type Expression,
  exists,
  filtered,
  literal,
  not,
  other,
  TRUE,
  type Variable,
} from '../cel/expression.ts';
import { each, those } from '../cel/lists.ts';
import { isOneOf, matchesAny, type Operand } from '../cel/pattern.ts';
import { isPattern, matchesPattern, overlap } from '../kubernetes/pattern.ts';
import { isTransientTaintKey, TRANSIENT_TAINT_KEYS } from '../kubernetes/transient-taints.ts';
import type { TaintRule } from '../policy/taint-policy.ts';
import { HAS_SETTLED, settledName } from './settled.ts';

/** A rule as it stands in a policy. */
export interface ProtectingRule extends TaintRule {
  /** See {@link waitsToSettle}. */
  readonly waits?: boolean;
}

/** A qualified name: 253 + 1 + 63. */
const KEY: Operand = { text: 't.key', maxLength: 317 };
const EFFECT: Operand = { text: 't.effect', maxLength: 16 };
const VALUE: Operand = { text: taintValue('t'), maxLength: 63 };

const KEPT_ITEM_COST = 20;

/** The taints of the node before an update, and after it. */
export const TAINTS_BEFORE: Variable = { name: 'before', definition: taintsOf('oldObject') };
export const TAINTS_AFTER: Variable = { name: 'after', definition: taintsOf('object') };

/** True when an update changes the list of taints, be it their order alone. */
export const TAINTS_CHANGE: Expression = other('before != after', (size) => size / 10 + 3, ['before', 'after']);

/**
 * True when the list of taints has one that a rule protects. For keys with a wildcard see {@link lasting}, and for those that
 * wait, {@link settledOf}.
 */
export function hasProtected(taints: string, rules: readonly ProtectingRule[]): Expression {
  const { names, patterns, waiting } = sorted(rules);
  return any([
    exists(taints, 't', meets(names)),
    exists(lastingName(taints), 't', meets(patterns)),
    exists(settledName(lastingName(taints)), 't', meets(waiting)),
  ]);
}

/** By how they protect: at once, at once unless the taint comes and goes, and once it has settled. */
function sorted(rules: readonly ProtectingRule[]): Record<'names' | 'patterns' | 'waiting', ProtectingRule[]> {
  const wild = rules.filter(({ key }) => isPattern(key));
  return {
    names: rules.filter(({ key }) => !isPattern(key)),
    patterns: wild.filter(({ waits }) => !waits),
    waiting: wild.filter(({ waits }) => waits),
  };
}

/**
 * True for a taint `t` that a rule protects.
 *
 * @param passing true for one that a wildcard never means; for any taint, unless more is known of it
 */
export function isProtected(rules: readonly ProtectingRule[], passing?: Expression): Expression {
  const { names, patterns, waiting } = sorted(rules);
  const isPassing = passing ?? isTransient([...patterns, ...waiting].map(({ key }) => key));
  const isMeant = any([meets(patterns), all([meets(waiting), HAS_SETTLED])]);
  return any([meets(names), all([isMeant, not(isPassing)])]);
}

/** True for a taint `t` that a wildcard never means, but one of the rules, each of which means it by its name. */
export function comesAndGoesByName(rules: readonly TaintRule[]): Expression {
  const keys = rules.map(({ key }) => key).filter((key) => !isPattern(key) && isTransientTaintKey(key));
  return isOneOf(KEY, [...new Set(keys)].sort());
}

/** The taints of the list without those that a wildcard never means. Only those are told apart that the keys could mean. */
export function lasting(taints: string, rules: readonly TaintRule[]): Variable {
  const condition = not(isTransient(rules.map(({ key }) => key).filter(isPattern)));
  return {
    name: lastingName(taints),
    definition: other(
      condition === TRUE ? taints : filtered(taints, 't', condition),
      (size) => size * (condition.cost(size) + KEPT_ITEM_COST),
      [taints],
    ),
  };
}

/** True for a taint `t` whose key one of the rules means, whatever its value and effect. */
export function hasKeyOf(rules: readonly TaintRule[]): Expression {
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

/** True for every taint `t` but those that come and go by themselves and that no key names exactly. */
export function isLastingOrOneOf(keys: readonly string[]): Expression {
  return any([
    isOneOf(
      KEY,
      keys.filter((key) => !isPattern(key) && isTransientTaintKey(key)),
    ),
    not(isTransient(['*'])),
  ]);
}

/** The same, with whole families of taints that come and go where a key names one of the family. */
export function isLastingOrLikeOneOf(keys: readonly string[]): Expression {
  const names = keys.filter((key) => !isPattern(key));
  const families = TRANSIENT_TAINT_KEYS.filter((family) => !names.some((name) => matchesPattern(family, name)));
  return not(matchesAny(KEY, families));
}

/** The value of a taint; absent and empty mean the same. */
export function taintValue(taint: string): string {
  return `(has(${taint}.value) ? ${taint}.value : "")`;
}

/** The taints of a node, a variable of the API server's. */
export function taintsOf(node: 'object' | 'oldObject'): Expression {
  return other(`has(${node}.spec) && has(${node}.spec.taints) ? ${node}.spec.taints : []`, 20);
}

/** A taint as a map in CEL. */
export function taintLiteral({ key, value, effect }: { key: string; value?: string; effect: string }): string {
  const fields = { key, ...(value === undefined ? {} : { value }), effect };
  return `{${Object.entries(fields)
    .map(([field, text]) => `${literal(field)}: ${literal(text)}`)
    .join(', ')}}`;
}

function lastingName(taints: string): string {
  return `lasting${taints.charAt(0).toUpperCase()}${taints.slice(1)}`;
}

/** True for a taint `t` whose key a pattern must not mean, though one of these matches it. */
function isTransient(patterns: readonly string[]): Expression {
  return matchesAny(
    KEY,
    TRANSIENT_TAINT_KEYS.filter((transient) => patterns.some((pattern) => overlap(pattern, transient))),
  );
}

/** True for a taint `t` that a rule means; rules of one effect and value, and with the same exceptions, are asked about together. */
function meets(rules: readonly TaintRule[]): Expression {
  const shapes = Map.groupBy(rules, ({ value, effect, except }) => JSON.stringify([value, effect, except]));
  return any(
    [...shapes.values()].map((alike) => {
      const [{ value, effect, except = [] } = {}] = alike;
      return all([
        matchesAny(KEY, alike.map(({ key }) => key).sort()),
        not(matchesAny(KEY, except.toSorted())),
        ...(effect === undefined ? [] : [isOneOf(EFFECT, [effect])]),
        ...(value === undefined ? [] : [isOneOf(VALUE, [value])]),
      ]);
    }),
  );
}

/** `key:Effect`, what makes a taint `t` the one it is on a node; as an entry of an annotation, the taint with any value. */
export const IDENTITY: Expression = other('t.key + ":" + t.effect', 80);

/** `key=value:Effect`, with the `=` also where there is no value. */
export const EXACT_NAME: Expression = other(`t.key + "=" + ${taintValue('t')} + ":" + t.effect`, 175);

/** The names of the taints before an update, and after it: to compare taints themselves costs the API server many times as much. */
export const NAMES_BEFORE: Variable = { name: 'beforeNames', definition: each('before', EXACT_NAME) };
export const NAMES_AFTER: Variable = { name: 'afterNames', definition: each('after', EXACT_NAME) };

const IS_DROPPED = notAmong(EXACT_NAME, 'afterNames');

/** The taints that an update drops, {@link droppedTaints} in CEL: their `timeAdded` does not count. */
export const DROPPED: Variable = { name: 'dropped', definition: those('before', IS_DROPPED) };
/** The same the other way round. */
export const ADDED: Variable = { name: 'added', definition: those('after', notAmong(EXACT_NAME, 'beforeNames')) };

/** True when the update drops a taint, protected or not. */
export const DROPS_TAINTS: Expression = all([TAINTS_CHANGE, bind([NAMES_AFTER], exists('before', 't', IS_DROPPED))]);

/** True when the name of the taint `t` is not in the list, a bound name. */
export function notAmong(name: Expression, list: string): Expression {
  return other(`!(${name.text} in ${list})`, (size) => name.cost(size) + size + 3, [list]);
}

import { TAINT_EFFECTS } from '../taint.ts';
import { type Toleration, taintsMeantBy } from '../toleration.ts';
import { all, type Expression, exists, literal, literals, other, type Variable } from './expression.ts';
import { taintLiteral } from './taints.ts';

/** The tolerations of a DaemonSet's pods. */
export const TOLERATIONS: Variable = {
  name: 'tolerations',
  definition: other('has(object.spec.template.spec.tolerations) ? object.spec.template.spec.tolerations : []', 20),
};

const COMPARISON_COST = 70;

/** The taints that a wanted toleration is written for, as maps in CEL. */
export function taintLiteralsMeantBy(toleration: Toleration): string[] {
  return taintsMeantBy(toleration).map(({ key, value, effect }) => taintLiteral({ key, value: value ?? '', effect }));
}

/** True when no one of the `tolerations` tolerates the taint `want`: Kubernetes' rule, {@link tolerates} in CEL. */
export const NOT_TOLERATED: Expression = notTolerated('tolerations', 'want.effect', 'want.key');

/**
 * True when the list of tolerations leaves out a taint that the toleration `want` is written for. `want` is a map in CEL
 * with `key`, `value` and `effect`, which may be empty.
 */
export function lacks(list: string, { anyEffect, dynamic = false, more = 0 }: LacksOptions): Expression {
  const larger = (expression: Expression): Expression => ({
    ...expression,
    cost: (size) => expression.cost(size + more),
  });
  const want = (field: string) => (dynamic ? `string(want.${field})` : `want.${field}`);
  if (!anyEffect) return larger(notTolerated(list, want('effect'), want('key')));
  return exists(
    { text: literals(TAINT_EFFECTS), size: TAINT_EFFECTS.length, cost: 12, uses: [] },
    'effect',
    all([other(`${want('effect')} in ["", effect]`, 6), larger(notTolerated(list, 'effect', want('key')))]),
  );
}

export interface LacksOptions {
  /** Whether the effect may be empty. */
  readonly anyEffect: boolean;
  /** Whether the fields of `want` are of dynamic type; they are texts all the same. */
  readonly dynamic?: boolean;
  /** How many items the list may have besides those of the object. */
  readonly more?: number;
}

function notTolerated(list: string, effect: string, key: string): Expression {
  return other(
    `!${list}.exists(t,
  (!has(t.effect) || t.effect in ["", ${effect}]) &&
  (!has(t.key) || t.key in ["", ${key}]) &&
  (!has(t.operator) || t.operator in ["", "Equal"]
    ? has(t.key) && t.key != "" && (has(t.value) ? t.value : "") == want.value
    : t.operator == "Exists"))`,
    (size) => 5 + size * COMPARISON_COST,
    [list],
  );
}

/** Fields in which tolerations may differ, with what stands for one that is left out. */
const FIELDS = { key: '', operator: 'Equal', value: '', effect: '' } as const;
const NORMALIZED_COST = 80;

/** A toleration as a map of strings in CEL, spelled out: two that say the same ({@link equalToleration}) are equal. */
export function normalizedLiteral(toleration: Toleration): string {
  const fields = Object.entries(FIELDS).map(
    ([field, absent]) => `"${field}": ${literal(toleration[field as keyof typeof FIELDS] || absent)}`,
  );
  return `{${[...fields, `"seconds": ${literal(String(toleration.tolerationSeconds ?? ''))}`].join(', ')}}`;
}

/** The same for each toleration of a list. */
export function normalized(list: string, more = 0): Expression {
  const fields = Object.entries(FIELDS).map(([field, absent]) =>
    absent === ''
      ? `"${field}": has(t.${field}) ? string(t.${field}) : ""`
      : `"${field}": has(t.${field}) && t.${field} != "" ? string(t.${field}) : "${absent}"`,
  );
  const seconds = '"seconds": has(t.tolerationSeconds) ? string(t.tolerationSeconds) : ""';
  return other(
    `${list}.map(t, {\n  ${[...fields, seconds].join(',\n  ')}\n})`,
    (size) => 5 + (size + more) * NORMALIZED_COST,
    [list],
  );
}

import { type Toleration, taintsMeantBy } from '../toleration.ts';
import { type Expression, other, type Variable } from './expression.ts';
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
export const NOT_TOLERATED: Expression = other(
  `!tolerations.exists(t,
  (!has(t.effect) || t.effect in ["", want.effect]) &&
  (!has(t.key) || t.key in ["", want.key]) &&
  (!has(t.operator) || t.operator in ["", "Equal"]
    ? has(t.key) && t.key != "" && (has(t.value) ? t.value : "") == want.value
    : t.operator == "Exists"))`,
  (size) => 5 + size * COMPARISON_COST,
  ['tolerations'],
);

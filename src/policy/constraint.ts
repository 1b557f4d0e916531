import { type Path, type Problem, shownValue } from './problem.ts';

/** A rule of a CRD, which the API server checks. */
export interface CelRule {
  /** In CEL, where `self` is the value. */
  readonly cel: string;
  /** The expectation, as text. */
  readonly message: string;
  /** The invalid field of the value. Absent: the value as a whole. */
  readonly field?: string;
}

/** A constraint that JSON Schema cannot express, in two forms: in CEL for the API server, and for this program. */
export interface Constraint<Value> extends CelRule {
  readonly holds: (value: Value) => boolean;
}

/** The rules in a schema: a keyword that a CRD knows and TypeBox ignores. */
export function celValidations(rules: readonly CelRule[]) {
  return {
    'x-kubernetes-validations': rules.map(({ cel, message, field }) => ({
      rule: cel,
      message,
      ...(field === undefined ? {} : { fieldPath: `.${field}` }),
    })),
  };
}

/** One problem for each constraint that does not hold. `path` leads to the value. */
export function brokenConstraints<Value>(
  constraints: readonly Constraint<Value>[],
  value: Value,
  path: Path,
): Problem[] {
  return constraints
    .filter(({ holds }) => !holds(value))
    .map(({ message, field }) => ({
      path: field === undefined ? path : [...path, field],
      message: typeof value === 'string' ? `${message}, got ${shownValue(value)}` : message,
    }));
}

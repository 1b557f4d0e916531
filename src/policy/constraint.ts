import type { Path, Problem } from './problem.ts';
import { show } from './schema-problems.ts';

/** A rule of a CRD, which the API server holds. */
export interface CelRule {
  /** In CEL, where `self` is the value. */
  readonly cel: string;
  /** What is expected. */
  readonly message: string;
  /** The field of the value that is at fault; without it, the value as a whole. */
  readonly field?: string;
}

/** What a JSON Schema cannot say of a value, said twice: in CEL for the API server, and for this program. */
export interface Constraint<Value> extends CelRule {
  readonly holds: (value: Value) => boolean;
}

/** The rules as a schema carries them: a keyword that a CRD knows and that TypeBox leaves alone. */
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
      message: typeof value === 'string' ? `${message}, got ${show(value)}` : message,
    }));
}

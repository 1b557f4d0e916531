import { type Expression, FALSE, reference, TRUE, type Variable } from '../cel/expression.ts';

/** A condition with a name, and the variable of that name. */
export interface NamedCondition {
  readonly condition: Expression;
  /** Empty if the condition needs no variable. */
  readonly variables: readonly Variable[];
}

/** A constant needs no variable. */
export function named(name: string, definition: Expression): NamedCondition {
  if (definition === TRUE || definition === FALSE) return { condition: definition, variables: [] };
  return { condition: reference(name), variables: [{ name, definition }] };
}

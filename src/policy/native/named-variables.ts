import type { Expression, Variable } from '../cel/expression.ts';
import type { NativeVariable } from './native-objects.ts';

/** A string literal, or a name with what is before it: fields of objects are no variables. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[\w.]+/g;

/**
 * The text of an expression in which bound names are written as the API server's policies have them: `dropped` as
 * `variables.dropped`. What a comprehension names, and what stands in a literal, is left alone.
 */
export function withVariables({ text, uses }: Pick<Expression, 'text' | 'uses'>): string {
  return text.replace(TOKEN, (token) => {
    const [name = ''] = token.split('.');
    return uses.has(name) ? `variables.${token}` : token;
  });
}

/** Those of the variables that the expressions use, and that the used ones use; in the order given, which must be that of use. */
export function usedVariables(variables: readonly Variable[], expressions: readonly Expression[]): NativeVariable[] {
  const used = new Set(expressions.flatMap(({ uses }) => [...uses]));
  const kept = variables.toReversed().filter(({ name, definition }) => {
    if (!used.has(name)) return false;
    for (const other of definition.uses) used.add(other);
    return true;
  });
  return kept.toReversed().map(({ name, definition }) => ({ name, expression: withVariables(definition) }));
}

import { isPattern } from '../kubernetes/pattern.ts';
import { all, any, cel, type Expression, literal, TRUE } from './expression.ts';
import { literals } from './lists.ts';

/** A value of type string, written in CEL. */
export interface Operand {
  readonly value: Expression;
  /** The maximum length of a value, in characters. The cost depends on it. */
  readonly maxLength: number;
}

/** The cost of reading a string once, in the API server's units: one for ten characters. */
function traversal(length: number): number {
  return Math.ceil(length / 10) + 1;
}

/** True if the operand is this text. */
function equals({ value }: Operand, text: string): Expression {
  return cel(1 + traversal(text.length))`${value} == ${literal(text)}`;
}

/** True if the operand matches one of the patterns, by the rules of {@link matchesPattern}. */
export function matchesAny(operand: Operand, patterns: readonly string[]): Expression {
  // No string of the API server contains half a surrogate pair, and CEL cannot write it.
  const possible = [...new Set(patterns)].filter((pattern) => pattern.isWellFormed());
  return any([
    isOneOf(
      operand,
      possible.filter((pattern) => !isPattern(pattern)),
    ),
    isInOneOf(
      operand,
      possible.filter((pattern) => DOMAIN.test(pattern)),
    ),
    ...possible
      .filter((pattern) => isPattern(pattern) && !DOMAIN.test(pattern))
      .map((pattern) => matches(operand, pattern)),
  ]);
}

/** All names of one domain. */
const DOMAIN = /^[^*/]+\/\*$/;

/** The same as `startsWith` for each domain, at the cost of one: the part before the first slash is looked up in a list. */
function isInOneOf(operand: Operand, patterns: readonly string[]): Expression {
  const { value, maxLength } = operand;
  const [first] = patterns;
  if (first === undefined) return any([]);
  if (patterns.length === 1) return matches(operand, first);
  const domains = patterns.map((pattern) => pattern.slice(0, -1));
  const cost = 5 + 2 * traversal(maxLength) + domains.length;
  return cel(cost)`${value}.substring(0, ${value}.indexOf("/") + 1) in ${literals(domains)}`;
}

/** True if the operand is one of the texts. */
export function isOneOf(operand: Operand, texts: readonly string[]): Expression {
  const [first] = texts;
  if (first === undefined) return any([]);
  if (texts.length === 1) return equals(operand, first);
  return cel(1 + texts.length)`${operand.value} in ${literals(texts)}`;
}

/**
 * {@link isOneOf} for a long list of constants. cel-go builds a constant map once, and a look-up in it costs one unit, where a list costs one for each
 * item (costCall of its interpreter/runtimecost.go, decOptimize of decorators.go).
 */
export function isKeyOf({ value }: Operand, texts: readonly string[]): Expression {
  return cel(2)`${value} in {\n  ${texts.map((text) => `${literal(text)}: 1`).join(',\n  ')}\n}`;
}

function matches(operand: Operand, pattern: string): Expression {
  const { value, maxLength } = operand;
  const [head = '', ...rest] = pattern.replace(/\*+/g, '*').split('*');
  const tail = rest.pop() ?? '';
  const method = (name: string, argument: string, cost: number) =>
    cel(1 + cost)`${value}.${name}(${literal(argument)})`;

  const [middle] = rest;
  if (middle === undefined) {
    // Head and tail must not overlap in a short text.
    const length = [...head, ...tail].length;
    return all([
      head === '' ? TRUE : method('startsWith', head, traversal(maxLength)),
      tail === '' ? TRUE : method('endsWith', tail, traversal(maxLength)),
      head === '' || tail === '' ? TRUE : cel(3)`size(${value}) >= ${length}`,
    ]);
  }
  if (head === '' && tail === '' && rest.length === 1) {
    return method('contains', middle, traversal(maxLength) * traversal(middle.length));
  }
  const regex = `(?s)^${pattern.split(/\*+/).map(quoted).join('.*')}$`;
  return method('matches', regex, traversal(maxLength) * Math.ceil(regex.length / 4));
}

/** The text as a regular expression of RE2 that matches nothing else. */
function quoted(text: string): string {
  return text.replace(/[\\^$.|?*+()[\]{}-]/g, '\\$&');
}

import { isPattern } from '../kubernetes/pattern.ts';
import { all, any, cel, type Expression, literal, TRUE } from './expression.ts';
import { literals } from './lists.ts';

/** A value of type string, written in CEL. */
export interface Operand {
  readonly value: Expression;
  /** Longest value that there can be, in characters: decides about the cost of looking at it. */
  readonly maxLength: number;
}

/** What it costs to look at a string once, in the API server's units: one for ten characters. */
function traversal(length: number): number {
  return Math.ceil(length / 10) + 1;
}

/** To read `t.key` and the like. */
const READ_COST = 3;

/** True when the operand is this text. */
function equals({ value }: Operand, text: string): Expression {
  return cel(READ_COST + traversal(text.length))`${value} == ${literal(text)}`;
}

/** True when the operand matches one of the patterns, as {@link matchesPattern} has it. */
export function matchesAny(operand: Operand, patterns: readonly string[]): Expression {
  // Half a surrogate pair is in no string that the API server ever has, and CEL has no way to write it.
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

/** The same as `startsWith` for each domain, at the cost of one: what the text has up to its first slash is looked up. */
function isInOneOf(operand: Operand, patterns: readonly string[]): Expression {
  const { value, maxLength } = operand;
  const [first] = patterns;
  if (first === undefined) return any([]);
  if (patterns.length === 1) return matches(operand, first);
  const domains = patterns.map((pattern) => pattern.slice(0, -1));
  const cost = 3 * READ_COST + 2 * traversal(maxLength) + domains.length;
  return cel(cost)`${value}.substring(0, ${value}.indexOf("/") + 1) in ${literals(domains)}`;
}

/** True when the operand is one of the texts. */
export function isOneOf(operand: Operand, texts: readonly string[]): Expression {
  const [first] = texts;
  if (first === undefined) return any([]);
  if (texts.length === 1) return equals(operand, first);
  return cel(READ_COST + texts.length)`${operand.value} in ${literals(texts)}`;
}

function matches(operand: Operand, pattern: string): Expression {
  const { value, maxLength } = operand;
  const [head = '', ...rest] = pattern.replace(/\*+/g, '*').split('*');
  const tail = rest.pop() ?? '';
  const method = (name: string, argument: string, cost: number) =>
    cel(READ_COST + cost)`${value}.${name}(${literal(argument)})`;

  const [middle] = rest;
  if (middle === undefined) {
    // Head and tail may not share characters of a text that is shorter than both.
    const length = [...head, ...tail].length;
    return all([
      head === '' ? TRUE : method('startsWith', head, traversal(maxLength)),
      tail === '' ? TRUE : method('endsWith', tail, traversal(maxLength)),
      head === '' || tail === '' ? TRUE : cel(READ_COST + 2)`size(${value}) >= ${length}`,
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

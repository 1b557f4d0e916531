/**
 * A CEL expression of type bool, with what has to be known of it to make it part of a larger one.
 *
 * CEL as the API server evaluates it in `matchConditions`, `object`, `oldObject` and `request` being its variables
 * (k8s.io/apiserver/pkg/admission/plugin/cel). Only what Kubernetes 1.28 knows is used: no optional syntax.
 */
export interface Expression {
  readonly text: string;
  /** How strongly its outermost operator binds: what decides about parentheses around it. */
  readonly operator: 'or' | 'and' | 'other';
  readonly cost: Cost;
  /** The bound names that stand in it: see {@link bind}. */
  readonly uses: ReadonlySet<string>;
  /** Of a negation: what it negates. */
  readonly negates?: Expression;
}

/**
 * What evaluating an expression costs at most, in the API server's units (cel-go/interpreter/runtimecost.go), if no list in
 * it has more than `size` items.
 */
export type Cost = (size: number) => number;

/** Of a comprehension: for each item, for the body's result to be looked at and passed on. */
const ITEM_COST = 6;
/** Of a list literal. */
export const LIST_COST = 12;

/** Characters of the longest expression that cel-go reads (its default `ExpressionSizeCodePointLimit`). */
const READABLE_LENGTH = 100_000;

/**
 * Stands for an expression that is longer than anyone reads. It has no text, so that what is made of it costs no time, and
 * more than any budget pays for: so has all that it becomes a part of.
 */
export const TOO_LONG: Expression = {
  text: '',
  operator: 'other',
  cost: () => Number.POSITIVE_INFINITY,
  uses: new Set(),
};

export const TRUE: Expression = other('true', 0);
export const FALSE: Expression = other('false', 0);

/** An expression whose text needs no parentheses beside `&&` and `||`, but may need them after `!`. */
export function other(text: string, cost: number | Cost, uses: Iterable<string> = []): Expression {
  if (isTooLong([text])) return TOO_LONG;
  return { text, operator: 'other', cost: typeof cost === 'number' ? () => cost : cost, uses: new Set(uses) };
}

/** True when one of the parts is. Evaluation stops at the first one: put the cheap ones first. */
export function any(parts: readonly Expression[]): Expression {
  return join('or', parts, TRUE, FALSE);
}

/** True when all parts are. Evaluation stops at the first one that is not: put the cheap ones first. */
export function all(parts: readonly Expression[]): Expression {
  return join('and', parts, FALSE, TRUE);
}

export function not(part: Expression): Expression {
  if (part === TRUE) return FALSE;
  if (part === FALSE) return TRUE;
  if (part.negates) return part.negates;
  const text = /^\w+$/.test(part.text) ? part.text : inParentheses(part.text);
  return { ...other(`!${text}`, (size) => part.cost(size) + 1, part.uses), negates: part };
}

/** `condition ? yes : no`. */
export function choose(condition: Expression, yes: Expression, no: Expression): Expression {
  if (condition === TRUE) return yes;
  if (condition === FALSE) return no;
  const text = `${condition.text}\n? ${indented(yes.text)}\n: ${indented(no.text)}`;
  return other(
    inParentheses(text),
    (size) => condition.cost(size) + Math.max(yes.cost(size), no.cost(size)),
    [condition, yes, no].flatMap(({ uses }) => [...uses]),
  );
}

/** The items of a list that fulfil the condition, as a list in CEL. */
export function filtered(list: string, item: string, condition: Expression): string {
  return `${list}.filter(${item},${body(condition.text, ' ')})`;
}

/** A list in CEL other than a bound name. */
export interface List {
  readonly text: string;
  /** How many items it has at most. */
  readonly size: number;
  readonly cost: number;
  readonly uses: Iterable<string>;
}

/** True when an item of the list fulfils the condition, in which it goes by the name `item`. */
export function exists(list: string | List, item: string, condition: Expression): Expression {
  if (condition === FALSE) return FALSE;
  const { text, cost, uses } = typeof list === 'string' ? { text: list, cost: 1, uses: [list] } : list;
  const sizeOf = (size: number) => (typeof list === 'string' ? size : list.size);
  return condition === TRUE
    ? other(`size(${text}) > 0`, cost + 2, uses)
    : other(
        `${text}.exists(${item},${body(condition.text, ' ')})`,
        (size) => cost + 1 + sizeOf(size) * (condition.cost(size) + ITEM_COST),
        [...[...condition.uses].filter((name) => name !== item), ...uses],
      );
}

/** A value that an expression uses under a name. */
export interface Variable {
  readonly name: string;
  readonly definition: Expression;
}

/**
 * The expression with the variables that it uses defined around it, the first one outermost; a variable may use those
 * before it. CEL in matchConditions has no variables: `[value].exists(name, …)` is how it names a value all the same, and
 * evaluates it once.
 */
export function bind(variables: readonly Variable[], expression: Expression): Expression {
  return variables.reduceRight((inner, { name, definition }) => {
    if (!inner.uses.has(name)) return inner;
    const uses = new Set([...inner.uses].filter((used) => used !== name));
    return other(
      `[${definition.text}].exists(${name},\n${inner.text})`,
      (size) => definition.cost(size) + inner.cost(size) + LIST_COST + ITEM_COST,
      [...uses, ...definition.uses],
    );
  }, expression);
}

/** Nothing to escape, as in nearly every name. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** A string literal: whatever the text is, it stands for itself and ends where it should. */
export function literal(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  const escaped = text
    .replace(/["\\]/g, '\\$&')
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => `\\U${(c.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`);
  return `"${escaped}"`;
}

/** A list literal of strings. */
export function literals(texts: readonly string[]): string {
  return listOf(texts.map(literal));
}

/** A list literal: on one line, or with a line for each item where that is too long. */
export function listOf(items: readonly string[]): string {
  const line = onLine(items, ', ', LINE_LENGTH - '[]'.length);
  return line === undefined ? `[\n  ${items.map(indented).join(',\n  ')}\n]` : `[${line}]`;
}

function join(
  operator: 'or' | 'and',
  parts: readonly Expression[],
  absorbing: Expression,
  neutral: Expression,
): Expression {
  if (parts.includes(absorbing)) return absorbing;
  const distinct = [...new Map(parts.map((part) => [part.text, part])).values()].filter((part) => part !== neutral);
  const [first] = distinct;
  if (first === undefined) return neutral;
  if (distinct.length === 1) return first;

  const texts = distinct.map((part) =>
    part.operator === operator || part.operator === 'other' ? part.text : inParentheses(part.text),
  );
  if (isTooLong(texts)) return TOO_LONG;
  const sign = operator === 'or' ? '||' : '&&';
  const uses = new Set<string>();
  for (const part of distinct) for (const name of part.uses) uses.add(name);
  return {
    text: onLine(texts, ` ${sign} `, LINE_LENGTH) ?? texts.join(` ${sign}\n`),
    operator,
    cost: (size) => distinct.reduce((sum, part) => sum + part.cost(size) + 1, 0),
    uses,
  };
}

function inParentheses(text: string): string {
  return `(${body(text)})`;
}

/** The text as it stands between parentheses: on the same line, after the separator, or on lines of its own. */
function body(text: string, separator = ''): string {
  return text.includes('\n') ? `\n  ${indented(text)}\n` : `${separator}${text}`;
}

export function indented(text: string): string {
  return text.replaceAll('\n', '\n  ');
}

/** The text without line breaks and indentation. No literal has a line break in it. */
export function onOneLine(text: string): string {
  return text.replace(/\n\s*/g, ' ');
}

function isTooLong(texts: readonly string[]): boolean {
  return exceeds(texts, READABLE_LENGTH) && exceeds(texts, READABLE_LENGTH, onOneLine);
}

/** True when the texts have more characters than that together; looks at no more of them than it needs. */
function exceeds(texts: readonly string[], limit: number, written = (text: string) => text): boolean {
  let length = 0;
  return texts.some((text) => {
    length += written(text).length;
    return length > limit;
  });
}

const LINE_LENGTH = 110;

/** The texts on one line, unless that would get too long or one of them has several. */
function onLine(texts: readonly string[], separator: string, length: number): string | undefined {
  if (exceeds(texts, length)) return undefined;
  const line = texts.join(separator);
  return line.length <= length && !line.includes('\n') ? line : undefined;
}

import { exceeds, indentation, indented, inParentheses, LINE_LENGTH, onLine, onOneLine } from './layout.ts';

/**
 * An expression in CEL, with the facts that are needed to embed it in a larger one.
 *
 * The API server evaluates it in `matchConditions` and in admission policies, with the variables `object`, `oldObject` and `request`
 * (k8s.io/apiserver/pkg/admission/plugin/cel). It uses only syntax of Kubernetes 1.30: no optional fields.
 */
export interface Expression {
  /** The text inside the definitions of its variables: see {@link bind}. */
  readonly text: string;
  /** How strongly its outermost operator binds. This decides whether it needs parentheses. */
  readonly operator: 'or' | 'and' | 'stronger';
  readonly cost: Cost;
  /** The names of the variables that it refers to and does not define itself. */
  readonly uses: ReadonlySet<string>;
  /** For a negation: the negated expression. */
  readonly negates?: Expression;
  /** The text with each of these names replaced by the result of `writeName`. */
  readonly written: (writeName: WriteName) => string;
}

/**
 * The maximum cost of an evaluation, in the API server's units, if no list in it has more than `size` items. It is counted as cel-go does
 * (common/cost.go, interpreter/runtimecost.go), and rounded up:
 * - 1 for a variable, for a field, for a call, and for each item in which `in` searches;
 * - 0.1 for each character of texts that are compared or concatenated. A key has at most 317, a value 63, an effect 16, and a taint 400 in all;
 * - 10 for a list literal, 30 for a map and 40 for a struct.
 */
export type Cost = (size: number) => number;

type WriteName = (name: string) => string;

/** The cost of a comprehension for each item, besides that of its body. */
export const ITEM_COST = 6;
/** The cost of a list literal, a map and a struct: that of an empty one, and of access to it. */
export const LIST_COST = 12;
export const MAP_COST = 32;
export const STRUCT_COST = 42;

/** Characters of the longest expression that cel-go reads (its default `ExpressionSizeCodePointLimit`). */
const READABLE_LENGTH = 100_000;

const NOTHING: ReadonlySet<string> = new Set();

/**
 * Stands for an expression that is longer than cel-go reads, and for each expression that contains one. It has no text, and a cost that exceeds every
 * budget.
 */
export const TOO_LONG: Expression = {
  text: '',
  operator: 'stronger',
  cost: () => Number.POSITIVE_INFINITY,
  uses: NOTHING,
  written: () => '',
};

/** A named value to which expressions refer. */
export interface Variable {
  readonly name: string;
  readonly definition: Expression;
}

/** A part of a text of {@link cel}: an expression, a variable (which becomes a reference to it), or text. */
type Embedded = Expression | Variable | string | number;

/**
 * Makes an expression from a text that may contain others: cel(2)`size(${REMOVED}) > ${5}`. The text must bind more strongly than `&&` and `||`. It
 * may need parentheses after `!`. An embedded text of several lines is indented like the line around it.
 *
 * @param own its cost without those of the embedded expressions, which are added. Wrap an embedded expression in the body of a loop in {@link repeated}.
 */
export function cel(own: number | Cost) {
  return (strings: TemplateStringsArray, ...embedded: readonly Embedded[]): Expression => {
    const values = embedded.map((one) => (typeof one === 'object' ? referenced(one) : one));
    const parts = values.filter((one) => typeof one === 'object');
    return composed(parts, sumOf(parts, own), (texts) => {
      let next = 0;
      let text = strings[0] ?? '';
      values.forEach((value, index) => {
        const inner = typeof value === 'object' ? (texts[next++] ?? '') : String(value);
        text += (inner.includes('\n') ? inner.replaceAll('\n', `\n${indentation(text)}`) : inner) + strings[index + 1];
      });
      return text;
    });
  };
}

export const TRUE: Expression = cel(0)`true`;
export const FALSE: Expression = cel(0)`false`;

/** A reference to the variable of that name. */
export function reference(name: string): Expression {
  return {
    text: name,
    operator: 'stronger',
    cost: () => 1,
    uses: new Set([name]),
    written: (writeName) => writeName(name),
  };
}

/** The expression itself, or a reference to the variable. */
export function referenced(value: Variable | Expression): Expression {
  return 'definition' in value ? reference(value.name) : value;
}

/** The cost of the parts, if each is evaluated once, and of what is between them. */
export function sumOf(parts: readonly Expression[], between: number | Cost): Cost {
  const own = typeof between === 'number' ? () => between : between;
  return parts.length === 0 ? own : (size) => parts.reduce((sum, { cost }) => sum + cost(size), own(size));
}

/** The expression in the body of a loop, with the cost of evaluating it so many times. */
export function repeated(times: Cost, expression: Expression): Expression {
  if (expression === TOO_LONG) return TOO_LONG;
  return { ...expression, cost: (size) => times(size) * expression.cost(size) };
}

/**
 * An expression whose text `layout` composes of the texts of the parts.
 * @param cost the cost of the whole, with that of the parts
 */
export function composed(
  parts: readonly Expression[],
  cost: Cost,
  layout: (texts: readonly string[]) => string,
  operator: Expression['operator'] = 'stronger',
): Expression {
  if (parts.includes(TOO_LONG)) return TOO_LONG;
  const text = layout(parts.map((part) => part.text));
  if (isTooLong([text])) return TOO_LONG;
  return {
    text,
    operator,
    cost,
    uses: usedBy(parts),
    written: (writeName) => layout(parts.map((part) => part.written(writeName))),
  };
}

function usedBy(parts: readonly Expression[]): ReadonlySet<string> {
  const [first, ...others] = parts.filter(({ uses }) => uses.size > 0);
  if (first === undefined) return NOTHING;
  if (others.length === 0) return first.uses;
  const uses = new Set(first.uses);
  for (const { uses: more } of others) for (const name of more) uses.add(name);
  return uses;
}

/** True if one of the parts is true. Evaluation stops at the first one: put cheap parts first. */
export function any(parts: readonly Expression[]): Expression {
  return join('or', parts, TRUE, FALSE);
}

/** True if all parts are true. Evaluation stops at the first one that is false: put cheap parts first. */
export function all(parts: readonly Expression[]): Expression {
  return join('and', parts, FALSE, TRUE);
}

export function not(part: Expression): Expression {
  if (part === TRUE) return FALSE;
  if (part === FALSE) return TRUE;
  if (part.negates) return part.negates;
  const negation = composed(
    [part],
    sumOf([part], 1),
    ([text = '']) => `!${/^[\w.]+$/.test(text) ? text : inParentheses(text)}`,
  );
  return negation === TOO_LONG ? TOO_LONG : { ...negation, negates: part };
}

/** `condition ? yes : no`. */
export function choose(condition: Expression, yes: Expression, no: Expression): Expression {
  if (condition === TRUE) return yes;
  if (condition === FALSE) return no;
  return composed(
    [condition, yes, no],
    (size) => condition.cost(size) + Math.max(yes.cost(size), no.cost(size)),
    ([when = '', then = '', otherwise = '']) => inParentheses(`${when}\n? ${indented(then)}\n: ${indented(otherwise)}`),
  );
}

/**
 * The expression with definitions of the variables that it uses, the first one outermost. A variable may use those before it. CEL in
 * matchConditions has no variables. `[value].exists(name, …)` names a value, and evaluates it once.
 */
export function bind(variables: readonly Variable[], expression: Expression): Expression {
  return variables.reduceRight((inner, { name, definition }) => {
    if (!inner.uses.has(name)) return inner;
    return cel(LIST_COST + ITEM_COST)`[${definition}].exists(${name},
${within(name, inner)})`;
  }, expression);
}

/** @throws Error if one is left: the API server would refuse the expression that uses it. */
export function requireNone(undefinedNames: ReadonlySet<string>): void {
  if (undefinedNames.size === 0) return;
  throw new Error(`variable not defined before it is used: ${[...undefinedNames].join(', ')}`);
}

/** The expression inside a definition of the name. */
function within(bound: string, expression: Expression): Expression {
  return {
    ...expression,
    uses: new Set([...expression.uses].filter((name) => name !== bound)),
    written: (writeName) => expression.written((name) => (name === bound ? name : writeName(name))),
  };
}

/** A text without characters to escape, as nearly every name is. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** A string literal of the text, which may contain any characters. */
export function literal(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  const escaped = text
    .replace(/["\\]/g, '\\$&')
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => `\\U${(c.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`);
  return `"${escaped}"`;
}

/**
 * The parts, expressions or literals, as one text.
 * @param cost of concatenating them, without what the expressions cost themselves
 */
export function concatenated(parts: readonly (Expression | string)[], cost: Cost): Expression {
  const expressions = parts.map((part) => (typeof part === 'string' ? cel(0)`${part}` : part));
  return composed(expressions, sumOf(expressions, cost), (texts) => texts.join(' +\n'));
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

  if (isTooLong(distinct.map(({ text }) => text))) return TOO_LONG;
  const sign = operator === 'or' ? '||' : '&&';
  return composed(
    distinct,
    sumOf(distinct, distinct.length),
    (texts) => {
      const operands = texts.map((text, index) => {
        const inner = distinct[index]?.operator;
        return inner === operator || inner === 'stronger' ? text : inParentheses(text);
      });
      return onLine(operands, ` ${sign} `, LINE_LENGTH) ?? operands.join(` ${sign}\n`);
    },
    operator,
  );
}

function isTooLong(texts: readonly string[]): boolean {
  return exceeds(texts, READABLE_LENGTH) && exceeds(texts, READABLE_LENGTH, onOneLine);
}

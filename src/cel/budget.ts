import { type Expression, TOO_LONG, TRUE } from './expression.ts';
import { onOneLine } from './layout.ts';

/**
 * Cost units that one expression may need. The API server stops at 1,000,000 for one expression and at 2,500,000 for all of a webhook
 * (k8s.io/apiserver/pkg/apis/cel/config.go). By the failurePolicy, it then refuses the request or skips the webhook.
 */
export const COST_BUDGET = 900_000;

/** The part of it for the cheap expression that is evaluated when a list is too long for the exact one. */
export const LONG_LIST_BUDGET = 700_000;

/**
 * Characters of one expression. cel-go reads at most 100,000. The API server compiles every expression whenever a configuration changes, and the
 * time grows faster than the length: 0.4 s for 40,000, 2 s for 70,000.
 */
export const LENGTH_LIMIT = 50_000;

/** The lengths of lists that an expression may evaluate item by item. */
const SHORTEST_LIST = 32;
const LIST_SIZES = [512, 384, 256, 192, 128, 96, 64, 48, SHORTEST_LIST];

/** An expression that is exact for lists of at most `size` items. For longer lists it is wider and cheap. */
export interface Candidate {
  readonly build: (size: number) => Expression;
  /** How it is wider than the exact expression. Absent for the exact one. */
  readonly widened?: string;
}

export interface Chosen {
  readonly expression: Expression;
  readonly widened?: string;
}

/** The first candidate that the API server can evaluate, for the longest lists possible. If it can evaluate none, the last one. */
export function narrowest(candidates: readonly Candidate[]): Chosen {
  let chosen: Chosen = { expression: TRUE };
  for (const { build, widened } of candidates) {
    // The size changes only a number in the text. A candidate that is too long for the shortest lists is too long for all.
    const draft = shorter(build(SHORTEST_LIST));
    const size = isShort(draft) ? LIST_SIZES.find((length) => draft.cost(length) <= COST_BUDGET) : undefined;
    const expression = size === undefined ? draft : shorter(build(size));
    chosen = { expression, ...(widened === undefined ? {} : { widened }) };
    if (size !== undefined && isShort(expression)) return chosen;
  }
  // Without a text, there is no condition: every request is sent to the webhook.
  return chosen.expression === TOO_LONG ? { ...chosen, expression: TRUE } : chosen;
}

function isShort({ text }: Expression): boolean {
  return text.length <= LENGTH_LIMIT;
}

/** On one line, if it is too long with several. An expression of that length is not for readers. */
function shorter(expression: Expression): Expression {
  return isShort(expression) ? expression : { ...expression, text: onOneLine(expression.text) };
}

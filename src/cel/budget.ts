import { type Expression, TOO_LONG, TRUE } from './expression.ts';
import { onOneLine } from './layout.ts';

/**
 * Cost units that one expression may need. The API server stops at 1,000,000 for each and 2,500,000 for all of a webhook
 * (k8s.io/apiserver/pkg/apis/cel/config.go), and then refuses the request, or skips the webhook, by its failurePolicy.
 */
export const COST_BUDGET = 900_000;

/** Of that, for what is evaluated instead of the exact expression when a list is too long for it. */
export const LONG_LIST_BUDGET = 700_000;

/**
 * Characters of one expression. cel-go reads 100,000 at most; but the API server compiles every expression whenever a
 * configuration changes, in a time that grows faster than the length: 0.4 s for 40,000, 2 s for 70,000.
 */
export const LENGTH_LIMIT = 50_000;

/** How long a list an expression may look at item by item. */
const SHORTEST_LIST = 32;
const LIST_SIZES = [512, 384, 256, 192, 128, 96, 64, 48, SHORTEST_LIST];

/** An expression for lists of at most `size` items: for longer ones it is wider, and cheap. */
export interface Candidate {
  readonly build: (size: number) => Expression;
  /** What is given up against the exact expression; absent for that itself. */
  readonly widened?: string;
}

export interface Chosen {
  readonly expression: Expression;
  readonly widened?: string;
}

/** The first candidate that the API server can evaluate, for lists as long as can be; the last one if none is. */
export function narrowest(candidates: readonly Candidate[]): Chosen {
  let chosen: Chosen = { expression: TRUE };
  for (const { build, widened } of candidates) {
    // Which size it is written for changes a number in the text, and nothing that its cost depends on: what is too long
    // for the shortest lists is so for all.
    const draft = shorter(build(SHORTEST_LIST));
    const size = isShort(draft) ? LIST_SIZES.find((length) => draft.cost(length) <= COST_BUDGET) : undefined;
    const expression = size === undefined ? draft : shorter(build(size));
    chosen = { expression, ...(widened === undefined ? {} : { widened }) };
    if (size !== undefined && isShort(expression)) return chosen;
  }
  // Without a text there is nothing to register: everything is let through to the webhook.
  return chosen.expression === TOO_LONG ? { ...chosen, expression: TRUE } : chosen;
}

function isShort({ text }: Expression): boolean {
  return text.length <= LENGTH_LIMIT;
}

/** On one line, if it is too long with several: so long an expression nobody reads. */
function shorter(expression: Expression): Expression {
  return isShort(expression) ? expression : { ...expression, text: onOneLine(expression.text) };
}

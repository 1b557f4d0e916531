import { COST_BUDGET, LENGTH_LIMIT } from '../cel/budget.ts';
import type { Expression } from '../cel/expression.ts';

/**
 * Cost units that the API server allows for all conditions of a policy, and for the rest of it: 2,500,000 and 10,000,000
 * (k8s.io/apiserver/pkg/apis/cel/config.go), some of them kept back, as COST_BUDGET does with those for one expression.
 */
const CONDITIONS_BUDGET = 2_250_000;
const POLICY_BUDGET = 9_000_000;

/** Items of a list: more is no node's and no DaemonSet's. */
const SIZES = [1024, 512, 256, 192, 128, 96, 64];

/** How many items a list may have for the API server to evaluate a policy on it; undefined where not even the least. */
export function sizeWithin(conditions: readonly Expression[], others: readonly Expression[]): number | undefined {
  const all = [...conditions, ...others];
  if (all.some(({ text }) => text.length > LENGTH_LIMIT)) return undefined;
  return SIZES.find(
    (size) =>
      all.every(({ cost }) => cost(size) <= COST_BUDGET) &&
      total(conditions, size) <= CONDITIONS_BUDGET &&
      total(others, size) <= POLICY_BUDGET,
  );
}

function total(expressions: readonly Expression[], size: number): number {
  return expressions.reduce((sum, { cost }) => sum + cost(size), 0);
}

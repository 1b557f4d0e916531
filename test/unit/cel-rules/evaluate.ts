import { Environment } from '@marcbachmann/cel-js';

// An evaluator of CEL that is not the API server's. What both make of an expression is compared where an API server answers
// (test/e2e/match-conditions.test.ts, on the same scenarios).
const CEL = new Environment({
  unlistedVariablesAreDyn: true,
  limits: { maxAstNodes: 1_000_000, maxListElements: 10_000, maxDepth: 1_000 },
});

/** An expression in CEL, ready for values of its variables. */
export function parseCel(expression: string): (variables: Readonly<Record<string, unknown>>) => unknown {
  const parsed = CEL.parse(withFlagsOfJavaScript(expression));
  return (variables) => parsed(variables);
}

/** RE2 has flags before the rest of the pattern, JavaScript has them around it. */
function withFlagsOfJavaScript(expression: string): string {
  return expression.replace(/"\(\?s\)((?:[^"\\]|\\.)*)"/g, '"(?s:$1)"');
}

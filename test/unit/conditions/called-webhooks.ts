import { Environment } from '@marcbachmann/cel-js';
import type { AdmissionRequest } from '../../../src/admission/review.ts';
import type { Phase } from '../../../src/judge/decision.ts';
import {
  compileSelector,
  type LabelSelectorRequirement,
  type StringMap,
} from '../../../src/kubernetes/label-selector.ts';
import type { WebhookEntry } from '../../../src/webhooks/entry.ts';

// An evaluator of CEL that is not the API server's. What both make of an expression is compared where an API server answers
// (test/e2e/match-conditions.test.ts, on the same scenarios).
const CEL = new Environment({ limits: { maxAstNodes: 1_000_000, maxListElements: 10_000, maxDepth: 1_000 } })
  .registerVariable('request', 'dyn')
  .registerVariable('object', 'dyn')
  .registerVariable('oldObject', 'dyn');

type Matches = (request: AdmissionRequest) => boolean;

/** Which of the webhooks an API server calls about a request in a phase, by their selectors and conditions. */
export function calledWebhooks(
  entries: readonly WebhookEntry[],
): (request: AdmissionRequest, phase: Phase) => string[] {
  const compiled = entries.map((entry) => ({ ...entry, matches: compile(entry) }));
  return (request, phase) =>
    compiled
      .filter(
        (entry) =>
          entry.phase === phase &&
          entry.resource === request.resource.resource &&
          entry.operations.some((operation) => operation === request.operation) &&
          entry.matches(request),
      )
      .map(({ name }) => name);
}

function compile({ objectSelector = [], namespaceSelector = [], matchConditions }: WebhookEntry): Matches {
  const [selectsObject, selectsNamespace] = [selector(objectSelector), selector(namespaceSelector)];
  const conditions = matchConditions.map(({ expression }) => CEL.parse(withFlagsOfJavaScript(expression)));
  return (request) => {
    const { namespace, object, oldObject } = request;
    return (
      [object, oldObject].some((one) => one && selectsObject(labelsOf(one))) &&
      selectsNamespace(namespace === undefined ? {} : { 'kubernetes.io/metadata.name': namespace }) &&
      conditions.every((condition) => condition({ request, object, oldObject }))
    );
  };
}

function selector(matchExpressions: readonly LabelSelectorRequirement[]) {
  return compileSelector({ matchExpressions });
}

function labelsOf(object: unknown): StringMap {
  return (object as { readonly metadata: { readonly labels?: StringMap } }).metadata.labels ?? {};
}

/** RE2 has flags before the rest of the pattern, JavaScript has them around it. */
function withFlagsOfJavaScript(expression: string): string {
  return expression.replace(/"\(\?s\)((?:[^"\\]|\\.)*)"/g, '"(?s:$1)"');
}

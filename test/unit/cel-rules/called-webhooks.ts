import type { AdmissionRequest } from '../../../src/admission/admission-review.ts';
import type { Phase } from '../../../src/judge/decision.ts';
import {
  compileSelector,
  type LabelSelectorRequirement,
  type StringMap,
} from '../../../src/kubernetes/label-selector.ts';
import type { WebhookEntry } from '../../../src/webhooks/webhook-entry.ts';
import { parseCel } from './evaluate.ts';

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
  const conditions = matchConditions.map(({ expression }) => parseCel(expression));
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

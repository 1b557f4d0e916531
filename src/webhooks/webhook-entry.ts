import type { Chosen } from '../cel/budget.ts';
import { type Expression, FALSE, requireNone, TRUE } from '../cel/expression.ts';
import type { Phase } from '../judge/decision.ts';
import type { LabelSelectorRequirement } from '../kubernetes/label-selector.ts';
import type { FailurePolicy } from '../policy/taint-policy.ts';

export type WebhookOperation = 'CREATE' | 'UPDATE';

/** One webhook of a configuration (admissionregistration.k8s.io/v1), with the fields that depend on the policies. */
export interface WebhookEntry {
  /** For example `protect.taintkeeper.dev`. */
  readonly name: string;
  readonly phase: Phase;
  readonly resource: 'nodes' | 'daemonsets';
  readonly operations: readonly WebhookOperation[];
  readonly failurePolicy: FailurePolicy;
  /**
   * The requirements that the labels of the object must meet, before or after the update, for the API server to call the webhook. Absent: none.
   * Cheaper than a condition: for each webhook with conditions, the API server converts the whole object, and the old one.
   */
  readonly objectSelector?: readonly LabelSelectorRequirement[];
  /** What the labels of its namespace must meet. */
  readonly namespaceSelector?: readonly LabelSelectorRequirement[];
  /** All must be true for the API server to call the webhook. */
  readonly matchConditions: readonly { readonly name: string; readonly expression: string }[];
  /** For mutation: whether the API server calls again if another webhook has changed the object since. `Never` if absent. */
  readonly reinvocationPolicy?: 'IfNeeded';
  /** Why more requests than necessary match the webhook. Absent if none do. */
  readonly widened?: string;
}

/** The webhook, unless its condition is never true. */
export function entry(
  { expression, widened }: Chosen,
  {
    conditions,
    ...rest
  }: Omit<WebhookEntry, 'matchConditions' | 'widened'> & {
    /** By name. */
    conditions: Readonly<Record<string, Expression>>;
  },
): WebhookEntry[] {
  if (expression === FALSE) return [];
  const matchConditions = Object.entries(conditions)
    .filter(([, condition]) => condition !== TRUE)
    .map(([condition, { text, uses }]) => {
      requireNone(uses);
      return { name: condition, expression: text };
    });
  return [{ ...rest, matchConditions, ...(widened === undefined ? {} : { widened }) }];
}

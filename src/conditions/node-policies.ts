import { all, any, type Expression, exists, FALSE, LIST_COST, not, TOO_LONG, TRUE } from '../cel/expression.ts';
import type { LabelSelector } from '../kubernetes/label-selector.ts';
import { restoresNatively } from '../policy/backstop.ts';
import type { TaintPolicy } from '../policy/policy.ts';
import type { TaintMode } from '../policy/taint-policy.ts';
import { type FailurePolicy, failurePolicyOf, waitsToSettle } from '../policy/taint-policy.ts';
import { isAmong, selectsIn } from './selection.ts';
import { hasProtected, type ProtectingRule } from './taints.ts';

/** The names that the labels of a node have: before the update, after it, and one of the two. */
type Labels = 'oldLabels' | 'labels' | 'l';

/** A TaintPolicy as its webhooks see it. What is asked of it again and again is written once. */
export interface NodePolicy {
  readonly mode: TaintMode;
  readonly failurePolicy: FailurePolicy;
  /** Whether a native policy puts taints back before the webhook is asked. */
  readonly restoresNatively: boolean;
  /** The same for policies that are for the same nodes. */
  readonly nodes: string;
  /** The same for policies that are for the same nodes and exempt the same requesters. */
  readonly subject: string;
  /** True when the labels are those of a node that the policy is for. */
  readonly selects: Readonly<Record<Labels, Expression>>;
  /** True when it does not exempt the requester. */
  readonly notExempt: Expression;
  readonly taints: readonly ProtectingRule[];
}

export function readNodePolicy({ spec }: TaintPolicy, audit: boolean): NodePolicy {
  const mode = audit ? 'Audit' : spec.mode;
  const { nodeSelector, exempt } = spec;
  const taints = spec.taints.map((rule) => (waitsToSettle(rule, spec, mode) ? { ...rule, waits: true } : rule));
  const nodes = JSON.stringify([nodeSelector]);
  const notExempt = not(isAmong(exempt ?? {}));
  return {
    mode,
    failurePolicy: failurePolicyOf(spec, mode),
    restoresNatively: restoresNatively(spec, mode),
    nodes,
    subject: nodes + JSON.stringify([exempt]),
    selects: selection(nodeSelector),
    notExempt,
    taints,
  };
}

function selection(selector: LabelSelector | undefined): NodePolicy['selects'] {
  const l = selectsIn('l', selector);
  // With longer names it is longer still.
  if (l === TOO_LONG) return { oldLabels: l, labels: l, l };
  return { oldLabels: selectsIn('oldLabels', selector), labels: selectsIn('labels', selector), l };
}

type Subject = Pick<NodePolicy, 'selects' | 'notExempt'>;

/** By the labels before or after the update: a node cannot leave a policy in the same update that drops the taint. */
export function selectsBeforeOrAfter({ selects: { l } }: Pick<NodePolicy, 'selects'>): Expression {
  if (l === TRUE || l === FALSE) return l;
  return exists({ text: '[oldLabels, labels]', size: 2, cost: LIST_COST, uses: ['oldLabels', 'labels'] }, 'l', l);
}

/** One condition for all policies: those with the same nodes and the same exemptions are asked about together. */
export function anyPolicy(
  policies: readonly NodePolicy[],
  condition: (policy: Subject, rules: readonly ProtectingRule[]) => Expression,
): Expression {
  const groups = Map.groupBy(policies, ({ subject }) => subject);
  return any(
    [...groups.values()].map((alike) => {
      const rules = alike.flatMap(({ taints }) => taints);
      return any(alike.slice(0, 1).map((policy) => condition(policy, rules)));
    }),
  );
}

/** True when one of the dropped taints is protected by a policy, whoever drops it. */
export function dropsProtected(policies: readonly NodePolicy[]): Expression {
  const whoever = policies.map((policy) => ({ ...policy, subject: policy.nodes, notExempt: TRUE }));
  return anyPolicy(whoever, (policy, rules) => all([hasProtected('dropped', rules), selectsBeforeOrAfter(policy)]));
}

/** True when one of the taints of the list is protected at once by a policy that is for the node as it is after the request. */
export function carriesProtected(taints: 'added' | 'taints', policies: readonly NodePolicy[]): Expression {
  const whoever = policies.map((policy) => ({ ...policy, subject: policy.nodes, notExempt: TRUE }));
  return anyPolicy(whoever, ({ selects }, rules) => all([hasProtected(taints, atOnce(rules)), selects.labels]));
}

/** The same as {@link dropsProtected}, where a policy does not count that exempts the requester. */
export function dropsProtectedUnlessExempt(policies: readonly NodePolicy[]): Expression {
  return anyPolicy(policies, (policy, rules) =>
    all([hasProtected('dropped', rules), selectsBeforeOrAfter(policy), policy.notExempt]),
  );
}

export function rulesOf(policies: readonly NodePolicy[]): ProtectingRule[] {
  return policies.flatMap(({ taints }) => taints);
}

/** Those that do not wait for a taint to settle. */
export function atOnce(rules: readonly ProtectingRule[]): ProtectingRule[] {
  return rules.filter(({ waits }) => !waits);
}

import { all, any, type Expression, exists, FALSE, LIST_COST, not, TRUE } from './cel.ts';
import { isAmong } from './cel-requester.ts';
import { selectsIn } from './cel-selector.ts';
import { hasProtected } from './cel-taints.ts';
import { type FailurePolicy, failurePolicyOf } from './failure-policy.ts';
import type { LabelSelector } from './label-selector.ts';
import type { TaintPolicy } from './policy.ts';
import type { TaintMode, TaintPolicySpec, TaintRule } from './taint-policy.ts';

/** A TaintPolicy as its webhooks see it. */
export interface NodePolicy {
  readonly mode: TaintMode;
  readonly failurePolicy: FailurePolicy;
  readonly nodeSelector: LabelSelector | undefined;
  readonly exempt: TaintPolicySpec['exempt'];
  readonly taints: readonly TaintRule[];
  /** Whether mutation may have to take a spent entry out of the release annotation on its account. */
  readonly spendsReleases: boolean;
}

export function readNodePolicy({ spec }: TaintPolicy, audit: boolean): NodePolicy {
  const mode = audit ? 'Audit' : spec.mode;
  const { nodeSelector, exempt, taints, release } = spec;
  return {
    mode,
    failurePolicy: failurePolicyOf(spec, mode),
    nodeSelector,
    exempt,
    taints,
    spendsReleases: mode !== 'Audit' && (release !== 'Never' || notExempt({ exempt }).text !== 'true'),
  };
}

type Subject = Pick<NodePolicy, 'nodeSelector' | 'exempt'>;

/** True when the labels are those of a node that the policy is for. */
export function selectsNode({ nodeSelector }: Pick<NodePolicy, 'nodeSelector'>, labels: string): Expression {
  return selectsIn(labels, nodeSelector);
}

/** By the labels before or after the update: a node cannot leave a policy in the same update that drops the taint. */
export function selectsBeforeOrAfter(policy: Pick<NodePolicy, 'nodeSelector'>): Expression {
  const selects = selectsNode(policy, 'l');
  if (selects === TRUE || selects === FALSE) return selects;
  return exists({ text: '[oldLabels, labels]', size: 2, cost: LIST_COST, uses: ['oldLabels', 'labels'] }, 'l', selects);
}

export function notExempt({ exempt }: Pick<NodePolicy, 'exempt'>): Expression {
  return not(isAmong(exempt ?? {}));
}

/** One condition for all policies: those with the same nodes and the same exemptions are asked about together. */
export function anyPolicy(
  policies: readonly NodePolicy[],
  condition: (policy: Subject, rules: readonly TaintRule[]) => Expression,
): Expression {
  const groups = Map.groupBy(policies, ({ nodeSelector, exempt }) => JSON.stringify([nodeSelector, exempt]));
  return any(
    [...groups.values()].map((alike) => {
      const rules = alike.flatMap(({ taints }) => taints);
      return any(alike.slice(0, 1).map((policy) => condition(policy, rules)));
    }),
  );
}

/** True when one of the dropped taints is protected by a policy, whoever drops it. */
export function dropsProtected(policies: readonly NodePolicy[]): Expression {
  const whoever = policies.map((policy) => ({ ...policy, exempt: undefined }));
  return anyPolicy(whoever, (policy, rules) => all([hasProtected('dropped', rules), selectsBeforeOrAfter(policy)]));
}

/** The same, where a policy does not count that exempts the requester. */
export function dropsProtectedUnlessExempt(policies: readonly NodePolicy[]): Expression {
  return anyPolicy(policies, (policy, rules) =>
    all([hasProtected('dropped', rules), selectsBeforeOrAfter(policy), notExempt(policy)]),
  );
}

export function rulesOf(policies: readonly NodePolicy[]): TaintRule[] {
  return policies.flatMap(({ taints }) => taints);
}

import { formatTaint, identity, sameTaint, valuesAmong, withTaints } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { readsAllowRemoval } from './allow-removal.ts';
import { allow, type Decision, patch, taintViolation } from './decision.ts';
import { satisfies, taintsAtRegistration } from './declared-taints.ts';
import type { DesiredNode, NodeCreation, RetainedTaint } from './node-view.ts';
import type { Outcome } from './outcomes.ts';
import { isEnforcing } from './rulings.ts';

/**
 * A node that registers gets its required and startup taints, and those that are retained for it, whatever the policy's mode but Audit, and
 * whatever the user: exemptions are about removing taints. It is never refused: a node that cannot register costs more than one that lacks
 * a taint. A retained one that it brings with another value stays as it is.
 */
export function judgeNodeCreation(
  { phase, node, retained = [] }: NodeCreation,
  policies: readonly CompiledTaintPolicy[],
): Decision<DesiredNode> {
  const declared = taintsAtRegistration(node.labels, policies);
  const wanted = [...declared, ...retained].map(({ taint }) => taint);
  const present = valuesAmong(node.taints, wanted);
  const missing = declared.filter((one) => !satisfies(present, one));
  // What is declared besides is not said twice.
  const returning = retained.filter(
    ({ policy, taint }) =>
      !present.has(identity(taint)) &&
      !declared.some((one) => (isEnforcing(one) || one.policy === policy) && sameTaint(one.taint, taint)),
  );

  if (phase === 'validate') {
    const reported = [...missing, ...returning];
    return allow(
      reported.map((one) => taintViolation(one.policy, one.field, one.taint, outcomeOf(one))),
      reported.map((one) => {
        const { taint, policy } = one;
        if (outcomeOf(one) === 'would-add')
          return `TaintPolicy ${policy.name} would add taint ${formatTaint(taint)} (--audit)`;
        const mode = policy.mode === 'Audit' ? ', Audit' : '';
        return `TaintPolicy ${policy.name}${mode}: the node lacks taint ${formatTaint(taint)}`;
      }),
    );
  }

  // Where policies name different values for one taint, the first one counts: they come with the strongest mode first.
  const named = new Map(
    declared
      .filter((one) => isEnforcing(one) && !one.anyValue)
      .toReversed()
      .map((one) => [identity(one.taint), one]),
  );
  const carriedBefore = new Map(retained.filter(isEnforcing).map(({ taint }) => [identity(taint), taint]));
  const additions = missing
    .filter(isEnforcing)
    .map(
      (one) => named.get(identity(one.taint)) ?? { ...one, taint: carriedBefore.get(identity(one.taint)) ?? one.taint },
    )
    .filter((one) => !satisfies(present, one));
  const returned = returning.filter(isEnforcing);
  const taints = withTaints(
    node.taints,
    [...additions, ...returned].map(({ taint }) => taint),
  );
  // Nothing has been announced of a new node, whatever it says. Policies that do not heed the annotation have no say in that.
  const allowRemoval = policies.some(readsAllowRemoval) ? undefined : node.allowRemoval;
  if (additions.length + returned.length === 0 && allowRemoval === node.allowRemoval) return allow();

  const values = valuesAmong(taints, wanted);
  const added = missing
    .filter((one) => isEnforcing(one) && satisfies(values, one))
    .map((one) => ({ ...one, taint: { ...one.taint, value: values.get(identity(one.taint)) } }));
  return patch(
    { taints, allowRemoval },
    [
      ...added.map((one) => taintViolation(one.policy, one.field, one.taint, 'added')),
      ...returned.map(({ policy, field, taint }) => taintViolation(policy, field, taint, 'returned')),
    ],
    [
      ...added.map(({ taint, policy }) => `TaintPolicy ${policy.name} added taint ${formatTaint(taint)}`),
      ...returned.map(
        ({ taint, policy }) => `TaintPolicy ${policy.name} restored taint ${formatTaint(taint)} of the deleted node`,
      ),
    ],
  );
}

/** What is said of a taint that the node still lacks once mutation is over. */
function outcomeOf({ policy, field }: Pick<RetainedTaint, 'policy' | 'field'>): Outcome {
  if (policy.mode !== 'Audit') return 'missing';
  return policy.trial(field) === 'Audit' ? 'audited' : 'would-add';
}

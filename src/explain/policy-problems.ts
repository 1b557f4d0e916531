import { type PolicyObject, policyFault } from '../cluster/policies/policy-object.ts';
import type { PolicyKind } from '../policy/policy.ts';
import { harmOfCondition, worstFirst } from '../policy/reporting/harm.ts';
import type { PolicyStatus } from '../policy/reporting/policy-status.ts';
import { assessCondition } from '../policy/reporting/status-conditions.ts';

/** A condition of a policy that needs attention. */
export interface PolicyProblem {
  readonly kind: PolicyKind;
  readonly policy: string;
  readonly condition: string;
  readonly reason: string;
  readonly message: string;
  /** What to do; undefined if the message says it. */
  readonly next: string | undefined;
}

/** The conditions that need attention, of the policies that select the object. The worst first. */
export function problemsOf(
  policies: readonly PolicyObject[],
  isSelecting: (policy: PolicyObject) => boolean,
): PolicyProblem[] {
  const found = policies.filter(isSelecting).flatMap(({ kind, name, status }) => {
    const { conditions = [] } = (status ?? {}) as PolicyStatus;
    return conditions.flatMap((condition) => {
      const { level, next } = assessCondition(condition);
      const { type, reason, message } = condition;
      const problem: PolicyProblem = { kind, policy: name, condition: type, reason, message, next };
      return level === 'quiet' ? [] : [{ problem, harm: harmOfCondition(condition) }];
    });
  });
  return worstFirst(found, ({ harm }) => harm).map(({ problem }) => problem);
}

/** Notes on policies that the explanation leaves out, because no usable spec of them is known. */
export function notesOnUnusable(policies: readonly PolicyObject[]): string[] {
  return policies.flatMap((policy) =>
    policy.inForce ? [] : `${policy.kind} ${policy.name} is left out here: ${policyFault(policy)}`,
  );
}

import { all, FALSE, not, TRUE, type Variable } from '../cel/expression.ts';
import { isIn, those } from '../cel/lists.ts';
import { REMOVES_TAINTS } from '../cel-rules/taints.ts';
import { resultKey } from '../judge/outcomes.ts';
import { allowedByAnnotation } from './allow-removal-entries.ts';
import { type Assembled, validating } from './assemble.ts';
import { nativeName } from './native-parts.ts';
import { NODE_UPDATES } from './native-policy.ts';
import {
  ALL_VIOLATIONS,
  auditMessage,
  NO_VIOLATIONS,
  refusalMessage,
  reportActions,
  violationVariables,
  writtenOut,
} from './node-messages.ts';
import type { Target } from './translation.ts';
import { type AmongPolicies, updateVariables } from './update-variables.ts';

/**
 * The validation of an update. A Deny policy refuses removals of protected taints. A Restore policy checks that the mutation restored them. An Audit
 * policy reports them.
 */
export function protection(context: AmongPolicies, target: Target): Assembled[] {
  const { policy } = context;
  const { name, mode, failurePolicy, allowsRemovalByAnnotation, protectionRules } = policy;
  if (protectionRules.length === 0) return [];
  const { variables, protectedTaints, exempt } = updateVariables(context);
  const audit = mode === 'Audit';
  const allowed = allowedByAnnotation(protectedTaints);
  const allowedByExemption: Variable = { name: 'allowedByExemption', definition: those(protectedTaints, exempt) };
  const violations = those(protectedTaints, all([not(exempt), allowsRemovalByAnnotation ? not(isIn(allowed)) : TRUE]));
  return validating({
    name: nativeName(name, audit ? 'report' : 'protect'),
    failurePolicy,
    resourceRules: NODE_UPDATES,
    objectSelector: policy.nodeSelector,
    conditions: { 'removes-taints': REMOVES_TAINTS },
    variables: [...variables, allowed, allowedByExemption, ...violationVariables(violations)],
    actions: audit ? reportActions(target.purpose) : ['Deny'],
    validations: [{ holds: NO_VIOLATIONS, message: audit ? auditMessage(policy) : refusalMessage(policy, target) }],
    auditAnnotations: {
      [resultKey(audit ? 'Audited' : 'Denied')]: ALL_VIOLATIONS,
      ...(allowsRemovalByAnnotation ? { [resultKey('AllowedByAnnotation')]: writtenOut(allowed) } : {}),
      ...(exempt === FALSE ? {} : { [resultKey('AllowedByExemption')]: writtenOut(allowedByExemption) }),
    },
  });
}

import type { CompiledTaintPolicy } from './compiled-taint-policy.ts';
import type { CompiledTolerationPolicy } from './compiled-toleration-policy.ts';

/** Whether the policy does more than report. */
export function isEnforced({ mode }: Pick<CompiledTaintPolicy | CompiledTolerationPolicy, 'mode'>): boolean {
  return mode !== 'Audit';
}

/** Whether the policy would do more than report without `audit`. */
export function isEnforcedWithoutAudit({
  declaredMode,
}: Pick<CompiledTaintPolicy | CompiledTolerationPolicy, 'declaredMode'>): boolean {
  return declaredMode !== 'Audit';
}

/** Whether the policy only reports, and only because of `audit`. */
export function isOnTrial(
  policy: Pick<CompiledTaintPolicy | CompiledTolerationPolicy, 'mode' | 'declaredMode'>,
): boolean {
  return !isEnforced(policy) && isEnforcedWithoutAudit(policy);
}

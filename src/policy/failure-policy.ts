import type { TaintMode, TaintPolicySpec } from './taint-policy.ts';

/** What the API server does with a request when it cannot ask the webhook (admissionregistration.k8s.io/v1). */
export type FailurePolicy = 'Fail' | 'Ignore';

/**
 * What becomes of an update that drops a taint of the policy while the program cannot be asked. `mode` is the one in force:
 * Audit refuses nothing, whatever the policy says.
 */
export function failurePolicyOf(spec: TaintPolicySpec, mode: TaintMode): FailurePolicy {
  if (mode === 'Audit') return 'Ignore';
  return spec.failurePolicy ?? (mode === 'Deny' ? 'Fail' : 'Ignore');
}

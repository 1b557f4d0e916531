import type { Outcome, Violation } from './decision.ts';
import type { CompiledTaintPolicy } from './policy-set.ts';
import { formatTaint, type Taint } from './taint.ts';

/** The record that `field` of the policy is not satisfied by a node's taint, and what came of it. */
export function taintViolation(
  { name, mode }: CompiledTaintPolicy,
  field: string,
  taint: Taint,
  outcome: Outcome,
): Violation {
  return { policyKind: 'TaintPolicy', policy: name, field, mode, outcome, subject: formatTaint(taint) };
}

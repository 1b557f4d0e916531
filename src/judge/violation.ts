import { groupsBy } from '../collections/groups-by.ts';
import { formatTaint, type Taint } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';
import type { PolicyKind } from '../policy/policy.ts';
import type { TaintMode } from '../policy/taint-policy.ts';
import type { TolerationMode } from '../policy/toleration-policy.ts';
import { atMost } from '../text/counts.ts';
import type { Outcome } from './outcomes.ts';

/** A violation of one policy by one request, and its outcome. */
export type Violation = Outcome & {
  readonly policyKind: PolicyKind;
  readonly policy: string;
  /** The violated field of the policy, for example `spec.taints[0]`. */
  readonly field: string;
  readonly mode: TaintMode | TolerationMode;
  /** The taint or toleration, as kubectl would write it; printable. */
  readonly subject: string;
};

/** The violation of a field of a policy by a removed or missing taint, with its outcome. */
export function taintViolation(policy: CompiledTaintPolicy, field: string, taint: Taint, outcome: Outcome): Violation {
  const { name, mode } = policy;
  return {
    policyKind: 'TaintPolicy',
    policy: name,
    field,
    mode,
    ...outcome,
    subject: formatTaint(taint),
  };
}

/** The violations of one request with the same policy and outcome. One sentence reports them. */
export type ViolationGroup = readonly [Violation, ...Violation[]];

export function groupViolations(violations: readonly Violation[]): ViolationGroup[] {
  return groupsBy(violations, ({ policyKind, policy, mode, change, result, audit }) =>
    [policyKind, policy, mode, change, result, audit].join('/'),
  );
}

/** The most taints or tolerations that one sentence lists. */
const MAX_SUBJECTS = 8;

/** The subjects for one sentence: each once, and at most {@link MAX_SUBJECTS}. */
export function listSubjects(found: readonly Pick<Violation, 'subject'>[]): string {
  return atMost(MAX_SUBJECTS, [...new Set(found.map(({ subject }) => subject))]).join(', ');
}

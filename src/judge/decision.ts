import { groupsBy } from '../collections/groups-by.ts';
import { formatTaint, type Taint } from '../kubernetes/taint.ts';
import { presentableWarnings } from '../kubernetes/warnings.ts';
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';
import { isOnTrial } from '../policy/enforcement.ts';
import type { PolicyKind } from '../policy/policy.ts';
import type { TaintMode } from '../policy/taint-policy.ts';
import type { TolerationMode } from '../policy/toleration-policy.ts';
import { atMost } from '../text/counts.ts';
import { printable } from '../text/printable.ts';
import { auditKey, type Outcome, onTrial, removalOutcome } from './outcomes.ts';

/** The violation of a field of a policy by a removed or missing taint, with its outcome. */
export function taintViolation(policy: CompiledTaintPolicy, field: string, taint: Taint, outcome: Outcome): Violation {
  const { name, mode } = policy;
  return {
    policyKind: 'TaintPolicy',
    policy: name,
    field,
    mode,
    ...outcomeFor(policy, outcome),
    subject: formatTaint(taint),
  };
}

/** For a policy that is in mode Audit only because of --audit: the outcome that its declared mode would have. */
function outcomeFor(policy: CompiledTaintPolicy, outcome: Outcome): Outcome {
  if (outcome.result !== 'Audited' || !isOnTrial(policy)) return outcome;
  return onTrial(removalOutcome(policy.declaredMode === 'Restore' ? 'Restored' : 'Denied'));
}

/**
 * The admission phase in which the API server calls the webhook. Each result is reported in one phase only:
 * - Mutation reports its changes, and removals by users whom an enforced policy exempts.
 * - Validation reports all other results, for the final object.
 */
export type Phase = (typeof PHASES)[number];
export const PHASES = ['mutate', 'validate'] as const;

/** The rules for one kind of request, with one function for each phase. `admission/judge-request.ts` calls the function of its phase. */
export type Judge<Request, Policies, Desired> = {
  readonly mutate: (request: Request, policies: Policies) => Decision<Desired>;
  readonly validate: (request: Request, policies: Policies) => Decision<never>;
};

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

interface Findings {
  readonly violations: readonly Violation[];
  /** For the requester, each on one line of at most 120 characters. */
  readonly warnings: readonly string[];
  /** For the API server's audit log, which puts the webhook's name before each key. */
  readonly auditAnnotations: Readonly<Record<string, string>>;
}

/** The decision about one request. `Desired` is the state that the object should have after mutation. */
export type Decision<Desired> = Findings &
  (
    | { readonly action: 'allow' }
    | { readonly action: 'deny'; readonly message: string }
    | {
        readonly action: 'patch';
        readonly desired: Desired;
        /** The patch only sets startup taints. The request is not recorded, because the leader reports their removal. */
        readonly isRoutine?: true;
      }
  );

/** The most violations in one audit annotation: a node can carry thousands of taints, and the audit event should stay readable. */
const MAX_ANNOTATED = 32;

/** Allows the request unchanged. */
export function allow(violations: readonly Violation[] = [], warnings: readonly string[] = []): Decision<never> {
  return { action: 'allow', ...findings(violations, warnings) };
}

/** Denies the request. The message is for the requester. */
export function deny(message: string, violations: readonly Violation[]): Decision<never> {
  return { action: 'deny', message: printable(message), ...findings(violations, []) };
}

/** Allows the request with a patch that makes the object the desired one. */
export function patch<Desired>(
  desired: Desired,
  violations: readonly Violation[],
  warnings: readonly string[],
  { isRoutine = false } = {},
): Decision<Desired> {
  return { action: 'patch', desired, ...(isRoutine ? { isRoutine } : {}), ...findings(violations, warnings) };
}

/** The findings of nearly all requests. */
const NO_FINDINGS: Findings = { violations: [], warnings: [], auditAnnotations: {} };

function findings(violations: readonly Violation[], warnings: readonly string[]): Findings {
  if (violations.length === 0 && warnings.length === 0) return NO_FINDINGS;
  const shown = violations.map((violation) => ({ ...violation, subject: printable(violation.subject) }));
  return { violations: shown, warnings: presentableWarnings(warnings), auditAnnotations: auditAnnotations(shown) };
}

/** One annotation for each result, with and without --audit. It lists `policy: subject` for each violation, up to {@link MAX_ANNOTATED}. */
function auditAnnotations(violations: readonly Violation[]): Record<string, string> {
  return Object.fromEntries(
    [...Map.groupBy(violations, auditKey)].map(([key, found]) => {
      const entries = found.map(({ policy, subject }) => `${policy}: ${subject}`);
      return [key, atMost(MAX_ANNOTATED, entries).join('; ')];
    }),
  );
}

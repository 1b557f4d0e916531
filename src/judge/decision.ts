import { formatTaint, type Taint } from '../kubernetes/taint.ts';
import { atMost, presentableWarnings, printable } from '../kubernetes/text.ts';
import type { PolicyKind } from '../policy/policy.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { TaintMode } from '../policy/taint-policy.ts';
import type { TolerationMode } from '../policy/toleration-policy.ts';
import { auditKey, type Outcome, onTrial, removal } from './outcomes.ts';

/** The record that `field` of the policy is not satisfied by a node's taint, and what came of it. */
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

/** What an Audit policy reports, by the mode that only --audit keeps from being in force. */
function outcomeFor({ declared }: CompiledTaintPolicy, outcome: Outcome): Outcome {
  if (outcome.result !== 'Audited' || declared === 'Audit') return outcome;
  return onTrial(removal(declared === 'Restore' ? 'Restored' : 'Denied'));
}

/**
 * Which of the API server's two admission phases asks. Mutation reports what it changes, and of updates of nodes what the policies
 * that could stop them let pass; validation what is left to report on the final object. So nothing is said or counted twice.
 */
export type Phase = (typeof PHASES)[number];
export const PHASES = ['mutate', 'validate'] as const;

/** The rules about one kind of request, one function for each phase. `admission/judge-request.ts` calls the one of its phase. */
export type Judge<Request, Policies, Desired> = {
  readonly mutate: (request: Request, policies: Policies) => Decision<Desired>;
  readonly validate: (request: Request, policies: Policies) => Decision<never>;
};

/** One policy that one request does not satisfy, and what came of it. */
export type Violation = Outcome & {
  readonly policyKind: PolicyKind;
  readonly policy: string;
  /** The field of the policy that says so, for example `spec.taints[0]`. */
  readonly field: string;
  readonly mode: TaintMode | TolerationMode;
  /** The taint or toleration, as kubectl would write it; printable. */
  readonly subject: string;
};

/** The violations of one policy with one outcome in one request, which one sentence reports. */
export type ViolationGroup = readonly [Violation, ...Violation[]];

export function groupViolations(violations: readonly Violation[]): ViolationGroup[] {
  const groups = Map.groupBy(violations, ({ policyKind, policy, mode, change, result, audit }) =>
    [policyKind, policy, mode, change, result, audit].join('/'),
  );
  // None is empty.
  return [...groups.values()] as [Violation, ...Violation[]][];
}

/** Taints and tolerations that one sentence lists. */
const MAX_SUBJECTS = 8;

/** What they are about, as one sentence lists it: each once, and not too many. */
export function listSubjects(found: readonly Pick<Violation, 'subject'>[]): string {
  return atMost(MAX_SUBJECTS, [...new Set(found.map(({ subject }) => subject))]).join(', ');
}

interface Findings {
  readonly violations: readonly Violation[];
  /** For the person at the other end, each on one line of at most 120 characters. */
  readonly warnings: readonly string[];
  /** For the API server's audit log, which puts the webhook's name before each key. */
  readonly auditAnnotations: Readonly<Record<string, string>>;
}

/** What the engine says of one request. `Desired` is what the object should look like after mutation. */
export type Decision<Desired> = Findings &
  (
    | { readonly action: 'allow' }
    | { readonly action: 'deny'; readonly message: string }
    | {
        readonly action: 'patch';
        readonly desired: Desired;
        /** The patch only sets startup taints, whose removal is reported: the request is not recorded. */
        readonly isRoutine?: true;
      }
  );

/** A node can carry thousands of taints; an audit event should stay readable. */
const MAX_ANNOTATED = 32;

/** Allowed as it is, with what there is to say of it. */
export function allow(violations: readonly Violation[] = [], warnings: readonly string[] = []): Decision<never> {
  return { action: 'allow', ...findings(violations, warnings) };
}

/** Refused; the message is for the requester. */
export function deny(message: string, violations: readonly Violation[]): Decision<never> {
  return { action: 'deny', message: printable(message), ...findings(violations, []) };
}

/** Allowed once the object looks as desired. */
export function patch<Desired>(
  desired: Desired,
  violations: readonly Violation[],
  warnings: readonly string[],
  { isRoutine = false } = {},
): Decision<Desired> {
  return { action: 'patch', desired, ...(isRoutine ? { isRoutine } : {}), ...findings(violations, warnings) };
}

/** What there is to say of nearly all requests. */
const NO_FINDINGS: Findings = { violations: [], warnings: [], auditAnnotations: {} };

function findings(violations: readonly Violation[], warnings: readonly string[]): Findings {
  if (violations.length === 0 && warnings.length === 0) return NO_FINDINGS;
  const shown = violations.map((violation) => ({ ...violation, subject: printable(violation.subject) }));
  return { violations: shown, warnings: presentableWarnings(warnings), auditAnnotations: auditAnnotations(shown) };
}

/** One annotation for each result, with and without --audit: `policy: subject` for each violation, joined by `; `, bounded in number. */
function auditAnnotations(violations: readonly Violation[]): Record<string, string> {
  return Object.fromEntries(
    [...Map.groupBy(violations, auditKey)].map(([key, found]) => {
      const entries = found.map(({ policy, subject }) => `${policy}: ${subject}`);
      return [key, atMost(MAX_ANNOTATED, entries).join('; ')];
    }),
  );
}

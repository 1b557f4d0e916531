import { presentableWarnings } from '../kubernetes/warnings.ts';
import { atMost } from '../text/counts.ts';
import { printable } from '../text/printable.ts';
import { auditKey } from './outcomes.ts';
import type { Violation } from './violation.ts';

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

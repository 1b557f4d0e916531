import type { Logger } from 'pino';
import type { Judgement } from '../admission/admit.ts';
import { type AdmissionRequest, shownUser } from '../admission/review.ts';
import { listSubjects, type ViolationGroup } from '../judge/decision.ts';
import { isWarning } from '../judge/outcomes.ts';
import { printable } from '../kubernetes/text.ts';

export interface FoundViolations {
  readonly request: AdmissionRequest;
  readonly kind: NonNullable<Judgement['kind']>;
  readonly groups: readonly ViolationGroup[];
  /** The address that the review came from. */
  readonly origin: string;
}

/** With hundreds of taints and hundreds of policies, a line lists as many as an entry of the audit log does. */
const MAX_LISTED = 32;

/**
 * One line for each policy and outcome. The message lists some of the subjects, and the fields list more: `subjectsLeftOut` counts the others.
 * Dry runs are logged only at level debug.
 */
export function logViolations(log: Logger, { request, kind, groups, origin }: FoundViolations): void {
  const uid = printable(request.uid);
  const name = printable([request.namespace, request.name].filter(Boolean).join('/'));
  const from = printable(origin);
  const user = shownUser(request);
  for (const violations of groups) {
    const [{ policyKind, policy, mode, outcome }] = violations;
    const listed = violations.slice(0, MAX_LISTED);
    const leftOut = violations.length - listed.length;
    const level = request.dryRun ? 'debug' : isWarning(outcome) ? 'warn' : 'info';
    log[level](
      {
        uid,
        operation: request.operation,
        kind,
        name,
        user,
        origin: from,
        policyKind,
        policy,
        fields: listed.map(({ field }) => field),
        mode,
        outcome,
        subjects: listed.map(({ subject }) => subject),
        ...(leftOut > 0 ? { subjectsLeftOut: leftOut } : {}),
      },
      `${outcome} ${listSubjects(violations)} on ${kind} ${name}: ${policyKind} ${policy}, user ${user}`,
    );
  }
}

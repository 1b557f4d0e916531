import type { Logger } from 'pino';
import type { Judgement } from '../admission/admit.ts';
import { type AdmissionRequest, shownUser } from '../admission/review.ts';
import { listSubjects, type Outcome, type ViolationGroup } from '../judge/decision.ts';
import { printable } from '../kubernetes/text.ts';

const LEVELS: Record<Outcome, 'info' | 'warn'> = {
  denied: 'warn',
  audited: 'warn',
  'would-deny': 'warn',
  'would-restore': 'warn',
  'would-add': 'warn',
  missing: 'warn',
  unselected: 'warn',
  'addition-denied': 'warn',
  'addition-audited': 'warn',
  'leaving-denied': 'warn',
  'leaving-audited': 'warn',
  reverted: 'info',
  'addition-exempt': 'info',
  restored: 'info',
  added: 'info',
  returned: 'info',
  announced: 'info',
  released: 'info',
  exempt: 'info',
};

export interface FoundViolations {
  readonly request: AdmissionRequest;
  readonly kind: NonNullable<Judgement['kind']>;
  readonly groups: readonly ViolationGroup[];
  /** The address that the review came from. */
  readonly origin: string;
}

/** One line for what each policy came to; the message lists some of the subjects, the fields all. Dry runs leave no trace but at level debug. */
export function logViolations(log: Logger, { request, kind, groups, origin }: FoundViolations): void {
  const uid = printable(request.uid);
  const name = printable([request.namespace, request.name].filter(Boolean).join('/'));
  const from = printable(origin);
  const user = shownUser(request);
  for (const violations of groups) {
    const [{ policyKind, policy, mode, outcome, by }] = violations;
    const level = request.dryRun ? 'debug' : LEVELS[outcome];
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
        fields: violations.map(({ field }) => field),
        mode,
        outcome,
        subjects: violations.map(({ subject }) => subject),
        ...(by ? { by } : {}),
      },
      `${outcome} ${listSubjects(violations)} on ${kind} ${name}: ${policyKind} ${policy}, user ${user}`,
    );
  }
}

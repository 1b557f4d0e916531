import type { Logger } from 'pino';
import type { Judgement } from '../admission/admit.ts';
import type { AdmissionRequest } from '../admission/review.ts';
import type { Outcome, ViolationGroup } from '../judge/decision.ts';
import { atMost, printable } from '../kubernetes/text.ts';

const LEVELS: Record<Outcome, 'info' | 'warn'> = {
  denied: 'warn',
  audited: 'warn',
  'would-deny': 'warn',
  'would-restore': 'warn',
  'would-add': 'warn',
  missing: 'warn',
  unselected: 'warn',
  postponed: 'warn',
  'over-budget': 'warn',
  uncounted: 'warn',
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

/** Taints and tolerations that one message lists; the fields of the line have them all. */
const MAX_SUBJECTS = 8;

/** One line for what each policy came to. Dry runs leave no trace but at level debug. */
export function logViolations(
  log: Logger,
  request: AdmissionRequest,
  kind: NonNullable<Judgement['kind']>,
  groups: readonly ViolationGroup[],
): void {
  const uid = printable(request.uid);
  const name = printable([request.namespace, request.name].filter(Boolean).join('/'));
  const user = printable(request.userInfo.username ?? '');
  for (const violations of groups) {
    const [{ policyKind, policy, mode, outcome, by }] = violations;
    const subjects = violations.map(({ subject }) => subject);
    const level = request.dryRun ? 'debug' : LEVELS[outcome];
    log[level](
      {
        uid,
        operation: request.operation,
        kind,
        name,
        user,
        policyKind,
        policy,
        fields: violations.map(({ field }) => field),
        mode,
        outcome,
        subjects,
        ...(by ? { by } : {}),
      },
      `${outcome} ${atMost(MAX_SUBJECTS, subjects).join(', ')} on ${kind} ${name}: ${policyKind} ${policy}, user ${user}`,
    );
  }
}

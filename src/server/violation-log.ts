import type { Logger } from 'pino';
import type { Judgement } from '../admission/admit.ts';
import type { AdmissionRequest } from '../admission/review.ts';
import type { Outcome } from '../judge/decision.ts';
import { printable } from '../kubernetes/text.ts';

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

/** One line for each violation. Dry runs leave no trace but at level debug. */
export function logViolations(log: Logger, request: AdmissionRequest, { kind, decision }: Judgement): void {
  if (decision.violations.length === 0) return;
  const uid = printable(request.uid);
  const name = printable([request.namespace, request.name].filter(Boolean).join('/'));
  const user = printable(request.userInfo.username ?? '');
  for (const { policyKind, policy, field, mode, outcome, subject, by } of decision.violations) {
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
        field,
        mode,
        outcome,
        subject,
        ...(by ? { by } : {}),
      },
      `${outcome} ${subject} on ${kind} ${name}: ${policyKind} ${policy}, user ${user}`,
    );
  }
}

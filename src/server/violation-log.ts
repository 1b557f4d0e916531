import type { Logger } from 'pino';
import { type AdmissionRequest, shownUser } from '../admission/admission-review.ts';
import type { Judgement } from '../admission/judge-request.ts';
import { isWarning, type Outcome, outcomeText } from '../judge/outcomes.ts';
import { listSubjects, type ViolationGroup } from '../judge/violation.ts';
import { printable } from '../text/printable.ts';
import { type LogLine, throttledLog } from './throttled-log.ts';

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
 * Logs violations: one line for each policy and outcome. The message lists some of the subjects, and the fields list more: `subjectsLeftOut` counts
 * the others. Dry runs are logged only at level debug. A refusal that is repeated (the same sender, user, object, policy and subjects) is throttled:
 * Talos repeats a refused update three times a second.
 */
export function violationLog(log: Logger): (found: FoundViolations) => void {
  const logRefusal = throttledLog(log);
  return (found) => {
    for (const violations of found.groups) {
      const line = lineOf(found, violations);
      const { level, fields, message } = line;
      if (found.request.dryRun || !isRefusal(violations[0])) {
        log[level](fields, message);
        continue;
      }
      const { origin, user, kind, name, policy } = fields;
      const subjects = violations.map(({ subject }) => subject);
      logRefusal(line, { origin, part: name }, user, kind, policy, subjects);
    }
  };
}

function isRefusal({ result, audit }: Outcome): boolean {
  return result === 'Denied' && !audit;
}

function lineOf({ request, kind, origin }: FoundViolations, violations: ViolationGroup) {
  const [first] = violations;
  const { policyKind, policy, mode, change, result, audit } = first;
  const name = printable([request.namespace, request.name].filter(Boolean).join('/'));
  const user = shownUser(request);
  const listed = violations.slice(0, MAX_LISTED);
  const leftOut = violations.length - listed.length;
  const level: LogLine['level'] = request.dryRun ? 'debug' : isWarning(first) ? 'warn' : 'info';
  return {
    level,
    fields: {
      uid: printable(request.uid),
      operation: request.operation,
      kind,
      name,
      user,
      origin: printable(origin),
      policyKind,
      policy,
      fields: listed.map(({ field }) => field),
      mode,
      change,
      result,
      audit,
      subjects: listed.map(({ subject }) => subject),
      ...(leftOut > 0 ? { subjectsLeftOut: leftOut } : {}),
    },
    message: `${outcomeText(first)} ${listSubjects(violations)} on ${kind} ${name}: ${policyKind} ${policy}, user ${user}`,
  };
}

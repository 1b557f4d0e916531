import type { Violation } from '../policy/decision.ts';
import type { JudgedRequest } from '../server/admission-server.ts';
import { keepPatch } from './patch-changes.ts';
import type { PageDecision } from './state.ts';

/** A decision as it is remembered: nothing of it refers to the request's objects, which may have megabytes. */
export interface KeptDecision {
  readonly id: string;
  /** Made for whoever reads it. */
  readonly view: () => PageDecision;
}

const MAX_VIOLATIONS = 16;

/** Names have at most 253 characters, and users seldom more; only what nobody has validated yet is longer. */
const MAX_CHARACTERS = 512;

/** A refusal names up to eight taints. */
const MAX_MESSAGE_CHARACTERS = 4_096;

const VERDICTS = { allow: 'allowed', deny: 'denied', patch: 'patched' } as const;

export function keepDecision(
  { request, judgement, phase }: JudgedRequest,
  kind: PageDecision['kind'],
  { id, replica, at }: { readonly id: string; readonly replica: string; readonly at: Date },
): KeptDecision {
  const { uid, operation, namespace, dryRun, userInfo } = request;
  const { verdict, violations, warnings } = judgement.decision;
  const message = judgement.decision.verdict === 'deny' ? judgement.decision.message : undefined;
  const changes = keepPatch(request.object, judgement.patch);
  const texts = {
    uid: bounded(uid),
    operation: bounded(operation),
    ...(namespace ? { namespace: bounded(namespace) } : {}),
    name: bounded(request.name ?? ''),
    user: bounded(userInfo.username ?? ''),
    ...(message === undefined ? {} : { message: bounded(message, MAX_MESSAGE_CHARACTERS) }),
  };
  const shown = violations.slice(0, MAX_VIOLATIONS).map(boundedSubject);
  const violationsLeftOut = violations.length - shown.length;

  return {
    id,
    view: () => ({
      id,
      time: at.toISOString(),
      ...texts,
      replica,
      phase,
      kind,
      dryRun: dryRun ?? false,
      verdict: VERDICTS[verdict],
      warnings,
      violations: shown,
      violationsLeftOut,
      changes: changes?.() ?? [],
      changesLeftOut: changes === undefined,
    }),
  };
}

function boundedSubject(violation: Violation): Violation {
  const subject = bounded(violation.subject);
  return subject === violation.subject ? violation : { ...violation, subject };
}

/** The text, or as much of it as is shown: by way of bytes, because a part of a string keeps the whole of it alive. */
function bounded(text: string, length = MAX_CHARACTERS): string {
  return text.length <= length ? text : `${Buffer.from(text.slice(0, length)).toString()}…`;
}

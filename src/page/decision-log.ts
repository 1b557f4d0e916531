import { randomUUID } from 'node:crypto';
import type { Violation } from '../judge/decision.ts';
import { type TokenBucket, tokenBucket } from '../runtime/rate-limit.ts';
import type { JudgedRequest } from '../server/admission-server.ts';
import { keepPatch } from './patch-changes.ts';
import type { PageDecision } from './state.ts';

/**
 * A decision as it is remembered: as text. Nothing of it refers to the request's objects, which may have megabytes, and V8's collector
 * has little to keep: the many small ones of a decision took longer than to judge it (decision 43).
 */
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

function keepDecision(
  { request, judgement, phase }: JudgedRequest,
  kind: PageDecision['kind'],
  { id, replica, at, unlisted }: Pick<PageDecision, 'id' | 'replica' | 'unlisted'> & { readonly at: Date },
): KeptDecision {
  const { uid, operation, namespace, dryRun, userInfo } = request;
  const { verdict, violations, warnings } = judgement.decision;
  const message = judgement.decision.verdict === 'deny' ? judgement.decision.message : undefined;
  const changes = keepPatch(request.object, judgement.patch);
  const shown = violations.slice(0, MAX_VIOLATIONS).map(boundedSubject);
  const text = JSON.stringify({
    uid: bounded(uid),
    operation: bounded(operation),
    ...(namespace ? { namespace: bounded(namespace) } : {}),
    name: bounded(request.name ?? ''),
    user: bounded(userInfo.username ?? ''),
    ...(message === undefined ? {} : { message: bounded(message, MAX_MESSAGE_CHARACTERS) }),
    replica,
    phase,
    kind,
    dryRun: dryRun ?? false,
    verdict: VERDICTS[verdict],
    warnings,
    violations: shown,
    violationsLeftOut: violations.length - shown.length,
    unlisted,
  } satisfies Omit<PageDecision, 'id' | 'time' | 'changes' | 'changesLeftOut'>);

  return {
    id,
    view: () => ({
      ...JSON.parse(text),
      id,
      time: at.toISOString(),
      changes: changes?.() ?? [],
      changesLeftOut: changes === undefined,
    }),
  };
}

function boundedSubject(violation: Violation): Violation {
  const subject = bounded(violation.subject);
  return subject === violation.subject ? violation : { ...violation, subject };
}

/** The text, or as much of it as is shown. */
function bounded(text: string, length = MAX_CHARACTERS): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}

/** How many decisions are remembered: enough to see what went on, and a few megabytes at the very most. */
const MAX_DECISIONS = 200;

/** Of one user: so many at once, and then five a second. Who repeats a request without end would leave no room for the others. */
const USER_BURST = 100;
const USER_REFILL_MS = 200;

/** Whoever has asked after so many others begins anew. */
const MAX_USERS = 256;

/** Who may have a place in the list: how many of the user's decisions had none since the last one that had, or undefined for none now. */
function placesOfUsers(): (user: string) => number | undefined {
  const users = new Map<string, { readonly bucket: TokenBucket; unlisted: number }>();
  return (user) => {
    let one = users.get(user);
    if (!one) {
      if (users.size >= MAX_USERS) users.clear();
      one = { bucket: tokenBucket(USER_BURST, USER_REFILL_MS), unlisted: 0 };
      users.set(user, one);
    }
    if (!one.bucket.take()) {
      one.unlisted++;
      return undefined;
    }
    const { unlisted } = one;
    one.unlisted = 0;
    return unlisted;
  };
}

/** The latest decisions of this process. */
export interface DecisionLog {
  /** Takes what was just judged. Cheap: whatever is for readers is made when there are any. */
  record(judged: JudgedRequest): void;
  /** The remembered ones, the oldest first. */
  latest(): KeptDecision[];
  /** Calls the listener with each one from now on; the function that is returned ends it. */
  follow(listener: (decision: KeptDecision) => void): () => void;
}

export interface DecisionLogOptions {
  /** This process' name. */
  readonly replica: string;
  readonly now?: () => Date;
  readonly capacity?: number;
}

export function createDecisionLog({
  replica,
  now = () => new Date(),
  capacity = MAX_DECISIONS,
}: DecisionLogOptions): DecisionLog {
  // A process that was started anew counts from the beginning.
  const run = randomUUID().slice(0, 8);
  const ring: KeptDecision[] = [];
  const listeners = new Set<(decision: KeptDecision) => void>();
  const placeOf = placesOfUsers();
  let count = 0;

  return {
    record(judged) {
      const { kind, decision } = judged.judgement;
      // Most requests are none of our business, and would leave no room for those that are.
      if (kind === undefined || (decision.verdict === 'allow' && decision.violations.length === 0)) return;
      const unlisted = placeOf(bounded(judged.request.userInfo.username ?? ''));
      if (unlisted === undefined) return;
      const kept = keepDecision(judged, kind, { id: `${replica}/${run}/${count}`, replica, at: now(), unlisted });
      ring[count++ % capacity] = kept;
      for (const listener of listeners) listener(kept);
    },
    latest: () =>
      count <= capacity ? [...ring] : [...ring.slice(count % capacity), ...ring.slice(0, count % capacity)],
    follow(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

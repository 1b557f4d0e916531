import { randomUUID } from 'node:crypto';
import type { Violation } from '../judge/decision.ts';
import { createFairMap, type EntrySource } from '../runtime/fair-map.ts';
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

const RESULTS = { allow: 'allowed', deny: 'denied', patch: 'patched' } as const;

function keepDecision(
  { request, judgement, phase, origin }: JudgedRequest,
  kind: PageDecision['kind'],
  { id, replica, at, unlisted }: Pick<PageDecision, 'id' | 'replica' | 'unlisted'> & { readonly at: Date },
): KeptDecision {
  const { uid, operation, namespace, userInfo } = request;
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
    origin: bounded(origin),
    replica,
    phase,
    kind,
    result: RESULTS[verdict],
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

/** The users whose limits are known. A review can name any user, so those of one origin make room for each other. */
const MAX_USERS = 256;

/** How many of a user's decisions had no place in the list since the last one that had; undefined if there is no place now. */
function placesOfUsers(): (source: EntrySource) => number | undefined {
  const users = createFairMap<{ readonly bucket: TokenBucket; unlisted: number }>(MAX_USERS);
  return (source) => {
    const key = JSON.stringify([source.origin, source.part]);
    const one = users.get(key) ?? { bucket: tokenBucket(USER_BURST, USER_REFILL_MS), unlisted: 0 };
    users.set(key, one, source);
    if (!one.bucket.take()) {
      one.unlisted++;
      return undefined;
    }
    const { unlisted } = one;
    one.unlisted = 0;
    return unlisted;
  };
}

/** The latest decisions of this process, of which no origin and no user takes the places of others. */
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
  const kept = createFairMap<KeptDecision>(capacity);
  const listeners = new Set<(decision: KeptDecision) => void>();
  const placeOf = placesOfUsers();
  let count = 0;

  return {
    record(judged) {
      const { kind, decision: decided } = judged.judgement;
      // Nothing came of it. GitOps controllers and doctor send many, which would leave no room for the others.
      if (judged.request.dryRun) return;
      // Most requests are none of our business, and would leave no room for those that are.
      if (kind === undefined || (decided.verdict === 'allow' && decided.violations.length === 0)) return;
      const source = { origin: judged.origin, part: bounded(judged.request.userInfo.username ?? '') };
      const unlisted = placeOf(source);
      if (unlisted === undefined) return;
      const id = `${replica}/${run}/${count++}`;
      const decision = keepDecision(judged, kind, { id, replica, at: now(), unlisted });
      kept.set(id, decision, source);
      for (const listener of listeners) listener(decision);
    },
    latest: kept.values,
    follow(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

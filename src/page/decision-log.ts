import { randomUUID } from 'node:crypto';
import { createFairMap, type EntrySource } from '../collections/fair-map.ts';
import { outcomeText } from '../judge/outcomes.ts';
import { isPerson } from '../judge/request/pod-authorization.ts';
import type { Violation } from '../judge/violation.ts';
import type { JudgedRequest } from '../server/reviewer.ts';
import { keepPatch } from './patch-changes.ts';
import type { PageDecision, PageViolation } from './state.ts';
import { userLimits } from './user-limits.ts';

/**
 * A decision as it is kept: as text. It has no references to the request's objects, which may have megabytes. Many small objects would cost
 * V8's garbage collector more time than judging the request (decision 43).
 */
export interface KeptDecision {
  readonly id: string;
  /** Present if it denied a request of a component. */
  readonly denied?: DeniedRequest;
  /** Parses it for a reader. */
  readonly view: () => PageDecision;
}

interface DeniedRequest {
  readonly user: string;
  readonly object: string;
  readonly origin: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly policies: readonly string[];
}

/** The denied requests of one component. */
export interface DenialsOfComponent {
  readonly user: string;
  /** A lower bound: the log omits what exceeds its limits, and what other replicas and earlier processes denied. */
  readonly count: number;
  /** The names of the policies that denied them. */
  readonly policies: readonly string[];
  /** The names of the objects that they were about. */
  readonly objects: readonly string[];
  /** The addresses of the senders. A review can name any user, but cannot forge its sender's address. */
  readonly origins: readonly string[];
}

/** How long a denied request counts as a problem. */
const DENIED_MS = 3_600_000;

/** The users of kubelets, controllers and service accounts. */
const isComponent = (user: string) => !isPerson({ user, hasController: false });

const MAX_VIOLATIONS = 16;

/** Names have 253 characters at most. Only values that are not validated yet are longer. */
const MAX_CHARACTERS = 512;

/** A denial names up to eight taints. */
const MAX_MESSAGE_CHARACTERS = 4_096;

const RESULTS = { allow: 'allowed', deny: 'denied', patch: 'patched' } as const;

/** A decision without what only the list knows. */
type UnlistedDecision = (entry: Pick<PageDecision, 'id' | 'unlisted'>) => KeptDecision;

function keepDecision(
  { request, judgement, phase, origin }: JudgedRequest,
  kind: PageDecision['kind'],
  { replica, at }: Pick<PageDecision, 'replica'> & { readonly at: Date },
): UnlistedDecision {
  const { uid, operation, namespace, userInfo } = request;
  const { action, violations, warnings } = judgement.decision;
  const message = judgement.decision.action === 'deny' ? judgement.decision.message : undefined;
  const changes = keepPatch(request.object, judgement.patch);
  const shown = violations.slice(0, MAX_VIOLATIONS).map(shownViolation);
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
    result: RESULTS[action],
    warnings,
    violations: shown,
    violationsLeftOut: violations.length - shown.length,
  } satisfies Omit<PageDecision, 'id' | 'time' | 'changes' | 'changesLeftOut' | 'unlisted'>);

  const user = bounded(userInfo.username ?? '');
  const policies = [...new Set(shown.map(({ policy }) => policy))];
  const denied =
    action === 'deny' && isComponent(user)
      ? { user, object: bounded(request.name ?? ''), origin: bounded(origin), at: at.getTime(), policies }
      : undefined;
  return unlistedDecision({ text, at, changes, denied });
}

/** V8 keeps all that the functions of one scope use for as long as one of them lives: those that are kept are made here, without the request. */
function unlistedDecision({
  text,
  at,
  changes,
  denied,
}: {
  readonly text: string;
  readonly at: Date;
  readonly changes: ReturnType<typeof keepPatch>;
  readonly denied: DeniedRequest | undefined;
}): UnlistedDecision {
  return ({ id, unlisted }) => ({
    id,
    ...(denied ? { denied } : {}),
    view: () => ({
      ...JSON.parse(text),
      id,
      unlisted,
      time: at.toISOString(),
      changes: changes?.() ?? [],
      changesLeftOut: changes === undefined,
    }),
  });
}

function shownViolation(violation: Violation): PageViolation {
  return { ...violation, subject: bounded(violation.subject), outcome: outcomeText(violation) };
}

/** The text, shortened to what is shown. */
function bounded(text: string, length = MAX_CHARACTERS): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}

/** How many decisions are kept: a few megabytes at most. */
const MAX_DECISIONS = 200;

/** The latest decisions of this process. No origin and no user can displace those of others. */
export interface DecisionLog {
  /** Keeps a judged request. Cheap: the view is made when a reader asks. */
  record(judged: JudgedRequest): void;
  /** Prepares a judged request, without references to its objects. The returned function keeps it. */
  prepare(judged: JudgedRequest): () => void;
  /** The kept decisions, the oldest first. */
  latest(): KeptDecision[];
  /** The denied requests of kubelets and controllers in the hour before `now` (milliseconds since the epoch). */
  denials(now: number): DenialsOfComponent[];
  /** Calls the listener with each decision from now on, until the returned function is called. */
  follow(listener: (decision: KeptDecision) => void): () => void;
}

export interface DecisionLogOptions {
  /** This process' name. */
  readonly replica: string;
  /** See `PageSources.now`. Default: the local time. */
  readonly now?: () => Date;
  readonly capacity?: number;
}

export function createDecisionLog({
  replica,
  now = () => new Date(),
  capacity = MAX_DECISIONS,
}: DecisionLogOptions): DecisionLog {
  // A new process counts from the beginning, so the ids have its start in them.
  const run = randomUUID().slice(0, 8);
  const kept = createFairMap<KeptDecision>(capacity);
  const listeners = new Set<(decision: KeptDecision) => void>();
  const unlistedBefore = userLimits();
  let count = 0;

  function list(source: EntrySource, decide: () => UnlistedDecision): void {
    const unlisted = unlistedBefore(source);
    if (unlisted === undefined) return;
    const id = `${replica}/${run}/${count++}`;
    const decision = decide()({ id, unlisted });
    kept.set(id, decision, source);
    for (const listener of listeners) listener(decision);
  }

  const sourceOf = ({ origin, request }: JudgedRequest) => ({
    origin,
    part: bounded(request.userInfo.username ?? ''),
  });

  return {
    record(judged) {
      const kind = shownKind(judged);
      if (kind) list(sourceOf(judged), () => keepDecision(judged, kind, { replica, at: now() }));
    },
    prepare(judged) {
      const kind = shownKind(judged);
      if (!kind) return () => {};
      const source = sourceOf(judged);
      const decision = keepDecision(judged, kind, { replica, at: now() });
      return () => list(source, () => decision);
    },
    latest: kept.values,
    denials(now) {
      const requests = kept
        .values()
        .flatMap(({ denied }) => (denied && Math.abs(now - denied.at) < DENIED_MS ? [denied] : []));
      return [...Map.groupBy(requests, ({ user }) => user)].map(([user, own]) => ({
        user,
        count: own.length,
        policies: [...new Set(own.flatMap(({ policies }) => policies))],
        objects: [...new Set(own.map(({ object }) => object))],
        origins: [...new Set(own.map(({ origin }) => origin))],
      }));
    },
    follow(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** The kind of the object. Undefined for a decision that is not shown. */
function shownKind({ request, judgement }: JudgedRequest): PageDecision['kind'] | undefined {
  const { kind, decision } = judgement;
  // Dry runs change nothing. GitOps controllers and doctor send many, which would displace the others.
  if (request.dryRun) return undefined;
  // Most requests match no policy, and would displace those that do.
  return decision.action === 'allow' && decision.violations.length === 0 ? undefined : kind;
}

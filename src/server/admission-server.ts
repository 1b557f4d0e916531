import type { Socket } from 'node:net';
import Fastify, { type FastifyError } from 'fastify';
import type { Logger } from 'pino';
import { type AdmissionRequest, decodeReview, nestedTooDeep } from '../admission/admission-review.ts';
import { type Judgement, judgeRequest } from '../admission/judge-request.ts';
import { nameOf, objectToCreate } from '../admission/request-events.ts';
import { answer, badRequest, internalError } from '../admission/response.ts';
import { groupViolations, PHASES, type Phase } from '../judge/decision.ts';
import { judgeTooLarge } from '../judge/request/too-large.ts';
import type { ObjectReference } from '../kubernetes/event.ts';
import { printable } from '../kubernetes/text.ts';
import { MalformedObjectError } from '../objects/object-meta.ts';
import type { PolicySet } from '../policy/policy-set.ts';
import { createFairMap } from '../runtime/fair-map.ts';
import { throttle } from '../runtime/rate-limit.ts';
import { followArrivals } from './arrivals.ts';
import { CLIENT_TIMEOUTS, type ClientTimeouts } from './connections.ts';
import {
  BODY_LIMIT_BYTES,
  DISCARDED_LIMIT_BYTES,
  keptBytesOf,
  parseBody,
  type ReceivedBody,
  type ReviewSubject,
  receiveBody,
} from './json-body.ts';
import type { AdmissionMetrics, RequestResult } from './metrics.ts';
import { identifyClients, type KnownClients, secureContext, type TlsPair } from './tls.ts';
import { violationLog } from './violation-log.ts';

/**
 * The limit for all unfinished bodies. They are outside of V8's heap, and joining the pieces of one needs its length once more. Half of the
 * container's 320 MiB is for the heap, and the program uses some 50.
 */
export const RECEIVED_LIMIT_BYTES = 8 * BODY_LIMIT_BYTES;

/** How many combinations of address and certificate problem are recorded, to limit the log of refused clients. */
const MAX_REFUSALS = 256;

export interface AdmissionServerOptions {
  readonly tls: TlsPair;
  /** Undefined: every client may call. */
  readonly clients?: KnownClients | undefined;
  /** The policies in force. If it throws, the answer is an error, so that the webhook's failurePolicy decides. */
  readonly policies: () => PolicySet;
  readonly metrics: AdmissionMetrics;
  readonly log: Logger;
  /** While true, the connection ends after its next answer. */
  readonly draining?: (connection: Socket) => boolean;
  /** Called with every judged request, also dry runs, except routine ones and those of `onCreation`. It must not throw. */
  readonly onJudged?: (judged: JudgedRequest) => void;
  /**
   * Called with a request that creates an object and has a violation or a patch, after it was allowed. The API server may refuse it afterwards, for example because the object
   * exists, so it decides when the request is recorded, and whether. Undefined: it is recorded as any other.
   */
  readonly onCreation?: (creation: JudgedCreation) => void;
  readonly timeouts?: ClientTimeouts;
}

/** A request and its decision. */
export interface JudgedRequest {
  readonly phase: Phase;
  readonly request: AdmissionRequest;
  readonly judgement: Judgement;
  /** The sender, which cannot be forged: see {@link identifyClients}. Any client may have sent it, with any content of `request`. */
  readonly origin: string;
}

/** A request that creates an object, and its decision. */
export interface JudgedCreation {
  readonly object: ObjectReference;
  /** With the object as it was sent, of any size: not to be kept. */
  readonly judged: JudgedRequest;
  /** The same without the object, and without the patch. */
  readonly withoutObject: JudgedRequest;
  /** Counts the outcomes in the metrics, and logs them. Keeps no reference to the object. */
  readonly report: () => void;
}

/**
 * The HTTPS server that answers AdmissionReviews on `POST /validate` and `POST /mutate`. It does not listen yet.
 *
 * A review with a uid that can be read always gets an AdmissionReview. If it cannot be judged, the HTTP status is an error (400, or 500 for an internal
 * error), so that the API server applies the webhook's failurePolicy. A review that is too large to parse gets a decision: see {@link judgeTooLarge}. Other
 * bodies get a JSON body `{ error }`, and so do, with 401, all requests of unknown
 * clients.
 */
export function createAdmissionServer({
  tls,
  clients,
  policies,
  metrics,
  log,
  draining = () => false,
  onJudged,
  onCreation,
  timeouts = CLIENT_TIMEOUTS,
}: AdmissionServerOptions) {
  const app = Fastify({
    https: {
      ...secureContext(tls, clients?.ca),
      // A client without a certificate gets an HTTP answer.
      ...(clients ? { requestCert: true, rejectUnauthorized: false } : {}),
      handshakeTimeout: timeouts.handshake,
      headersTimeout: timeouts.headers,
      connectionsCheckingInterval: timeouts.checkInterval,
    },
    requestTimeout: timeouts.headers + timeouts.body,
    keepAliveTimeout: timeouts.keepAlive,
    // Answers during shutdown: a refused request would be a failed update of a node.
    return503OnClosing: false,
  });

  // Otherwise a connection that was busy when the server began to close would stay open, and the shutdown would wait for it.
  let closing = false;
  app.addHook('preClose', (done) => {
    closing = true;
    done();
  });
  app.addHook('onSend', ({ raw }, reply, _payload, done) => {
    if (closing || draining(raw.socket)) reply.header('connection', 'close');
    done();
  });

  const arrivals = followArrivals({
    bytes: RECEIVED_LIMIT_BYTES,
    time: timeouts.body,
    patience: timeouts.patience,
    checkInterval: timeouts.checkInterval,
    onClosed: throttle((closed) =>
      log.warn({ closed }, 'too many bytes are being received: closed requests that were slow while others waited'),
    ),
  });
  app.addHook('onRequest', ({ raw }, reply, done) => {
    arrivals.begin(raw, () => {
      reply.code(408).header('connection', 'close').send({ error: 'the request took too long to arrive' });
    });
    done();
  });
  app.addHook('onClose', async () => arrivals.stop());

  const logViolations = violationLog(log);
  const clientOf = identifyClients(clients !== undefined);
  // The leader and `doctor` have no accepted certificate. Without the limit, each of their connections would be a line in the log.
  const refusals = createFairMap<() => void>(MAX_REFUSALS);
  const logRefusal = (address: string, objection: string) => {
    const key = `${address} ${objection}`;
    const say =
      refusals.get(key) ?? throttle((refused) => log.warn({ address, refused }, `refused a client: ${objection}`));
    refusals.set(key, say, { origin: address, part: objection });
    say();
  };
  if (clients) {
    app.addHook('onRequest', ({ raw, ip }, reply, done) => {
      const { objection } = clientOf(raw.socket);
      if (objection === undefined) return done();
      logRefusal(ip, objection);
      const refuse = () => reply.code(401).header('connection', 'close').send({ error: objection });
      // A connection that is closed with unread data is reset, and the answer may be lost.
      if (Number(raw.headers['content-length']) <= DISCARDED_LIMIT_BYTES) raw.once('end', refuse).resume();
      else refuse();
    });
  }

  app.server.on('request', (_request, response) => {
    metrics.requestStarted();
    response.once('close', metrics.requestEnded);
  });
  app.server.on('tlsClientError', (error) => {
    metrics.handshakeFailed();
    log.debug({ err: error }, 'TLS handshake failed');
  });

  // The policies parse the bodies that they judge. Fastify's own parser refuses a `__proto__` key. Such a review is answered like any other, because
  // fields are read by name and never merged.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', ({ raw }, _payload, done) => {
    arrivals.makeRoom(raw, keptBytesOf(raw), () => {
      receiveBody(raw).then(
        (body) => done(null, body),
        (error: Error) => done(error),
      );
    });
  });
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const status = error.statusCode ?? 500;
    // A client that closed the connection gets no answer.
    const isAnswered = error.code !== 'ECONNRESET';
    const phase = PHASES.find((one) => request.routeOptions.url === `/${one}`);
    if (phase && isAnswered) metrics.requestAnswered(phase, status >= 500 ? 'error' : 'malformed');
    if (status >= 500) {
      log.error({ err: error }, 'request failed');
      return reply.code(status).send({ error: 'internal error' });
    }
    const path = printable(request.url.split('?')[0] ?? '');
    const message = ERROR_MESSAGES[error.code] ?? error.message;
    const origin = printable(clientOf(request.raw.socket).origin);
    if (isAnswered) log.warn({ path, status, origin }, `unreadable request: ${printable(message)}`);
    if (status === 413) reply.header('connection', 'close');
    return reply.code(status).send({ error: message });
  });
  app.setNotFoundHandler((_request, reply) =>
    reply.code(404).send({ error: 'not found: POST an AdmissionReview to /validate or /mutate' }),
  );

  for (const phase of PHASES) {
    app.post(`/${phase}`, (request, reply) => {
      const start = performance.now();
      const { origin } = clientOf(request.raw.socket);
      const parsed = parseBody(request.body as ReceivedBody | undefined);
      const { status, body } = parsed.tooLarge
        ? reviewTooLarge(parsed.subject, phase, { origin, start })
        : review(parsed.value, phase, { origin, start });
      reply.code(status).type('application/json; charset=utf-8').send(JSON.stringify(body));
    });
  }
  return app;

  function report({ request, judgement: { kind, decision }, origin }: JudgedRequest): void {
    if (!kind || decision.violations.length === 0) return;
    const groups = groupViolations(decision.violations);
    if (!request.dryRun) for (const group of groups) metrics.violationFound(kind, group[0], group.length);
    logViolations({ request, kind, groups, origin });
  }

  /** To report later. V8 keeps all that the functions of one scope use for as long as one of them lives: this one is made without the object. */
  function reportOf(withoutObject: JudgedRequest): () => void {
    return () => report(withoutObject);
  }

  /** Whether it is a dry run is not known, so it counts as a request. */
  function reviewTooLarge(
    subject: ReviewSubject & { readonly uid: string },
    phase: Phase,
    { origin, start }: { origin: string; start: number },
  ): Reviewed {
    const count = (result: RequestResult) => metrics.requestAnswered(phase, result, (performance.now() - start) / 1000);
    const fields = { path: `/${phase}`, origin: printable(origin), ...subject };
    try {
      const decision = judgeTooLarge[phase](subject, policies());
      count(RESULTS[decision.action]);
      log.warn({ ...fields, allowed: decision.action !== 'deny' }, 'a review is too large');
      return { status: 200, body: answer(subject.uid, { kind: undefined, decision, patch: [] }) };
    } catch (error) {
      count('error');
      log.error({ err: error, ...fields }, 'judging failed');
      return { status: 500, body: internalError(subject.uid) };
    }
  }

  /** @param start when the request was complete, by performance.now() */
  function review(body: unknown, phase: Phase, { origin, start }: { origin: string; start: number }): Reviewed {
    const secondsSinceStart = () => (performance.now() - start) / 1000;

    const decoded = decodeReview(body);
    if (!decoded.ok) {
      metrics.requestAnswered(phase, 'malformed', secondsSinceStart());
      log.warn(
        { path: `/${phase}`, origin: printable(origin), uid: decoded.uid && printable(decoded.uid) },
        `malformed review: ${printable(decoded.message)}`,
      );
      const { uid, message } = decoded;
      return { status: 400, body: uid === undefined ? { error: message } : badRequest(uid, message) };
    }

    const { request } = decoded;
    const count = (result: RequestResult) =>
      request.dryRun ? metrics.dryRunAnswered(phase) : metrics.requestAnswered(phase, result, secondsSinceStart());
    try {
      return finish(judgeRequest(request, phase, policies()));
    } catch (thrown) {
      return fail(thrown);
    }

    function finish(judgement: Judgement): Reviewed {
      const body = answer(request.uid, judgement);
      count(RESULTS[judgement.decision.action]);
      try {
        record(judgement);
      } catch (err) {
        // The decision stands: an error would make the API server apply the failurePolicy instead.
        log.error({ err, ...context(request, phase, origin) }, 'the decision was not recorded');
      }
      return { status: 200, body };
    }

    function record(judgement: Judgement): void {
      if (isRoutine(judgement)) return;
      const judged = { phase, request, judgement, origin };
      const object = onCreation && hasFindings(judgement) ? objectToCreate(request, judgement) : undefined;
      if (onCreation && object) {
        const withoutObject = kept(judged);
        onCreation({ object, judged, withoutObject, report: reportOf(withoutObject) });
        return;
      }
      report(judged);
      onJudged?.(judged);
    }

    function fail(thrown: unknown): Reviewed {
      const error = nestedTooDeep(thrown, request) ?? thrown;
      if (error instanceof MalformedObjectError) {
        count('malformed');
        const level = request.dryRun ? 'debug' : 'warn';
        log[level](context(request, phase, origin), `malformed object: ${printable(error.message)}`);
        return { status: 400, body: badRequest(request.uid, error.message) };
      }
      count('error');
      log.error({ err: error, ...context(request, phase, origin) }, 'judging failed');
      return { status: 500, body: internalError(request.uid) };
    }
  }
}

function isRoutine({ decision }: Judgement): boolean {
  return decision.action === 'patch' && decision.isRoutine === true;
}

/** Whether there is something to record. */
function hasFindings({ decision, patch }: Judgement): boolean {
  return decision.violations.length > 0 || patch.length > 0;
}

/** The part of a judged request that can be kept. */
function kept(judged: JudgedRequest): JudgedRequest {
  const { request, judgement } = judged;
  const { kind, decision } = judgement;
  return {
    ...judged,
    request: { ...request, name: nameOf(request), object: undefined, oldObject: undefined },
    judgement: {
      kind,
      decision: decision.action === 'patch' ? { ...decision, desired: undefined } : decision,
      patch: [],
    },
  };
}

interface Reviewed {
  readonly status: number;
  readonly body: object;
}

/** Identifies a request in the log. */
function context({ uid, resource, namespace, name, userInfo }: AdmissionRequest, phase: Phase, origin: string): object {
  const fields = { uid, resource: resource.resource, namespace, name, user: userInfo.username, origin };
  return {
    path: `/${phase}`,
    ...Object.fromEntries(Object.entries(fields).map(([field, text]) => [field, text && printable(text)])),
  };
}

/** The message for the sender instead of Fastify's own, by its error codes. */
const ERROR_MESSAGES: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported content type: send application/json',
};

const RESULTS = { allow: 'allowed', deny: 'denied', patch: 'patched' } as const;

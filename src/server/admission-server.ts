import type { Socket } from 'node:net';
import Fastify, { type FastifyError } from 'fastify';
import type { Logger } from 'pino';
import { PHASES } from '../judge/decision.ts';
import { throttle } from '../runtime/throttle.ts';
import { printable } from '../text/printable.ts';
import { followArrivals } from './arrivals.ts';
import { CLIENT_TIMEOUTS, type ClientTimeouts } from './client-timeouts.ts';
import {
  BODY_LIMIT_BYTES,
  DISCARDED_LIMIT_BYTES,
  keptBytesOf,
  objectionToLength,
  type ReceivedBody,
  receiveBody,
} from './json-body.ts';
import type { AdmissionMetrics } from './metrics.ts';
import { holdBack, refuseChunks } from './pieces.ts';
import { requestFaultLog } from './request-fault-log.ts';
import { createReviewer, type ReviewerOptions } from './reviewer.ts';
import { type ConnectedClient, identifyClients, type KnownClients, secureContext, type TlsPair } from './tls.ts';

/**
 * The limit for all unfinished bodies. They are outside of V8's heap. Half of the container's 320 MiB is for the heap, and the program uses some 50.
 */
export const RECEIVED_LIMIT_BYTES = 8 * BODY_LIMIT_BYTES;

export interface AdmissionServerOptions extends ReviewerOptions {
  readonly tls: TlsPair;
  /** Undefined: every client may call. */
  readonly clients?: KnownClients | undefined;
  /** While true, the connection ends after its next answer. */
  readonly draining?: (connection: Socket) => boolean;
  readonly timeouts?: ClientTimeouts;
}

/**
 * The HTTPS server that answers AdmissionReviews on `POST /validate` and `POST /mutate`. It does not listen yet.
 *
 * A review with a uid that can be read always gets an AdmissionReview. If it cannot be judged, the HTTP status is an error (400, or 500 for an internal
 * error), so that the API server applies the webhook's failurePolicy. A review that is too large to parse gets a decision: see `judgeTooLarge`. Other
 * bodies get a JSON body `{ error }`, and so do, with 401, requests of unknown clients.
 */
export function createAdmissionServer(options: AdmissionServerOptions) {
  const { clients, metrics, log, timeouts = CLIENT_TIMEOUTS } = options;
  const app = httpsServer(options.tls, clients, timeouts);
  const clientOf = identifyClients(clients !== undefined);

  refuseChunks(app);
  endConnections(app, options.draining);
  limitBodies(app, timeouts, log);
  if (clients) refuseUnknownClients(app, clientOf, log);
  countConnections(app, metrics, log);
  answerErrors(app, clientOf, metrics, log);

  const review = createReviewer(options);
  for (const phase of PHASES) {
    app.post(`/${phase}`, (request, reply) => {
      const { origin } = clientOf(request.raw.socket);
      const { status, body } = review(request.body as ReceivedBody | undefined, phase, origin);
      reply.code(status).type('application/json; charset=utf-8').send(JSON.stringify(body));
    });
  }
  return app;
}

type HttpsServer = ReturnType<typeof httpsServer>;
type IdentifyClient = (socket: Socket) => ConnectedClient;

function httpsServer(tls: TlsPair, clients: KnownClients | undefined, timeouts: ClientTimeouts) {
  return Fastify({
    https: {
      ...secureContext(tls, clients?.ca),
      // A client without a certificate gets an HTTP answer.
      ...(clients ? { requestCert: true, rejectUnauthorized: false } : {}),
      handshakeTimeout: timeouts.handshakeMs,
      headersTimeout: timeouts.headersMs,
      connectionsCheckingInterval: timeouts.checkIntervalMs,
    },
    requestTimeout: timeouts.headersMs + timeouts.bodyMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    // Answers during shutdown: a refused request would be a failed update of a node.
    return503OnClosing: false,
  });
}

/** Otherwise a connection that was busy when the server began to close would stay open, and the shutdown would wait for it. */
function endConnections(app: HttpsServer, draining: (connection: Socket) => boolean = () => false): void {
  let closing = false;
  app.addHook('preClose', (done) => {
    closing = true;
    done();
  });
  app.addHook('onSend', ({ raw }, reply, _payload, done) => {
    if (closing || draining(raw.socket)) reply.header('connection', 'close');
    done();
  });
}

/** Receives each body as {@link ReceivedBody} once there is room for it, and answers 408 if it takes too long. */
function limitBodies(app: HttpsServer, { bodyMs, slowChecks, checkIntervalMs }: ClientTimeouts, log: Logger): void {
  const arrivals = followArrivals({
    bytes: RECEIVED_LIMIT_BYTES,
    bodyMs,
    slowChecks,
    checkIntervalMs,
    onClosed: throttle((closed) =>
      log.warn({ closed }, 'too many bytes are being received: closed requests that were slow while others waited'),
    ),
  });
  app.addHook('onRequest', ({ raw }, reply, done) => {
    arrivals.begin(raw, () => {
      reply.code(408).header('connection', 'close').send({ error: 'the request took too long to arrive' });
      // Node.js does not end a body of which it knows a reader.
      reply.raw.once('close', () => raw.destroy());
    });
    done();
  });
  app.addHook('onClose', async () => arrivals.stop());

  // The routes parse the bodies. Fastify's own parser refuses a `__proto__` key. Such a review is answered like any other, because fields are read by
  // name and never merged.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', ({ raw }, _payload, done) => {
    const objection = objectionToLength(raw);
    if (objection) return done(objection);
    let release: (() => void) | undefined;
    let hasRoom = false;
    arrivals.makeRoom(raw, keptBytesOf(raw), () => {
      hasRoom = true;
      release?.();
      receiveBody(raw).then(
        (body) => done(null, body),
        (error: Error) => done(error),
      );
    });
    if (!hasRoom && keptBytesOf(raw) > 0) release = holdBack(raw);
  });
}

/** Answers 401 to clients without an accepted certificate. */
function refuseUnknownClients(app: HttpsServer, clientOf: IdentifyClient, log: Logger): void {
  const logFault = requestFaultLog(log);
  app.addHook('onRequest', ({ raw, ip }, reply, done) => {
    const { objection } = clientOf(raw.socket);
    if (objection === undefined) return done();
    // The client can invent the name in a certificate that is not accepted.
    logFault({ level: 'warn', what: `refused a client: ${objection}`, origin: ip });
    const refuse = () => reply.code(401).header('connection', 'close').send({ error: objection });
    // A connection that is closed with unread data is reset, and the answer may be lost.
    if (Number(raw.headers['content-length']) <= DISCARDED_LIMIT_BYTES) raw.once('end', refuse).resume();
    else refuse();
  });
}

function countConnections(app: HttpsServer, metrics: AdmissionMetrics, log: Logger): void {
  app.server.on('request', (_request, response) => {
    metrics.requestStarted();
    response.once('close', metrics.requestEnded);
  });
  app.server.on('tlsClientError', (error) => {
    metrics.handshakeFailed();
    log.debug({ err: error }, 'TLS handshake failed');
  });
}

/** Answers requests without a review that can be read, and paths that do not exist. */
function answerErrors(app: HttpsServer, clientOf: IdentifyClient, metrics: AdmissionMetrics, log: Logger): void {
  const logFault = requestFaultLog(log);
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const status = error.statusCode ?? 500;
    // A client that closed the connection gets no answer.
    const isAnswered = error.code !== 'ECONNRESET';
    const phase = PHASES.find((one) => request.routeOptions.url === `/${one}`);
    if (phase && isAnswered) metrics.requestAnswered(phase, status >= 500 ? 'error' : 'malformed');
    const { origin } = clientOf(request.raw.socket);
    const path = printable(request.url.split('?')[0] ?? '');
    const fault = { origin, phase, fields: { path, status } };
    if (status >= 500) {
      logFault({ ...fault, level: 'error', what: 'request failed', fields: { ...fault.fields, err: error } });
      return reply.code(status).send({ error: 'internal error' });
    }
    const message = ERROR_MESSAGES[error.code] ?? error.message;
    if (isAnswered) logFault({ ...fault, level: 'warn', what: 'unreadable request', detail: message });
    if (status === 413) reply.header('connection', 'close');
    return reply.code(status).send({ error: message });
  });
  app.setNotFoundHandler((_request, reply) =>
    reply.code(404).send({ error: 'not found: POST an AdmissionReview to /validate or /mutate' }),
  );
}

/** The message for the sender instead of Fastify's own, by its error codes. */
const ERROR_MESSAGES: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported content type: send application/json',
};

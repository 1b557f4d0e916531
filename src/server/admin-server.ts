import type { Registry } from '@prometheus-io/client';
import Fastify, { type FastifyPluginAsync } from 'fastify';
import { refuseChunks } from './pieces.ts';

/** The parts of the program that {@link Check}s are about. */
export type CheckName = 'policies' | 'certificate' | 'webhooks' | 'drain' | 'shutdown';

/** The state of one part of the program, as `/readyz` shows it. */
export interface Check {
  readonly name: CheckName;
  /** `degraded`: a check needs attention, but requests are answered correctly. */
  readonly state: 'ok' | 'degraded' | 'failed';
  readonly detail: string;
}

export interface AdminServerOptions {
  readonly checks: () => readonly Check[];
  readonly registry: Registry;
  /** The page; undefined for none. */
  readonly page?: FastifyPluginAsync | undefined;
  readonly requestTimeoutMs?: number;
}

const REQUEST_TIMEOUT_MS = 10_000;

/** Node.js checks every 30 s by default: three times as long as a request may take. */
const CHECK_INTERVAL_MS = 1_000;

const SIGNS: Record<Check['state'], string> = { ok: '[+]', degraded: '[!]', failed: '[-]' };

/** The plain HTTP server for probes, metrics and the page: `/livez`, `/readyz`, `/checks`, `/metrics`, `/`. It does not listen yet. */
export function createAdminServer({
  checks,
  registry,
  page,
  requestTimeoutMs: requestTimeout = REQUEST_TIMEOUT_MS,
}: AdminServerOptions) {
  // No request is worth waiting for at shutdown. A connection without a request would otherwise never end.
  const app = Fastify({
    requestTimeout,
    http: { headersTimeout: requestTimeout, connectionsCheckingInterval: Math.min(requestTimeout, CHECK_INTERVAL_MS) },
    forceCloseConnections: true,
  });
  refuseChunks(app);
  // No request here has a body.
  app.removeAllContentTypeParsers();

  app.get('/livez', (_request, reply) => reply.type('text/plain').send('ok\n'));

  app.get('/readyz', (_request, reply) => {
    const found = checks();
    const ready = found.every(({ state }) => state !== 'failed');
    const lines = found.map(({ name, state, detail }) => `${SIGNS[state]} ${name} ${state}: ${detail}`);
    return reply
      .code(ready ? 200 : 503)
      .type('text/plain')
      .send(`${[...lines, ready ? 'ready' : 'not ready'].join('\n')}\n`);
  });

  // For programs, at a path of its own, because proxies replace answers with an error status.
  app.get('/checks', () => checks());

  app.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()));

  if (page) app.register(page);

  return app;
}

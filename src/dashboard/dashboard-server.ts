import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import { InputError } from '../files/text-files.ts';
import { createEventStreams, STREAM_LIMITS } from '../page/event-streams.ts';
import { PAGE_HEADERS, refusal } from '../page/trusted-request.ts';
import { messageOf } from '../runtime/error-message.ts';
import { type FaultLog, followFault } from '../runtime/fault-log.ts';
import { orAborted, pause, startDeadline } from '../runtime/pause.ts';
import { MAX_MERGED, mergeEvents } from './merged-events.ts';
import { get, type Replica, type Replicas } from './reachable-replicas.ts';

export interface DashboardOptions {
  /** The port on 127.0.0.1; 0 takes a free one. */
  readonly port: number;
  readonly find: () => Promise<Replicas>;
  readonly log: FaultLog;
  /** The interval between two searches for replicas and leader, in milliseconds. */
  readonly lookMs?: number;
  /** The time limit for a whole answer of a replica, in milliseconds. */
  readonly answerMs?: number;
}

export interface Dashboard {
  readonly url: string;
  stop(): Promise<void>;
}

const LOOK_MS = 2_000;
const ANSWER_MS = 10_000;

const LOOPBACK = '127.0.0.1';

/** The headers of the page's requests that are forwarded. */
const REQUEST_HEADERS = ['if-none-match', 'accept', 'accept-encoding'];

/** Headers of a single connection (RFC 9110, section 7.6.1), which are not forwarded. */
const CONNECTION_HEADERS = ['connection', 'keep-alive', 'transfer-encoding'];

/**
 * Starts a server on 127.0.0.1 for the user's browser. The page and its state come from the leader, or from any replica if there is no
 * leader. The events come from all replicas.
 * @throws InputError if it cannot listen on the port; the first error of `find`
 */
export async function startDashboard({
  port,
  find,
  log,
  lookMs = LOOK_MS,
  answerMs = ANSWER_MS,
}: DashboardOptions): Promise<Dashboard> {
  const app = Fastify({ forceCloseConnections: true });
  const streams = createEventStreams(PAGE_HEADERS, { ...STREAM_LIMITS, waitingEvents: 2 * MAX_MERGED });
  const events = mergeEvents(streams.send, log);
  const stopping = new AbortController();
  let shown = show(await find());

  app.addHook('onRequest', async (request, reply) => {
    const reason = refusal(request.headers);
    if (reason !== undefined) return reply.code(403).type('text/plain').send(`${reason}\n`);
  });
  app.get('/api/events', { exposeHeadRoute: false }, (_request, reply) => {
    reply.hijack();
    streams.open(reply.raw, events.latest());
  });
  app.get('/*', { exposeHeadRoute: false }, async (request, reply) => {
    const deadline = startDeadline(answerMs, `no answer within ${answerMs} ms`, stopping.signal);
    try {
      const answer = await get(shown, request.url, pick(request.headers), deadline.signal);
      answer.once('close', deadline.clear);
      reply.code(answer.statusCode ?? 502).headers(without(answer.headers, CONNECTION_HEADERS));
      return reply.send(answer);
    } catch (error) {
      deadline.clear();
      return reply
        .code(502)
        .type('text/plain')
        .send(`${shown.name} cannot be reached: ${messageOf(error)}\n`);
    }
  });

  try {
    await app.listen({ host: LOOPBACK, port });
  } catch (error) {
    events.stop();
    throw new InputError([`cannot listen on ${LOOPBACK} port ${port} (see --port): ${(error as Error).message}`]);
  }
  const looking = lookAgain();

  return {
    url: `http://${LOOPBACK}:${(app.server.address() as AddressInfo).port}/`,
    async stop() {
      stopping.abort(new Error('the dashboard stops'));
      events.stop();
      streams.stop();
      await Promise.all([looking, app.close()]);
    },
  };

  /** Follows the replicas. Returns the one whose page is shown. */
  function show({ replicas, leader }: Replicas): Replica {
    const [first] = replicas;
    const chosen = replicas.find(({ name }) => name === leader) ?? first;
    if (chosen === undefined) throw new Error('there is no replica');
    events.update(replicas, chosen.name);
    return chosen;
  }

  async function lookAgain(): Promise<void> {
    const fault = followFault(log, 'the replicas were found again');
    while (!stopping.signal.aborted) {
      await pause(lookMs, stopping.signal);
      if (stopping.signal.aborted) return;
      try {
        // The dashboard can stop although the API server does not answer.
        const found = await orAborted(find(), stopping.signal);
        fault.isOver();
        const before = shown.name;
        if (!stopping.signal.aborted) shown = show(found);
        if (shown.name !== before) log.info(`showing ${shown.name}`);
      } catch (error) {
        if (stopping.signal.aborted) return;
        const { message } = error as Error;
        fault.is(message, `cannot find the replicas, following the known ones: ${message}`);
      }
    }
  }
}

function pick(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    REQUEST_HEADERS.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );
}

function without(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || names.includes(name) ? [] : [[name, value]],
    ),
  );
}

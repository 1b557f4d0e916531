import type { FastifyInstance } from 'fastify';
import { lazy } from '../collections/lazy.ts';
import { messageOf } from '../runtime/error-message.ts';
import type { DecisionLog, KeptDecision } from './decision-log.ts';
import { createEventStreams, STREAM_LIMITS, type StreamEvent, type StreamLimits } from './event-streams.ts';
import { createExplanations, type ShownExplanation, UnexplainedError } from './explanations.ts';
import type { PageSources } from './page-sources.ts';
import { createStateFeed, type StateFeed } from './state-feed.ts';
import { buildOf, type PageFiles, readPageFiles, staticFiles } from './static-files.ts';
import { isReachedByLoopback, PAGE_HEADERS, refusal } from './trusted-request.ts';

export interface Page {
  readonly files: PageFiles;
  /** See {@link buildOf}. The states of the feed have it, too. */
  readonly build: string;
  readonly feed: StateFeed;
  readonly decisions: Pick<DecisionLog, 'latest' | 'follow'>;
  /** See {@link createExplanations}. */
  readonly explain: (what: string) => Promise<ShownExplanation>;
  /** See {@link PageSources.now}. */
  readonly now: PageSources['now'];
}

/** The interval at which the state is checked while there are clients, in milliseconds. */
const CHECK_MS = 1_000;

const LOOPBACK_ONLY =
  'the page shows users and nodes, and is for connections by loopback: kubectl port-forward, or taintkeeper dashboard';

/** The files may change with an upgrade: the browser revalidates them each time. */
const REVALIDATE = { 'cache-control': 'no-cache' } as const;

/**
 * A Fastify plugin with the page, its state and its events: `/` and the files, `/api/state`, `/api/events`, see `state.ts`, and
 * `/api/explain/`, see `explanations.ts`. All of it is read-only, and only for clients on loopback: see `trusted-request.ts`.
 */
export function pageRoutes(
  { files, build, feed, decisions, explain, now }: Page,
  limits: StreamLimits = STREAM_LIMITS,
  isNear: typeof isReachedByLoopback = isReachedByLoopback,
) {
  return async (app: FastifyInstance): Promise<void> => {
    const streams = createEventStreams(PAGE_HEADERS, limits);
    const endFollowing = decisions.follow((decision) => {
      // The answer to the admission request has priority.
      if (streams.size > 0) setImmediate(() => streams.send(eventOf(decision)));
    });
    const watch = watchState(
      feed,
      (etag) => streams.send(stateEvent(etag)),
      () => streams.size > 0,
    );
    app.addHook('preClose', async () => {
      endFollowing();
      watch.stop();
      streams.stop();
    });

    app.addHook('onRequest', async (request, reply) => {
      reply.headers(PAGE_HEADERS);
      const reason = isNear(request.raw.socket) ? refusal(request.headers) : LOOPBACK_ONLY;
      if (reason !== undefined) return reply.code(403).type('text/plain').send(`${reason}\n`);
    });

    for (const { path, type, etag, body } of staticFiles(files, build)) {
      app.get(path, (request, reply) => {
        reply.headers({ ...REVALIDATE, etag });
        return isKnown(etag, request.headers) ? reply.code(304).send() : reply.type(type).send(body);
      });
    }

    app.get('/api/state', async (request, reply) => {
      const { etag, body } = await feed.current();
      // The page counts ages from this time. A state that has not changed is not sent again, so the body cannot say it.
      reply.headers({ ...REVALIDATE, etag, date: now().toUTCString() });
      return isKnown(etag, request.headers)
        ? reply.code(304).send()
        : reply.type('application/json; charset=utf-8').send(body);
    });

    app.get<{ Params: { '*': string } }>('/api/explain/*', async (request, reply) => {
      reply.header('cache-control', 'no-store');
      try {
        return reply.send(await explain(request.params['*']));
      } catch (error) {
        const status = error instanceof UnexplainedError ? error.statusCode : 502;
        return reply
          .code(status)
          .type('text/plain; charset=utf-8')
          .send(`${messageOf(error)}\n`);
      }
    });

    app.get('/api/events', { exposeHeadRoute: false }, async (request, reply) => {
      const { etag } = await feed.current();
      const missed = since(decisions.latest(), request.headers['last-event-id']);
      reply.hijack();
      streams.open(reply.raw, [stateEvent(etag), ...missed.map(eventOf)]);
      watch.start(etag);
    });
  };
}

/** The decisions after the last one that the reader has. All of them if that one is not kept any more. */
function since(decisions: readonly KeptDecision[], lastId: string | string[] | undefined): readonly KeptDecision[] {
  return decisions.slice(decisions.findIndex(({ id }) => id === lastId) + 1);
}

function eventOf({ id, view }: KeptDecision): StreamEvent {
  return { type: 'decision', id, data: lazy(() => JSON.stringify(view())) };
}

function stateEvent(etag: string): StreamEvent {
  return { type: 'state', data: () => JSON.stringify(etag) };
}

/** Reports changes of the state while there are clients. */
function watchState(feed: StateFeed, tell: (etag: string) => void, isWatched: () => boolean) {
  let timer: NodeJS.Timeout | undefined;
  let sentEtag: string | undefined;

  async function check(): Promise<void> {
    if (!isWatched()) return stop();
    // A client that requests the state gets the error.
    const state = await feed.current().catch(() => undefined);
    if (state === undefined || state.etag === sentEtag) return;
    sentEtag = state.etag;
    tell(sentEtag);
  }

  function stop(): void {
    clearInterval(timer);
    timer = undefined;
  }

  return {
    /** @param etag of the state that the latest reader knows */
    start(etag: string): void {
      if (timer !== undefined) return;
      sentEtag = etag;
      timer = setInterval(check, CHECK_MS).unref();
    },
    stop,
  };
}

/** Whether the client has what the entity tag is for (RFC 9110, section 13.1.2). */
function isKnown(etag: string, headers: { readonly 'if-none-match'?: string | undefined }): boolean {
  return (headers['if-none-match'] ?? '').split(',').some((known) => known.trim().replace(/^W\//, '') === etag);
}

/** All that the page needs. It costs nothing while there are no clients. */
export async function openPage(decisions: DecisionLog, sources: PageSources): Promise<Page> {
  const explain = createExplanations(sources);
  const files = await readPageFiles();
  const build = buildOf(files);
  return {
    files,
    build,
    feed: createStateFeed(sources, { build, denials: decisions.denials }),
    decisions,
    explain,
    now: sources.now,
  };
}

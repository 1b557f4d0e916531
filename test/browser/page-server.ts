import Fastify from 'fastify';
import type { DecisionLog } from '../../src/page/decision-log.ts';
import { createExplanations } from '../../src/page/explanations.ts';
import { pageRoutes } from '../../src/page/page-routes.ts';
import type { PageSources } from '../../src/page/page-sources.ts';
import { createStateFeed } from '../../src/page/state-feed.ts';
import { buildOf, readPageFiles } from '../../src/page/static-files.ts';

export interface PageServer {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * The page as the program serves it, of sources that need not be a program.
 * @param at the time that answers bear, in place of the real one
 */
export async function servePage(
  { sources, decisions }: { sources: PageSources; decisions: DecisionLog },
  { at, port = 0 }: { at?: Date; port?: number } = {},
): Promise<PageServer> {
  const app = Fastify({ forceCloseConnections: true });
  const files = await readPageFiles();
  const build = buildOf(files);
  await app.register(
    pageRoutes({
      files,
      build,
      feed: createStateFeed(sources, { build, denials: decisions.denials }),
      decisions,
      explain: createExplanations(sources),
      now: at ? () => at : sources.now,
    }),
  );
  const url = await app.listen({ host: '127.0.0.1', port });
  return { url, stop: () => app.close() };
}

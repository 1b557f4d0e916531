import type { DecisionLog } from './decision-log.ts';
import type { Page } from './page-routes.ts';
import { createStateFeed, type PageSources } from './state-feed.ts';
import { readPageFiles } from './static-files.ts';

/** Everything that the page is made of; it costs nothing while nobody looks. */
export async function openPage(decisions: DecisionLog, exposed: boolean, sources: PageSources): Promise<Page> {
  return { files: await readPageFiles(), feed: createStateFeed(sources), decisions, exposed };
}

import type { ApiClient, Query } from './client/api-client.ts';
import { ApiError } from './client/api-error.ts';
import { listPages } from './watch/list-pages.ts';

/** A Node has 30 to 60 KB: ten megabytes at most. */
const PAGE_SIZE = 250;
const EXPIRED = 410;
const MAX_ATTEMPTS = 3;

/**
 * Lists once, page by page, and keeps of each object only what `project` makes of it.
 * @throws ApiError, and whatever `project` throws
 */
export async function listObjects<T>(
  client: ApiClient,
  path: string,
  project: (object: unknown) => T,
  query: Query = {},
): Promise<T[]> {
  for (let attempt = 1; ; attempt++) {
    const found: T[] = [];
    try {
      const options = { query, pageSize: PAGE_SIZE, signal: new AbortController().signal };
      for await (const { items } of listPages(client, path, options)) found.push(...items.map(project));
      return found;
    } catch (error) {
      // The rest of a list that took too long is no longer to be had.
      if (!(error instanceof ApiError) || error.status !== EXPIRED || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

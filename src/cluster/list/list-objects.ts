import type { ApiClient, Query } from '../client/api-client.ts';
import { isExpired } from '../client/api-error.ts';
import { listPages } from './list-pages.ts';

/** Attempts for a list whose rest is no longer available, because the pages before it took too long. */
const MAX_ATTEMPTS = 3;

/**
 * A whole list, of which only the result of `project` is kept for each object.
 * @throws ApiError, and whatever `project` throws
 */
export async function listObjects<T>(
  client: ApiClient,
  path: string,
  project: (object: unknown) => T,
  query: Query = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<T[]> {
  for (let attempt = 1; ; attempt++) {
    const found: T[] = [];
    try {
      for await (const { items } of listPages(client, path, { query, signal })) found.push(...items.map(project));
      return found;
    } catch (error) {
      if (!isExpired(error) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

/**
 * A whole list if it is short, in one attempt.
 * @returns undefined for more than `most` objects, or if the time is over
 * @throws ApiError, and whatever `project` throws
 */
export async function listFew<T>(
  client: ApiClient,
  path: string,
  project: (object: unknown) => T,
  { most, timeoutMs }: { readonly most: number; readonly timeoutMs: number },
): Promise<T[] | undefined> {
  const found: T[] = [];
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    for await (const { items } of listPages(client, path, { query: {}, signal })) {
      found.push(...items.map(project));
      if (found.length > most) return undefined;
    }
    return found;
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

import type { ApiClient, Query } from '../client/api-client.ts';
import { AnswerTooLongError, ApiError } from '../client/api-error.ts';

/** A page of large objects may take an API server that has just started longer than most requests. */
const PAGE_TIMEOUT_MS = 20_000;

/**
 * A longer page is not read: the same part of the list is read in smaller pages. The text of a page and its objects are in memory at the same time, and
 * objects may take 20 times the bytes of their text: `{},` in the list of images of a node. A page of one object may be longer, because etcd accepts
 * at most 1.5 MiB for it.
 */
export const MAX_PAGE_BYTES = 2 * 1024 * 1024;
/** After so many pages that fit, the next one may have twice as many objects. */
const GROW_AFTER = 4;

/** A part of a list. */
export interface Page {
  readonly items: readonly unknown[];
  /** Of the whole list: all pages show the same state. */
  readonly resourceVersion: string;
}

/**
 * Lists page by page, so that only one page is in memory at a time. A page has at most `pageSize` objects and {@link MAX_PAGE_BYTES}.
 *
 * It requests no `resourceVersion`, so the result is not older than now. `resourceVersion=0` would spare the API server a request to etcd. But the
 * result may be older than a state that this process has seen from another API server, and `limit` is ignored: a list of 5,000 nodes is one text of
 * 200 MB.
 *
 * @throws ApiError, with status 410 if the rest of the list is no longer available; Error for an answer that is no list
 */
export async function* listPages(
  client: ApiClient,
  path: string,
  options: { query: Query; pageSize: number; signal: AbortSignal },
): AsyncGenerator<Page> {
  const { pageSize, signal } = options;
  let next: string | undefined;
  let limit = pageSize;
  let fitting = 0;
  for (;;) {
    const query = { ...options.query, limit, continue: next };
    const mostBytes = limit > 1 ? MAX_PAGE_BYTES : undefined;
    let answer: unknown;
    try {
      answer = await client.request('GET', path, { query, signal, timeoutMs: PAGE_TIMEOUT_MS, mostBytes });
    } catch (error) {
      if (!(error instanceof AnswerTooLongError)) throw error;
      limit = Math.ceil(limit / 2);
      fitting = 0;
      continue;
    }
    const { page, rest } = readPage(answer, path);
    if (++fitting % GROW_AFTER === 0) limit = Math.min(pageSize, limit * 2);
    next = rest;
    yield page;
    if (!rest) return;
  }
}

function readPage(answer: unknown, path: string): { page: Page; rest: string | undefined } {
  const { metadata, items } = (answer ?? {}) as { metadata?: Record<string, unknown>; items?: unknown };
  const { resourceVersion, continue: rest } = metadata ?? {};
  // A list without items has `items: []`, or null after a conversion.
  if (typeof resourceVersion !== 'string' || !(Array.isArray(items) || items === null)) {
    throw new Error(`GET ${path}: the answer is not a list`);
  }
  return { page: { items: items ?? [], resourceVersion }, rest: typeof rest === 'string' && rest ? rest : undefined };
}

/**
 * The same once, in a limited time.
 * @returns undefined for more than `most` objects, or if the time is over
 * @throws ApiError, and whatever `project` throws
 */
export async function listFew<T>(
  client: ApiClient,
  path: string,
  project: (object: unknown) => T,
  { most, timeoutMs, pageSize }: { readonly most: number; readonly timeoutMs: number; readonly pageSize: number },
): Promise<T[] | undefined> {
  const found: T[] = [];
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    for await (const { items } of listPages(client, path, { query: {}, pageSize, signal })) {
      found.push(...items.map(project));
      if (found.length > most) return undefined;
    }
    return found;
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

/** Lists page by page the results of `project`, as {@link listObjects} does. */
export type ListObjects = <T>(
  client: ApiClient,
  path: string,
  project: (object: unknown) => T,
  query?: Query,
) => Promise<T[]>;

/** A Node has 30 to 60 KB. */
const PAGE_SIZE = 50;
const EXPIRED = 410;
const MAX_ATTEMPTS = 3;

/**
 * Lists once, page by page, and keeps only the result of `project` for each object.
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
      const options = { query, pageSize: PAGE_SIZE, signal };
      for await (const { items } of listPages(client, path, options)) found.push(...items.map(project));
      return found;
    } catch (error) {
      // The rest of a list that took too long is no longer available.
      if (!(error instanceof ApiError) || error.status !== EXPIRED || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

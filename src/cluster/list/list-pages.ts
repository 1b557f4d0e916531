import { createBackOff, retryAfterOf } from '../../runtime/back-off.ts';
import { pause } from '../../runtime/pause.ts';
import type { ApiClient, Query } from '../client/api-client.ts';
import { AnswerTooLongError, isExpired, isFinal } from '../client/api-error.ts';

/** A page of large objects may take an API server that has just started longer than most requests. */
const PAGE_TIMEOUT_MS = 20_000;

/**
 * The longest page. A page is parsed at once, and V8 needs up to 21 times the bytes of an object of Kubernetes (`[{},{},…]`), and 29 times those of
 * nested lists, which only custom resources can have: 61 MB, measured with Node.js 24. The old space of a replica has 160 MiB.
 */
const MOST_BYTES = 2 * 1024 * 1024;
/** The part of that which the next page should fill, because objects differ in size. */
const FILLED = 0.75;
/** Objects in the first page, before their size is known: of nodes of 30 to 60 KB, they fit. */
const FIRST_LIMIT = 25;

/** A part of a list. */
export interface Page {
  /** Empty once the next page is requested. */
  readonly items: readonly unknown[];
  /** All pages show the same state, except if the list expired meanwhile: those that were read after that show a newer one. */
  readonly resourceVersion: string;
}

/** Attempts for a page, so that the pages before it are not lost because of one failed request. */
const PAGE_ATTEMPTS = 5;
const PAGE_BACK_OFF = { minMs: 100, maxMs: 2_000 };

/**
 * The token with which a list continues after a failed page, or `undefined` if it cannot continue.
 *
 * If the state of the list has expired (410), the API server returns a token for the rest of the list in a newer state
 * (https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks).
 * @param token of the failed page; undefined for the first page, which costs nothing to read again
 * @param attempt how often the page has failed
 */
export function tokenAfter(error: unknown, token: string | undefined, attempt: number): string | undefined {
  if (token === undefined || attempt >= PAGE_ATTEMPTS) return undefined;
  if (isExpired(error)) return error.continueToken;
  return isFinal(error) ? undefined : token;
}

/**
 * Lists page by page, so that only one page is in memory at a time. A page has at most {@link MOST_BYTES}, or one object: users decide how large
 * objects are, and etcd accepts 1.5 MiB for each. That is up to 10 MB of JSON, because the API server writes fields that etcd does not store.
 *
 * A page that fails is requested again, a few times: of 800 pages, one usually fails where one request of a hundred does. If the state of the list has
 * expired, the rest is read from a newer state.
 *
 * A longer page is not read to its end, but requested again with half as many objects. Then the size of each page determines the number of objects
 * in the next one.
 *
 * It requests no `resourceVersion`, so the result is not older than now. `resourceVersion=0` would spare the API server a request to etcd. But the
 * result may be older than a state that this process has seen from another API server, and `limit` is ignored: a list of 5,000 nodes is one text of
 * 200 MB.
 *
 * @param options.pageSize the largest number of objects in a page, if fewer are needed than fit
 * @throws ApiError, with status 410 if the rest of the list is no longer available at all; Error for an answer that is no list
 */
export async function* listPages(
  client: ApiClient,
  path: string,
  { query, pageSize = Number.POSITIVE_INFINITY, signal }: { query: Query; pageSize?: number; signal: AbortSignal },
): AsyncGenerator<Page> {
  let limit = Math.min(FIRST_LIMIT, pageSize);
  let next: string | undefined;
  let failures = 0;
  const backOff = createBackOff(PAGE_BACK_OFF);
  for (;;) {
    let page: FoundPage | undefined;
    try {
      page = await requestPage(client, path, { ...query, limit, continue: next }, signal);
    } catch (error) {
      const token = signal.aborted ? undefined : tokenAfter(error, next, ++failures);
      if (token === undefined) throw error;
      next = token;
      await pause(backOff.next(retryAfterOf(error)), signal);
      continue;
    }
    if (page === undefined) {
      limit = Math.floor(limit / 2);
      continue;
    }
    failures = 0;
    backOff.reset();
    const { items, resourceVersion, bytes } = page;
    next = page.next;
    limit = Math.min(pageSize, 2 * limit, fitting(items.length, bytes));
    yield { items, resourceVersion };
    // A loop that waits for the next page still refers to this one.
    items.length = 0;
    if (next === undefined) return;
  }
}

/** How many objects of the same size fit into a page. */
function fitting(count: number, bytes: number): number {
  return Math.max(1, Math.floor((count * FILLED * MOST_BYTES) / Math.max(1, bytes)));
}

interface FoundPage {
  readonly items: unknown[];
  readonly resourceVersion: string;
  /** The token for the next page. */
  readonly next: string | undefined;
  readonly bytes: number;
}

/** Undefined for a page of several objects with more than {@link MOST_BYTES}. */
async function requestPage(
  client: ApiClient,
  path: string,
  query: Query & { readonly limit: number },
  signal: AbortSignal,
): Promise<FoundPage | undefined> {
  let bytes = 0;
  try {
    const answer = await client.request('GET', path, {
      query,
      signal,
      timeoutMs: PAGE_TIMEOUT_MS,
      mostBytes: query.limit === 1 ? undefined : MOST_BYTES,
      onLength(length) {
        bytes = length;
      },
    });
    return readPage(answer, path, bytes);
  } catch (error) {
    if (error instanceof AnswerTooLongError) return undefined;
    throw error;
  }
}

function readPage(answer: unknown, path: string, bytes: number): FoundPage {
  const { metadata, items } = (answer ?? {}) as { metadata?: Record<string, unknown>; items?: unknown };
  const { resourceVersion, continue: next } = metadata ?? {};
  // A list without items has `items: []`, or null after a conversion.
  if (typeof resourceVersion !== 'string' || !(Array.isArray(items) || items === null)) {
    throw new Error(`GET ${path}: the answer is not a list`);
  }
  return { items: items ?? [], resourceVersion, next: typeof next === 'string' && next ? next : undefined, bytes };
}

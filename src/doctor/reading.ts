import type { ApiClient, Query } from '../cluster/client/api-client.ts';
import { ApiError, isForbidden } from '../cluster/client/api-error.ts';
import { findObject } from '../cluster/client/find-object.ts';
import { listPages } from '../cluster/watch/list-pages.ts';

/** Something that was looked at, or why it could not be. */
export type Reading<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false;
      /** In one line. */
      readonly why: string;
      /** The HTTP status, where the API server has answered. */
      readonly status: number | undefined;
    };

export function known<T>(value: T): Reading<T> {
  return { ok: true, value };
}

/** Something that could not be looked at, where nobody asks for the status. */
export function unknown(why: string): Reading<never> {
  return { ok: false, why, status: undefined };
}

/** All of them, where each could be read; otherwise the first that could not. */
export function all<T extends object>(readings: { readonly [Name in keyof T]: Reading<T[Name]> }): Reading<T> {
  const entries = Object.entries<Reading<unknown>>(readings);
  const failed = entries.map(([, reading]) => reading).find((reading) => !reading.ok);
  return (
    failed ?? known(Object.fromEntries(entries.map(([name, reading]) => [name, reading.ok && reading.value])) as T)
  );
}

/** What is made of each item of a list, where that could be read. */
export function mapped<T, Result>(
  reading: Reading<readonly T[]>,
  make: (item: T) => Result,
): Reading<readonly Result[]> {
  return reading.ok ? known(reading.value.map(make)) : reading;
}

/** Waits for the work; what goes wrong is told, not thrown. */
export async function read<T>(work: () => Promise<T>): Promise<Reading<T>> {
  try {
    return known(await work());
  } catch (error) {
    return unreadable(error);
  }
}

/** What has become of a reading that failed. */
export function unreadable(error: unknown): Reading<never> {
  return { ok: false, why: reasonOf(error), status: error instanceof ApiError ? error.status : undefined };
}

/** Why a look failed, on one line. */
function reasonOf(error: unknown): string {
  const message = (error as Error).message.replaceAll(/\s+/g, ' ');
  if (isForbidden(error)) {
    const [, what] = /cannot (.*)$/.exec(message) ?? [];
    return what ? `you may not ${what}` : `forbidden: ${message}`;
  }
  return message;
}

/** For one object, or a list as a whole. That the API server can be reached is known by then: see gather.ts. */
export const READ_TIMEOUT_MS = 15_000;
const PAGE_SIZE = 500;

/**
 * An object of the cluster; undefined when there is none.
 * @throws ApiError, Error
 */
export function look<T>(client: ApiClient, path: string): Promise<T | undefined> {
  return findObject(client, path, { timeoutMs: READ_TIMEOUT_MS });
}

/**
 * All items of a list, as `project` makes them of the objects.
 * @throws ApiError, Error, and what `project` throws
 */
export async function list<T>(
  client: ApiClient,
  path: string,
  project: (object: unknown) => T,
  query: Query = {},
): Promise<T[]> {
  const items: T[] = [];
  const options = { query, pageSize: PAGE_SIZE, signal: AbortSignal.timeout(READ_TIMEOUT_MS) };
  for await (const page of listPages(client, path, options)) for (const item of page.items) items.push(project(item));
  return items;
}

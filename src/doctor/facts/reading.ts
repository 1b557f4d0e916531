import type { ApiClient } from '../../cluster/client/api-client.ts';
import { ApiError, isForbidden } from '../../cluster/client/api-error.ts';
import { findObject } from '../../cluster/client/find-object.ts';
import { TimeoutError } from '../../runtime/deadline.ts';

/** The result of a read, or why it failed. */
export type Reading<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false;
      /** One line. */
      readonly why: string;
      /** The HTTP status, if the API server answered. */
      readonly status: number | undefined;
    };

export function readingOf<T>(value: T): Reading<T> {
  return { ok: true, value };
}

/** A read that failed without an HTTP status. */
export function failedReading(why: string): Reading<never> {
  return { ok: false, why, status: undefined };
}

/** The values of all, or the first that failed. */
export function allRead<T extends object>(readings: { readonly [Name in keyof T]: Reading<T[Name]> }): Reading<T> {
  const entries = Object.entries<Reading<unknown>>(readings);
  const failed = entries.map(([, reading]) => reading).find((reading) => !reading.ok);
  return (
    failed ?? readingOf(Object.fromEntries(entries.map(([name, reading]) => [name, reading.ok && reading.value])) as T)
  );
}

/** Maps the items of a list, if it could be read. */
export function mapped<T, Result>(
  reading: Reading<readonly T[]>,
  make: (item: T) => Result,
): Reading<readonly Result[]> {
  return reading.ok ? readingOf(reading.value.map(make)) : reading;
}

/** Waits for the work. An error becomes a failed reading. */
export async function read<T>(work: () => Promise<T>): Promise<Reading<T>> {
  try {
    return readingOf(await work());
  } catch (error) {
    return unreadable(error);
  }
}

/** A failed reading with the message of the error. */
export function unreadable(error: unknown): Reading<never> {
  return { ok: false, why: reasonOf(error), status: error instanceof ApiError ? error.status : undefined };
}

/** The reason, on one line. */
function reasonOf(error: unknown): string {
  const message = (error as Error).message.replaceAll(/\s+/g, ' ');
  if (isForbidden(error)) {
    const [, what] = /cannot (.*)$/.exec(message) ?? [];
    return what ? `you may not ${what}` : `forbidden: ${message}`;
  }
  return (error as Error).cause instanceof TimeoutError ? `${message}, the time limit of this command` : message;
}

/** For one object: `listObjects` limits each page by itself. By then the API server is known to answer: see gather.ts. */
export const READ_TIMEOUT_MS = 15_000;

/**
 * Reads an object of the cluster. Undefined if there is none.
 * @throws ApiError, Error
 */
export function readObject<T>(client: ApiClient, path: string): Promise<T | undefined> {
  return findObject(client, path, { timeoutMs: READ_TIMEOUT_MS });
}

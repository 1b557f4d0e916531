import type { ApiClient } from '../cluster/client/api-client.ts';
import { ApiError } from '../cluster/client/api-error.ts';

/** What was looked for: it is known, or why not. */
export type Found<T> = { readonly known: true; readonly value: T } | { readonly known: false; readonly reason: string };

/** One look takes at most this long, so that a doctor who finds nobody at home says so soon. */
const LOOK_TIMEOUT_MS = 5_000;

export function known<T>(value: T): Found<T> {
  return { known: true, value };
}

export function unknown(reason: string): { known: false; reason: string } {
  return { known: false, reason };
}

/** An object of the cluster; undefined when there is none, unknown when it may not be read. */
export async function look<T>(client: ApiClient, path: string): Promise<Found<T | undefined>> {
  try {
    return known(await client.request<T>('GET', path, { timeoutMs: LOOK_TIMEOUT_MS }));
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return known(undefined);
    return unknown(reasonOf(error));
  }
}

/** The items of a list, those that are on its first page: nobody has 500 replicas. */
export async function lookAtList<T>(
  client: ApiClient,
  path: string,
  labelSelector?: string,
): Promise<Found<readonly T[]>> {
  try {
    const query = { limit: LIST_LIMIT, labelSelector };
    const { items } = await client.request<{ items?: readonly T[] }>('GET', path, {
      query,
      timeoutMs: LOOK_TIMEOUT_MS,
    });
    return known(items ?? []);
  } catch (error) {
    return unknown(reasonOf(error));
  }
}

const LIST_LIMIT = 500;

/** Why a look failed, on one line. */
export function reasonOf(error: unknown): string {
  if (error instanceof ApiError && error.status === 403) {
    const [, what] = /cannot (.*)$/.exec(error.message) ?? [];
    return what ? `you may not ${what}` : `forbidden: ${error.message}`;
  }
  return (error as Error).message;
}

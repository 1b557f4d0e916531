import type { ApiClient } from '../cluster/client/api-client.ts';
import { ApiError } from '../cluster/client/api-error.ts';
import { known, type Reading, unknown } from './reading.ts';

/** One look takes at most this long, so that a doctor who finds nobody at home says so soon. */
const LOOK_TIMEOUT_MS = 5_000;

const LIST_LIMIT = 500;

/** An object of the cluster; undefined when there is none, unknown when it may not be read. */
export async function look<T>(client: ApiClient, path: string): Promise<Reading<T | undefined>> {
  try {
    return known(await client.request<T>('GET', path, { timeoutMs: LOOK_TIMEOUT_MS }));
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return known(undefined);
    return unknown(reasonOf(error));
  }
}

/** The items of a list that are on its first page: nobody has more replicas, and of nodes one that will do is enough. */
export async function lookAtList<T>(
  client: ApiClient,
  path: string,
  labelSelector?: string,
): Promise<Reading<readonly T[]>> {
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

/** Why a look failed, on one line. */
export function reasonOf(error: unknown): string {
  if (error instanceof ApiError && error.status === 403) {
    const [, what] = /cannot (.*)$/s.exec(error.message) ?? [];
    return what ? `you may not ${what}` : `forbidden: ${error.message}`;
  }
  return (error as Error).message;
}

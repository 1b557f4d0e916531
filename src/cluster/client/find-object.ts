import type { ApiClient, RequestOptions } from './api-client.ts';
import { isNotFound, isNotServed } from './api-error.ts';

type Client = Pick<ApiClient, 'request'>;

/**
 * The current object. Undefined if it does not exist.
 * @throws ApiError, also if the API server does not serve the kind; Error
 */
export function findObject<T>(client: Client, path: string, options?: RequestOptions): Promise<T | undefined> {
  return find<T>(client, path, options, isNotFound);
}

/**
 * A discovery document, such as `/apis/apps/v1`. Undefined if the API server does not serve it.
 * @throws ApiError, Error
 */
export function findApi<T>(client: Client, path: string, options?: RequestOptions): Promise<T | undefined> {
  return find<T>(client, path, options, isNotServed);
}

async function find<T>(
  client: Client,
  path: string,
  options: RequestOptions = {},
  isAbsent: (error: unknown) => boolean,
): Promise<T | undefined> {
  try {
    return await client.request<T>('GET', path, options);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

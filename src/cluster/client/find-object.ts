import type { ApiClient, RequestOptions } from './api-client.ts';
import { isNotFound } from './api-error.ts';

/**
 * The current object. Undefined if it does not exist, or if the API server does not serve the resource.
 * @throws ApiError, Error
 */
export async function findObject<T>(
  client: Pick<ApiClient, 'request'>,
  path: string,
  options: RequestOptions = {},
): Promise<T | undefined> {
  try {
    return await client.request<T>('GET', path, options);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

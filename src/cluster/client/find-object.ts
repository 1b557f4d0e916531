import type { ApiClient, RequestOptions } from './api-client.ts';
import { isNotFound, isNotServed } from './api-error.ts';

/**
 * The current object. Undefined if it does not exist.
 * @throws ApiError, also if the API server does not serve the kind; Error
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

/**
 * A discovery document, such as `/apis/apps/v1`. Undefined if the API server does not serve it.
 * @throws ApiError, Error
 */
export async function findApi<T>(
  client: Pick<ApiClient, 'request'>,
  path: string,
  options: RequestOptions = {},
): Promise<T | undefined> {
  try {
    return await client.request<T>('GET', path, options);
  } catch (error) {
    if (isNotServed(error)) return undefined;
    throw error;
  }
}

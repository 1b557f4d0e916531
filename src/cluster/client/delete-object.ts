import type { ApiClient } from './api-client.ts';
import { isConflict, isNotFound } from './api-error.ts';

/**
 * Deletes this version of an object, and no other one of its name. `gone`: there is none. `changed`: it has changed since it was read.
 * @throws ApiError, Error
 */
export async function deleteObject(
  client: Pick<ApiClient, 'request'>,
  path: string,
  { uid, resourceVersion }: { readonly uid?: string; readonly resourceVersion?: string },
): Promise<'deleted' | 'gone' | 'changed'> {
  try {
    await client.request('DELETE', path, { body: { preconditions: { uid, resourceVersion } } });
    return 'deleted';
  } catch (error) {
    if (isNotFound(error)) return 'gone';
    if (isConflict(error)) return 'changed';
    throw error;
  }
}

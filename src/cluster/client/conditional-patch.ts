import type { Operation } from '../../kubernetes/json-patch.ts';
import type { ApiClient } from './api-client.ts';
import { ApiError, isNotFound } from './api-error.ts';
import { findObject } from './find-object.ts';

const MAX_ATTEMPTS = 5;

/** A write of an object that may change at the same time. */
export interface ConditionalPatch<T> {
  readonly path: string;
  /** The object as it was last read. */
  readonly first: T;
  /** @throws MalformedObjectError */
  readonly read: (object: unknown) => T;
  /** The JSON patch (RFC 6902), whose `test` operations fail if the object has changed since it was read. An empty one ends it. */
  readonly patch: (current: T) => readonly Operation[];
  readonly fieldManager: string;
  /** A dry run. */
  readonly dryRun: boolean;
}

/**
 * Patches an object, and reads it again if it has changed.
 * @returns the object after the patch; undefined if no patch was needed, or the object no longer exists
 * @throws ApiError
 */
export async function patchIfUnchanged<T>(client: ApiClient, options: ConditionalPatch<T>): Promise<T | undefined> {
  const { path, first, read, patch, fieldManager, dryRun } = options;
  let current = first;
  for (let attempt = 1; ; attempt++) {
    const body = patch(current);
    if (body.length === 0) return undefined;
    try {
      const query = { fieldManager, dryRun: dryRun ? 'All' : undefined };
      return read(await client.request('PATCH', path, { query, body, contentType: 'application/json-patch+json' }));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      if (!(error instanceof ApiError)) throw error;
      // 422: a test failed, because the object has changed.
      if (![409, 422].includes(error.status) || attempt === MAX_ATTEMPTS) throw error;
    }
    const found = await findObject(client, path);
    if (found === undefined) return undefined;
    current = read(found);
  }
}

import { ApiError, readStatus } from '../client/api-error.ts';
import type { CachedObjects } from './cached-objects.ts';

const GONE = 410;

/**
 * Takes one event of a watch into the objects.
 * @returns the resourceVersion from which a later watch has to go on
 * @throws ApiError for an `ERROR` event; Error for what is no event
 */
export function takeEvent(event: unknown, path: string, objects: CachedObjects<unknown>): string {
  const { type, object } = (event ?? {}) as { type?: unknown; object?: { metadata?: { resourceVersion?: unknown } } };
  if (type === 'ERROR') {
    const { code = 500, reason = '', message = '' } = readStatus(object);
    throw new ApiError('GET', path, code, reason, message);
  }
  const resourceVersion = object?.metadata?.resourceVersion;
  if (typeof resourceVersion !== 'string' || resourceVersion === '') {
    throw new Error(`GET ${path}: not a watch event: ${String(type)} without a resourceVersion`);
  }
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
      objects.observed(object);
      break;
    case 'DELETED':
      objects.removed(object);
      break;
    case 'BOOKMARK':
      break;
    default:
      throw new Error(`GET ${path}: not a watch event: ${String(type)}`);
  }
  return resourceVersion;
}

/** The events after our resourceVersion, or the rest of our list, are no longer to be had. */
export function isExpired(error: unknown): boolean {
  return error instanceof ApiError && (error.status === GONE || error.reason === 'Expired' || error.reason === 'Gone');
}

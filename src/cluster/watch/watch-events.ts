import { ApiError, readStatus } from '../client/api-error.ts';
import type { CachedObjects } from './cached-objects.ts';

/**
 * Adds one event of a watch to the objects, and empties the event: a loop that waits for the next event still refers to this one, and a large object
 * takes 25 MB.
 * @param listed the keys of the objects so far, while the watch sends what exists: until {@link endsInitialEvents}
 * @returns the resourceVersion from which a later watch must continue
 * @throws ApiError for an `ERROR` event; Error for an invalid event
 */
export function takeEvent(event: unknown, path: string, objects: CachedObjects<unknown>, listed?: Set<string>): string {
  const { type, object } = (event ?? {}) as { type?: unknown; object?: { metadata?: { resourceVersion?: unknown } } };
  if (object !== undefined) (event as { object: unknown }).object = undefined;
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
      if (listed === undefined) objects.observed(object);
      else {
        const key = objects.listed(object);
        if (key !== undefined) listed.add(key);
      }
      break;
    case 'DELETED': {
      const key = objects.removed(object);
      if (key !== undefined) listed?.delete(key);
      break;
    }
    case 'BOOKMARK':
      break;
    default:
      throw new Error(`GET ${path}: not a watch event: ${String(type)}`);
  }
  return resourceVersion;
}

/** Whether a watch with `sendInitialEvents` has sent all objects that existed when it began. */
export function endsInitialEvents(event: unknown): boolean {
  const { type, object } = (event ?? {}) as {
    type?: unknown;
    object?: { metadata?: { annotations?: Record<string, unknown> } };
  };
  return type === 'BOOKMARK' && object?.metadata?.annotations?.['k8s.io/initial-events-end'] === 'true';
}

const BAD_REQUEST = 400;
const UNPROCESSABLE = 422;

/** The API server does not know `sendInitialEvents`, or has it switched off. */
export function refusesInitialEvents(error: unknown): boolean {
  return error instanceof ApiError && (error.status === BAD_REQUEST || error.status === UNPROCESSABLE);
}

/** The object that an event adds or changes; undefined for other events. */
export function changedObject(
  event: unknown,
): { readonly object: unknown; readonly name: string; readonly namespace: string } | undefined {
  const { type, object } = (event ?? {}) as { type?: unknown; object?: { metadata?: Record<string, unknown> } };
  const { name, namespace = '' } = object?.metadata ?? {};
  if ((type !== 'ADDED' && type !== 'MODIFIED') || typeof name !== 'string' || typeof namespace !== 'string')
    return undefined;
  return { object, name, namespace };
}

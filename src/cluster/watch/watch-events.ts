import { ApiError, readStatus } from '../client/api-error.ts';
import type { CachedObjects } from './cached-objects.ts';

/** The log fields of a failed list or watch: the kind of the failure, and the message with a remedy. */
export function watchFault(error: unknown, path: string): [kind: string, message: string] {
  const message = error instanceof Error ? error.message : String(error);
  const kept = 'what was known stays in use';
  if (!(error instanceof ApiError)) return ['unreachable', `cannot watch ${path}, ${kept}: ${message}`];
  const { status } = error;
  if (status === 403) {
    return ['forbidden', `not allowed to watch ${path}, ${kept}: ${ruleFor(path)} (${message})`];
  }
  if (status === 404) {
    return [
      'not found',
      `the API server has no ${path}, ${kept}: is the CustomResourceDefinition installed? (${message})`,
    ];
  }
  return [String(status), `cannot watch ${path}, ${kept}: ${message}`];
}

/** The RBAC rule that listing and watching a path needs. */
function ruleFor(path: string): string {
  const parts = path.split('/').filter((part) => part !== '');
  // /api/v1/… and /apis/<group>/<version>/…
  const group = parts[0] === 'apis' ? (parts[1] ?? '') : '';
  const rest = parts.slice(parts[0] === 'apis' ? 3 : 2);
  const [namespace, resource] = rest[0] === 'namespaces' && rest.length > 2 ? [rest[1], rest[2]] : [undefined, rest[0]];
  const where = namespace === undefined ? 'a ClusterRole' : `a Role in namespace ${namespace}`;
  return `allow it by ${where} with apiGroups ["${group}"], resources ["${resource}"], verbs ["list", "watch"]`;
}

const GONE = 410;

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

/** The events after this resourceVersion, or the rest of this list, are no longer available. */
export function isExpired(error: unknown): boolean {
  return error instanceof ApiError && (error.status === GONE || error.reason === 'Expired' || error.reason === 'Gone');
}

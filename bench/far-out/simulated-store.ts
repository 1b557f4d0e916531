/** A version of an object, as a watch shows it. */
interface LoggedEvent {
  readonly revision: number;
  /** Such as `/api/v1/nodes`, without the namespace. */
  readonly collection: string;
  readonly namespace: string;
  readonly name: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** The object as JSON, made when somebody watches. */
  readonly text: () => string;
}

/** What happened, in order, in all collections. A bench is short: nothing of it is forgotten, and no watch expires. */
export interface EventLog {
  revision(): number;
  /** Gives the change the next revision, and tells of it. */
  add(event: Omit<LoggedEvent, 'revision'>): void;
  /** The events after the revision, one at each call: undefined until there is another one. */
  since(revision: number): () => LoggedEvent | undefined;
  onAdded(listener: () => void): () => void;
}

const FIRST_REVISION = 1_000;

export function createEventLog(): EventLog {
  const events: LoggedEvent[] = [];
  const listeners = new Set<() => void>();

  return {
    revision: () => FIRST_REVISION + events.length,
    add(event) {
      events.push({ ...event, revision: FIRST_REVISION + events.length + 1 });
      for (const listener of listeners) listener();
    },
    since(from) {
      // Revisions have no gaps: where an event stands follows from its own.
      let at = Math.max(0, from - FIRST_REVISION);
      return () => {
        const event = events[at];
        if (event) at++;
        return event;
      };
    },
    onAdded(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export interface StoredObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation: number;
  };
  readonly spec?: unknown;
  readonly [field: string]: unknown;
}

/** Objects of all kinds but nodes: few, and kept as they are. */
export interface ObjectStore {
  get(collection: string, namespace: string, name: string): StoredObject | undefined;
  list(collection: string, namespace: string): StoredObject[];
  /** Writes it with a new resourceVersion, and another generation where the spec has changed. */
  put(collection: string, namespace: string, name: string, object: object): StoredObject;
  remove(collection: string, namespace: string, name: string): void;
}

export function createObjectStore(log: EventLog): ObjectStore {
  const collections = new Map<string, Map<string, StoredObject>>();
  const keyOf = (namespace: string, name: string) => `${namespace}/${name}`;
  const objectsOf = (collection: string) => {
    const found = collections.get(collection) ?? new Map<string, StoredObject>();
    collections.set(collection, found);
    return found;
  };

  return {
    get: (collection, namespace, name) => objectsOf(collection).get(keyOf(namespace, name)),
    list: (collection, namespace) =>
      [...objectsOf(collection).values()].filter(
        ({ metadata }) => namespace === '' || metadata.namespace === namespace,
      ),
    put(collection, namespace, name, object) {
      const { metadata = {}, ...rest } = object as Partial<StoredObject>;
      const objects = objectsOf(collection);
      const before = objects.get(keyOf(namespace, name));
      const isSame = JSON.stringify(before?.spec) === JSON.stringify(rest.spec);
      const revision = log.revision() + 1;
      const stored: StoredObject = {
        ...rest,
        metadata: {
          ...metadata,
          name,
          ...(namespace === '' ? {} : { namespace }),
          uid: before?.metadata.uid ?? `uid-${revision}`,
          resourceVersion: String(revision),
          generation: (before?.metadata.generation ?? 1) + (before && !isSame ? 1 : 0),
        },
      };
      objects.set(keyOf(namespace, name), stored);
      const type = before ? 'MODIFIED' : 'ADDED';
      log.add({ collection, namespace, name, type, text: () => JSON.stringify(stored) });
      return stored;
    },
    remove(collection, namespace, name) {
      const object = objectsOf(collection).get(keyOf(namespace, name));
      if (!object) return;
      objectsOf(collection).delete(keyOf(namespace, name));
      const resourceVersion = String(log.revision() + 1);
      const last = { ...object, metadata: { ...object.metadata, resourceVersion } };
      log.add({ collection, namespace, name, type: 'DELETED', text: () => JSON.stringify(last) });
    },
  };
}

/** A merge patch (RFC 7386) applied. */
export function mergePatched(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatched(result[key], value);
  }
  return result;
}

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

/** A JSON patch (RFC 6902) of objects alone: `add` and `replace` set, `remove` takes out. Lists are replaced whole. */
export function jsonPatched(target: object, operations: readonly Operation[]): object {
  const result = structuredClone(target) as Record<string, unknown>;
  for (const { op, path, value } of operations) {
    const keys = path
      .slice(1)
      .split('/')
      .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
    const last = keys.pop() as string;
    let parent = result;
    for (const key of keys) {
      const child = isRecord(parent[key]) ? parent[key] : {};
      parent[key] = child;
      parent = child;
    }
    if (op === 'remove') delete parent[last];
    else parent[last] = value;
  }
  return result;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

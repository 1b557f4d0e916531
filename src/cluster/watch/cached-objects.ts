import { isDeepStrictEqual } from 'node:util';
import { compareResourceVersions } from './resource-version.ts';

export interface ObjectName {
  /** '' for a cluster-scoped object. */
  readonly namespace: string;
  readonly name: string;
}

/** The kept fields of an object of the API server. */
export interface Entry<T> extends ObjectName {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly value: T;
}

/** If all kept fields are unchanged, a modified entry has the same value object as the previous one. */
export type Change<T> =
  | { readonly type: 'added'; readonly entry: Entry<T> }
  | {
      readonly type: 'modified';
      readonly entry: Entry<T>;
      readonly previous: Entry<T>;
      /** True if a list showed the change: other versions may exist in between. */
      readonly isListed?: true;
    }
  | { readonly type: 'deleted'; readonly entry: Entry<T> };

/** Whether the kept part of an object has changed. */
export function isNews<T>(change: Change<T>): boolean {
  return change.type !== 'modified' || change.entry.value !== change.previous.value;
}

/** The kept parts of a set of objects, which emits their changes. */
export interface CachedObjects<T> {
  get(name: string, namespace: string): Entry<T> | undefined;
  /** Whether the object exists, also if no version of it was valid. */
  has(name: string, namespace: string): boolean;
  /** Whether the last version of the object was invalid: {@link get} returns an earlier one, or none. */
  isUnreadable(name: string, namespace: string): boolean;
  /** The objects that {@link isUnreadable} is true of. */
  unreadable(): Iterable<ObjectName>;
  values(): IterableIterator<Entry<T>>;
  readonly size: number;
  /** Adds an object of a list: its current version. Returns its key for {@link retain}, if it has one. */
  listed(object: unknown): string | undefined;
  /** Adds the object of an `ADDED` or `MODIFIED` event. One that is not newer than the known version changes nothing. */
  observed(object: unknown): void;
  /** Removes the object of a `DELETED` event. Returns its key, if it has one. */
  removed(object: unknown): string | undefined;
  /** Removes objects that are not among the keys. */
  retain(keys: ReadonlySet<string>): void;
}

export interface CachedObjectsOptions<T> {
  readonly project: (object: unknown) => T;
  readonly onChange: (change: Change<T>) => void;
  /** An invalid object: `project` failed, for the first time in a row, or it has no name or resourceVersion. */
  readonly onUnreadable: (what: string, error: unknown) => void;
  /** Called when {@link CachedObjects.isUnreadable} of an object has changed. */
  readonly onUnreadableChange?: ((object: ObjectName) => void) | undefined;
}

const NAMELESS = 'it has no name, uid or resourceVersion';

interface Identity extends ObjectName {
  readonly uid: string;
  readonly resourceVersion: string;
}

/**
 * If `project` fails for an object, its last valid version stays, as the last good policies stay in force. Removing it would report a deletion. A new
 * invalid object is not added.
 */
export function createCachedObjects<T>(options: CachedObjectsOptions<T>): CachedObjects<T> {
  const { project, onChange, onUnreadable, onUnreadableChange } = options;
  const entries = new Map<string, Entry<T>>();
  const unreadable = new Map<string, ObjectName>();

  function remove(key: string, entry: Entry<T>): void {
    entries.delete(key);
    onChange({ type: 'deleted', entry });
  }

  function markReadable(key: string): void {
    const object = unreadable.get(key);
    if (unreadable.delete(key) && object) onUnreadableChange?.(object);
  }

  function markUnreadable({ namespace, name }: Identity, error: unknown): void {
    const key = keyOf(name, namespace);
    if (unreadable.has(key)) return;
    const object = { namespace, name };
    unreadable.set(key, object);
    onUnreadable(key, error);
    onUnreadableChange?.(object);
  }

  function put(
    object: unknown,
    counts: (found: Identity, known: Identity) => boolean,
    how: { readonly isListed?: true } = {},
  ): string | undefined {
    const identity = readIdentity(object);
    if (!identity) {
      onUnreadable('an object', new Error(NAMELESS));
      return undefined;
    }
    const key = keyOf(identity.name, identity.namespace);
    const known = entries.get(key);
    if (known && !counts(identity, known)) return key;
    // Another object of the same name: the known one was deleted, whether or not this one is valid.
    const replaced = known && known.uid !== identity.uid ? known : undefined;
    if (replaced) remove(key, replaced);
    let value: T;
    try {
      value = project(object);
    } catch (error) {
      markUnreadable(identity, error);
      return key;
    }
    const previous = replaced ? undefined : known;
    const entry = { ...identity, value: previous && isDeepStrictEqual(value, previous.value) ? previous.value : value };
    entries.set(key, entry);
    markReadable(key);
    onChange(previous ? { type: 'modified', entry, previous, ...how } : { type: 'added', entry });
    return key;
  }

  return {
    get: (name, namespace) => entries.get(keyOf(name, namespace)),
    has(name, namespace) {
      const key = keyOf(name, namespace);
      return entries.has(key) || unreadable.has(key);
    },
    isUnreadable: (name, namespace) => unreadable.has(keyOf(name, namespace)),
    unreadable: () => unreadable.values(),
    values: () => entries.values(),
    get size() {
      return entries.size;
    },
    listed: (object) =>
      put(object, (found, known) => found.uid !== known.uid || found.resourceVersion !== known.resourceVersion, {
        isListed: true,
      }),
    observed: (object) => void put(object, isNewer),
    removed(object) {
      const identity = readIdentity(object);
      if (!identity) {
        onUnreadable('a deleted object', new Error(NAMELESS));
        return undefined;
      }
      const key = keyOf(identity.name, identity.namespace);
      const known = entries.get(key);
      if (known && isOlder(identity, known)) return key;
      markReadable(key);
      if (known) remove(key, known);
      return key;
    },
    retain(keys) {
      for (const key of unreadable.keys()) if (!keys.has(key)) markReadable(key);
      for (const [key, entry] of entries) if (!keys.has(key)) remove(key, entry);
    },
  };
}

/** Versions without an order count as newer: an event counts unless it is known to be old. */
function isNewer(found: Identity, known: Identity): boolean {
  return (compareResourceVersions(found.resourceVersion, known.resourceVersion) ?? 1) > 0;
}

function isOlder(found: Identity, known: Identity): boolean {
  return (compareResourceVersions(found.resourceVersion, known.resourceVersion) ?? 0) < 0;
}

/** Neither names nor namespaces may contain a slash. */
function keyOf(name: string, namespace: string): string {
  return namespace === '' ? name : `${namespace}/${name}`;
}

function readIdentity(object: unknown): Identity | undefined {
  const { metadata } = (object ?? {}) as { metadata?: Record<string, unknown> };
  const { namespace = '', name, uid, resourceVersion } = metadata ?? {};
  const texts = [namespace, name, uid, resourceVersion];
  if (!texts.every((text) => typeof text === 'string') || !name || !resourceVersion) return undefined;
  return { namespace, name, uid, resourceVersion } as Identity;
}

import { isDeepStrictEqual } from 'node:util';

/**
 * Negative when the first resourceVersion is the older one, positive when it is the newer one, 0 when they are the same.
 * They are decimal numbers without leading zeros that may outgrow a double (KEP-5504); for anything else the order is not
 * known, and `undefined` is returned.
 */
export function compareResourceVersions(one: string, other: string): number | undefined {
  if (one === other) return 0;
  if (!NUMBER.test(one) || !NUMBER.test(other)) return undefined;
  if (one.length !== other.length) return one.length - other.length;
  return one < other ? -1 : 1;
}

const NUMBER = /^(0|[1-9]\d*)$/;

/** What is kept of an object of the API server. */
export interface Entry<T> {
  /** '' for what is cluster-scoped. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly value: T;
}

/** Where all that is kept is as it was, a modified entry has the very value of the previous one. */
export type Change<T> =
  | { readonly type: 'added'; readonly entry: Entry<T> }
  | {
      readonly type: 'modified';
      readonly entry: Entry<T>;
      readonly previous: Entry<T>;
      /** Set where a list showed the change: there may have been other versions in between. */
      readonly isListed?: true;
    }
  | { readonly type: 'deleted'; readonly entry: Entry<T> };

/** The kept parts of a set of objects, which says how it changes. */
export interface CachedObjects<T> {
  get(name: string, namespace: string): Entry<T> | undefined;
  values(): IterableIterator<Entry<T>>;
  readonly size: number;
  /** How many objects' latest version could not be read. */
  readonly unreadable: number;
  /** Takes the object as a list shows it: as it is now. Returns its key for {@link retain}, if it has one. */
  listed(object: unknown): string | undefined;
  /** Takes the object of an `ADDED` or `MODIFIED` event. One that is not newer than what is known changes nothing. */
  observed(object: unknown): void;
  /** Takes the object of a `DELETED` event. */
  removed(object: unknown): void;
  /** Drops what is not among the keys. */
  retain(keys: ReadonlySet<string>): void;
}

export interface CachedObjectsOptions<T> {
  readonly project: (object: unknown) => T;
  readonly onChange: (change: Change<T>) => void;
  /** An object that cannot be taken: `project` failed, for the first time in a row, or it has no name or resourceVersion. */
  readonly onUnreadable: (what: string, error: unknown) => void;
}

const NAMELESS = 'it has no name, uid or resourceVersion';

interface Identity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/**
 * Of an object whose `project` fails, the last version that could be read stays, as the last good policies stay in force:
 * dropping it would tell that it was deleted. A new object that cannot be read is not there.
 */
export function createCachedObjects<T>(options: CachedObjectsOptions<T>): CachedObjects<T> {
  const { project, onChange, onUnreadable } = options;
  const entries = new Map<string, Entry<T>>();
  const unreadable = new Set<string>();

  function drop(key: string, entry: Entry<T>): void {
    entries.delete(key);
    onChange({ type: 'deleted', entry });
  }

  function put(
    object: unknown,
    isNews: (found: Identity, known: Identity) => boolean,
    how: { readonly isListed?: true } = {},
  ): string | undefined {
    const identity = readIdentity(object);
    if (!identity) {
      onUnreadable('an object', new Error(NAMELESS));
      return undefined;
    }
    const key = keyOf(identity.name, identity.namespace);
    const known = entries.get(key);
    if (known && !isNews(identity, known)) return key;
    // Another object of the same name: the one we knew is gone, whatever we can read of this one.
    const replaced = known && known.uid !== identity.uid ? known : undefined;
    if (replaced) drop(key, replaced);
    let value: T;
    try {
      value = project(object);
    } catch (error) {
      if (!unreadable.has(key)) onUnreadable(key, error);
      unreadable.add(key);
      return key;
    }
    unreadable.delete(key);
    const previous = replaced ? undefined : known;
    const entry = { ...identity, value: previous && isDeepStrictEqual(value, previous.value) ? previous.value : value };
    entries.set(key, entry);
    onChange(previous ? { type: 'modified', entry, previous, ...how } : { type: 'added', entry });
    return key;
  }

  return {
    get: (name, namespace) => entries.get(keyOf(name, namespace)),
    values: () => entries.values(),
    get size() {
      return entries.size;
    },
    get unreadable() {
      return unreadable.size;
    },
    listed: (object) =>
      put(object, (found, known) => found.uid !== known.uid || found.resourceVersion !== known.resourceVersion, {
        isListed: true,
      }),
    observed: (object) => void put(object, isNewer),
    removed(object) {
      const identity = readIdentity(object);
      if (!identity) return onUnreadable('a deleted object', new Error(NAMELESS));
      const key = keyOf(identity.name, identity.namespace);
      const known = entries.get(key);
      if (known && isOlder(identity, known)) return;
      unreadable.delete(key);
      if (known) drop(key, known);
    },
    retain(keys) {
      for (const key of unreadable) if (!keys.has(key)) unreadable.delete(key);
      for (const [key, entry] of entries) if (!keys.has(key)) drop(key, entry);
    },
  };
}

/** Versions that have no order count as newer: an event is news unless it is known not to be. */
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

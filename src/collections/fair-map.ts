/** The source that an entry counts for. */
export interface EntrySource {
  /** A value that a sender cannot forge, such as the address of its connection. */
  readonly origin: string;
  /** A value that a sender can invent, such as an object's name. It decides only among the entries of one origin. */
  readonly part: string;
}

/**
 * A bounded map with entries of several sources, none of which can push out the entries of one with fewer. If the map is full, it removes the oldest
 * entry of the origin that has the most, and within that origin of the part that has the most. Against a sender with many origins, each keeps an equal
 * share and no more: entries that such a sender must not push out belong in a map of their own.
 */
export interface FairMap<Value> {
  readonly size: number;
  get(key: string): Value | undefined;
  /**
   * Adds an entry, or replaces its value. An entry that two sources have set counts for the origin with fewer entries: the other one cannot push it
   * out.
   * @returns the value that was removed to make room, which may be the new one
   */
  set(key: string, value: Value, source: EntrySource): Value | undefined;
  /** Makes the entry the youngest one. Returns whether there is one. */
  touch(key: string): boolean;
  delete(key: string): boolean;
  /** In the order of addition. */
  values(): Value[];
}

/** The entries that count for one origin, or for one part of it. */
interface Group {
  size: number;
}

interface Entry<Value> {
  readonly key: string;
  value: Value;
  at: number;
  source: EntrySource;
  originGroup: Group;
  partGroup: Group;
}

export function createFairMap<Value>(capacity: number): FairMap<Value> {
  const entries = new Map<string, Entry<Value>>();
  const origins = new Map<string, Group>();
  const parts = new Map<string, Group>();
  let added = 0;

  function join(source: EntrySource): Pick<Entry<Value>, 'originGroup' | 'partGroup'> {
    return { originGroup: grow(origins, source.origin), partGroup: grow(parts, partKey(source)) };
  }

  function leave({ source }: Entry<Value>): void {
    shrink(origins, source.origin);
    shrink(parts, partKey(source));
  }

  function remove(entry: Entry<Value>): void {
    entries.delete(entry.key);
    leave(entry);
  }

  function replace(entry: Entry<Value>, value: Value, source: EntrySource): void {
    entry.value = value;
    const isQuieter = (origins.get(source.origin)?.size ?? 0) < entry.originGroup.size - 1;
    if (!isQuieter) return;
    leave(entry);
    Object.assign(entry, { source }, join(source));
  }

  function noisiest(): Entry<Value> | undefined {
    let found: Entry<Value> | undefined;
    for (const entry of entries.values()) if (found === undefined || isBefore(entry, found)) found = entry;
    return found;
  }

  return {
    get size() {
      return entries.size;
    },
    get: (key) => entries.get(key)?.value,
    set(key, value, source) {
      const at = added++;
      const known = entries.get(key);
      if (known) {
        replace(known, value, source);
        return undefined;
      }
      entries.set(key, { key, value, at, source, ...join(source) });
      const evicted = entries.size > capacity ? noisiest() : undefined;
      if (evicted) remove(evicted);
      return evicted?.value;
    },
    touch(key) {
      const entry = entries.get(key);
      if (entry) entry.at = added++;
      return entry !== undefined;
    },
    delete(key) {
      const entry = entries.get(key);
      if (entry) remove(entry);
      return entry !== undefined;
    },
    values: () => [...entries.values()].map(({ value }) => value),
  };
}

/** Whether the entry is removed before the other one. */
function isBefore<Value>(entry: Entry<Value>, other: Entry<Value>): boolean {
  const order =
    entry.originGroup.size - other.originGroup.size ||
    entry.partGroup.size - other.partGroup.size ||
    other.at - entry.at;
  return order > 0;
}

function partKey({ origin, part }: EntrySource): string {
  return JSON.stringify([origin, part]);
}

function grow(groups: Map<string, Group>, name: string): Group {
  const group = groups.get(name) ?? { size: 0 };
  group.size++;
  groups.set(name, group);
  return group;
}

function shrink(groups: Map<string, Group>, name: string): void {
  const group = groups.get(name);
  if (group && --group.size === 0) groups.delete(name);
}

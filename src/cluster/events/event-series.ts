import { randomBytes } from 'node:crypto';
import { namespaceOf, type RecordedEvent } from '../../kubernetes/event.ts';

const NAME_MAX_LENGTH = 253;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

export interface EventTimings {
  /** How long a new Event waits: for more of its kind, and for its object, which is being created. */
  readonly settleMs: number;
  /** How often the count of one Event is written while it grows. */
  readonly patchIntervalMs: number;
  /** How long after its last write an Event goes on being counted up, instead of a new one being made. */
  readonly windowMs: number;
  /** How many writes may follow one another at once, and how long it takes until one more may. */
  readonly burst: number;
  readonly refillMs: number;
  /** How long a stop waits for what is still to be written. */
  readonly flushMs: number;
}

/** The window is client-go's (`finishTime`); API servers forget an Event an hour after its last write. */
export const EVENT_TIMINGS: EventTimings = {
  settleMs: 1_000,
  patchIntervalMs: 30_000,
  windowMs: 360_000,
  burst: 20,
  refillMs: 2_000,
  flushMs: 2_000,
};

/** A name that nobody else takes; it begins with the object's, as people expect of Events, where that is possible. */
export function eventName(object: string): string {
  const suffix = randomBytes(8).toString('hex');
  const name = `${object}.${suffix}`;
  return name.length <= NAME_MAX_LENGTH && DNS_SUBDOMAIN.test(name) ? name : `taintkeeper.${suffix}`;
}

/** Notes that one object may have at a time with the same reason; the ones beyond share an Event. As client-go's correlator. */
const MAX_SIMILAR = 10;
/** Events that wait to be written: at one every two seconds, about four minutes' worth. */
const MAX_PENDING = 128;

/** Equal Events, which become one object at the API server. */
export interface EventSeries {
  readonly event: RecordedEvent;
  /** Milliseconds since the epoch. */
  readonly firstAt: number;
  lastAt: number;
  count: number;
  /** The count that the API server knows. */
  written: number;
  /** Of the object, which exists at the API server if `created`. A create is repeated with the same name. */
  name: string;
  created: boolean;
  /** When it is to be written, by the monotonic clock. */
  dueAt: number;
  attempts: number;
}

/**
 * All that is to be written, which is bounded, and what was written lately, which is as bounded as the rate of writes.
 */
export interface EventSeriesStore {
  /** Counts the event in. @returns false when there is no room for it */
  add(event: RecordedEvent): boolean;
  /** The one to be written next. */
  next(): EventSeries | undefined;
  /** The API server knows this count now. */
  wrote(series: EventSeries, count: number): void;
  /** Forgets a series. @returns how many of its events nobody will see */
  forget(series: EventSeries): number;
  pending(): Iterable<EventSeries>;
}

export function eventSeriesStore({ settleMs, patchIntervalMs, windowMs }: EventTimings): EventSeriesStore {
  /** By key; each in one of the two maps. `quiet` has the one that was written first at its head. */
  const pending = new Map<string, EventSeries>();
  const quiet = new Map<string, EventSeries & { expiresAt?: number }>();
  const keys = new WeakMap<EventSeries, { key: string; group: string | undefined }>();
  const similar = new Map<string, number>();

  function count(series: EventSeries): true {
    series.count++;
    series.lastAt = Date.now();
    return true;
  }

  /** Counts up one that is known already. */
  function grow(key: string): boolean {
    const waiting = pending.get(key);
    if (waiting) return count(waiting);
    const known = quiet.get(key);
    if (!known) return false;
    quiet.delete(key);
    pending.set(key, known);
    return count(known);
  }

  function remove(series: EventSeries): void {
    const known = keys.get(series);
    if (!known) return;
    pending.delete(known.key);
    quiet.delete(known.key);
    keys.delete(series);
    if (known.group === undefined) return;
    const left = (similar.get(known.group) ?? 1) - 1;
    if (left === 0) similar.delete(known.group);
    else similar.set(known.group, left);
  }

  function dropExpired(): void {
    for (const series of quiet.values()) {
      if ((series.expiresAt ?? 0) > performance.now()) return;
      remove(series);
    }
  }

  return {
    add(event) {
      dropExpired();
      const group = groupOf(event);
      const ownKey = JSON.stringify([group, event.note]);
      if (grow(ownKey)) return true;

      const combined = (similar.get(group) ?? 0) >= MAX_SIMILAR;
      if (combined && grow(group)) return true;
      if (pending.size >= MAX_PENDING) return false;

      const now = Date.now();
      const series: EventSeries = {
        event: combined ? { ...event, note: `(combined from similar events) ${event.note}` } : event,
        firstAt: now,
        lastAt: now,
        count: 1,
        written: 0,
        name: eventName(event.regarding.name),
        created: false,
        dueAt: performance.now() + settleMs,
        attempts: 0,
      };
      pending.set(combined ? group : ownKey, series);
      keys.set(series, combined ? { key: group, group: undefined } : { key: ownKey, group });
      if (!combined) similar.set(group, (similar.get(group) ?? 0) + 1);
      return true;
    },
    next() {
      let first: EventSeries | undefined;
      for (const series of pending.values()) if (!first || series.dueAt < first.dueAt) first = series;
      return first;
    },
    wrote(series, written) {
      series.written = written;
      series.attempts = 0;
      series.dueAt = performance.now() + patchIntervalMs;
      const key = keys.get(series)?.key;
      if (key === undefined || series.count > written) return;
      pending.delete(key);
      quiet.set(key, Object.assign(series, { expiresAt: performance.now() + windowMs }));
    },
    forget(series) {
      remove(series);
      return series.count - series.written;
    },
    pending: () => pending.values(),
  };
}

/** What Events that differ in their notes alone have in common. */
function groupOf({ regarding, type, reason, action }: RecordedEvent): string {
  return JSON.stringify([regarding.kind, namespaceOf(regarding), regarding.name, regarding.uid, type, reason, action]);
}

import { randomBytes } from 'node:crypto';
import { namespaceOf, type ObjectReference } from '../../kubernetes/event.ts';
import { isDnsSubdomain } from '../../kubernetes/names.ts';
import type { RecordedEvent } from '../../policy/reporting/recorded-event.ts';
import { createFairMap, type EntrySource } from '../../runtime/fair-map.ts';

export interface EventTimings {
  /** How long a new Event waits for equal ones. */
  readonly settleMs: number;
  /** How often the count of one Event is written while it grows. */
  readonly patchIntervalMs: number;
  /** How long after its last write an Event is still counted up. After that, a new one is created. */
  readonly windowMs: number;
  /** How many writes may follow one another at once, and the time until one more is allowed. */
  readonly burst: number;
  readonly refillMs: number;
  /** How long a shutdown waits for the waiting Events. */
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

/** A unique name. It begins with the object's name if possible, as usual for Events. */
export function eventName(object: string): string {
  const suffix = randomBytes(8).toString('hex');
  const name = `${object}.${suffix}`;
  return isDnsSubdomain(name) ? name : `taintkeeper.${suffix}`;
}

/**
 * The number of notes of one origin on one object with the same reason. Further ones share an Event. As client-go's correlator.
 */
const MAX_SIMILAR = 10;
/** Events of reviews that wait, and as many of this process: at one every two seconds, about four minutes each. */
const MAX_PENDING = 128;

/** The origin of Events of this process' own controllers. No address has this name. */
const OWN = 'own';

/** Equal Events, which become one object at the API server. Only the store changes it. */
export interface EventSeries {
  readonly event: RecordedEvent;
  readonly source: EntrySource;
  /** Milliseconds since the epoch. */
  readonly firstAt: number;
  readonly lastAt: number;
  readonly count: number;
  /** The name of the object, which exists at the API server if `created`. A create is repeated with the same name. */
  readonly name: string;
  readonly created: boolean;
  /** When it is due, by the monotonic clock. */
  readonly dueAt: number;
  /** Since the last successful write. */
  readonly attempts: number;
}

type Mutable<T> = { -readonly [Field in keyof T]: T[Field] };

interface StoredSeries extends Mutable<EventSeries> {
  readonly key: string;
  /** Of series that differ only in their notes. Undefined for the one that combines them. */
  readonly similarKey: string | undefined;
  /** The count that the API server knows. */
  written: number;
  /** For a quiet one: when it is no longer counted up, by the monotonic clock. */
  expiresAt: number;
}

/**
 * All waiting series, whose number is limited, and those that were written lately, which the rate of writes limits. Neither the limit nor the order
 * allows one origin to take the place of another: see {@link createFairMap}. That is not enough against a sender with many addresses, so the Events of
 * this process have a limit and turns of their own.
 */
export interface EventSeriesStore {
  /**
   * Counts the event.
   * @param origin a property of a review that its sender cannot forge, such as the sender's address; undefined for an Event of this process
   */
  add(event: RecordedEvent, origin: string | undefined): void;
  /**
   * The next series to write. It is not discarded before it was written. Origins with due series take turns, and those of this process do so with all
   * others together.
   */
  next(): EventSeries | undefined;
  /** The API server has this count now. */
  wrote(series: EventSeries, count: number): void;
  /** The object exists or is gone, contrary to `created`. The series is due again at once, with a new name if the object is gone. */
  correct(series: EventSeries, object: 'exists' | 'gone'): void;
  /** It could not be written, and is due again at `dueAt`. */
  postpone(series: EventSeries, dueAt: number): void;
  /** Removes a series. Those of its events that no Event shows count as dropped. */
  drop(series: EventSeries): void;
  /** Removes a series whose events do not count. @returns whether no Event shows some of them */
  forget(series: EventSeries): boolean;
  pending(): EventSeries[];
  /** How many events no Event shows, because they were dropped, or discarded to make room. */
  dropped(): number;
}

export function eventSeriesStore({ settleMs, patchIntervalMs, windowMs }: EventTimings): EventSeriesStore {
  /** Each series is in one of these places, or is the chosen one. That one also counts, so each queue has one place less. */
  const own = createFairMap<StoredSeries>(MAX_PENDING - 1);
  const ofReviews = createFairMap<StoredSeries>(MAX_PENDING - 1);
  /** The one that was written first is at its head. */
  const quiet = new Map<string, StoredSeries>();
  /** The one that waits for its turn, or is being written. */
  let chosen: StoredSeries | undefined;
  /** How many series there are of each `similarKey`. */
  const similar = new Map<string, number>();
  const turns = writeTurns();
  let dropped = 0;

  const queueOf = ({ origin }: EntrySource) => (origin === OWN ? own : ofReviews);
  const queued = () => [...own.values(), ...ofReviews.values()];

  function enqueue(series: StoredSeries, source: EntrySource): void {
    const evicted = queueOf(source).set(series.key, series, source);
    if (evicted) drop(evicted);
  }

  /** Counts up an existing series. @returns whether there is one */
  function countUp(key: string, source: EntrySource): boolean {
    const known = chosen?.key === key ? chosen : (queueOf(source).get(key) ?? quiet.get(key));
    if (!known) return false;
    known.count++;
    known.lastAt = Date.now();
    if (known === chosen) return true;
    quiet.delete(key);
    enqueue(known, source);
    return true;
  }

  /** @returns undefined if it was removed before */
  function stored(series: EventSeries): StoredSeries | undefined {
    const { key } = series as StoredSeries;
    return [chosen, queueOf(series.source).get(key), quiet.get(key)].find((one) => one === series);
  }

  /** Ends the turn of the series. @returns undefined if it was removed before */
  function endTurn(series: EventSeries): StoredSeries | undefined {
    turns.end(series);
    return stored(series);
  }

  /** @returns how many of its events no Event shows */
  function remove(series: StoredSeries): number {
    const { key, similarKey } = series;
    takeOut(series);
    if (quiet.get(key) === series) quiet.delete(key);
    if (similarKey !== undefined) {
      const others = (similar.get(similarKey) ?? 1) - 1;
      if (others === 0) similar.delete(similarKey);
      else similar.set(similarKey, others);
    }
    return series.count - series.written;
  }

  function takeOut(series: StoredSeries): void {
    if (series === chosen) chosen = undefined;
    const queue = queueOf(series.source);
    if (queue.get(series.key) === series) queue.delete(series.key);
  }

  function drop(series: StoredSeries): void {
    dropped += remove(series);
  }

  function removeExpired(): void {
    for (const series of quiet.values()) {
      if (series.expiresAt > performance.now()) return;
      drop(series);
    }
  }

  function requeue(series: StoredSeries, dueAt: number): void {
    series.dueAt = dueAt;
    if (series !== chosen) return;
    chosen = undefined;
    enqueue(series, series.source);
  }

  return {
    add(event, origin = OWN) {
      removeExpired();
      const group = groupOf(event);
      const { kind, namespace = '', name } = event.reviewed ?? event.regarding;
      const source = { origin, part: `${kind} ${namespace}/${name}` };
      const isOwn = origin === OWN;
      const ownKey = JSON.stringify([isOwn, group, event.reviewed && identityOf(event.reviewed), event.note]);
      if (countUp(ownKey, source)) return;
      const sharedKey = JSON.stringify([group, origin]);
      const others = similar.get(sharedKey) ?? 0;
      const isCombined = others >= MAX_SIMILAR;
      if (isCombined && countUp(sharedKey, source)) return;

      const now = Date.now();
      const series: StoredSeries = {
        event: isCombined ? { ...event, note: `(combined from similar events) ${event.note}` } : event,
        source,
        ...(isCombined ? { key: sharedKey, similarKey: undefined } : { key: ownKey, similarKey: sharedKey }),
        firstAt: now,
        lastAt: now,
        count: 1,
        written: 0,
        name: eventName(event.regarding.name),
        created: false,
        dueAt: performance.now() + settleMs,
        attempts: 0,
        expiresAt: Number.POSITIVE_INFINITY,
      };
      if (!isCombined) similar.set(sharedKey, others + 1);
      enqueue(series, source);
    },
    next() {
      const now = performance.now();
      let first = chosen;
      for (const series of queued()) if (!first || turns.isBefore(series, first, now)) first = series;
      if (first === undefined || first === chosen) return first;
      takeOut(first);
      if (chosen) enqueue(chosen, chosen.source);
      chosen = first;
      return first;
    },
    wrote(series, written) {
      const known = endTurn(series);
      if (!known) return;
      Object.assign(known, { written, created: true, attempts: 0 });
      if (known.count > written) return requeue(known, performance.now() + patchIntervalMs);
      takeOut(known);
      known.dueAt = performance.now() + patchIntervalMs;
      known.expiresAt = performance.now() + windowMs;
      quiet.set(known.key, known);
    },
    correct(series, object) {
      const known = endTurn(series);
      if (!known) return;
      known.attempts++;
      known.created = object === 'exists';
      if (object === 'gone') known.name = eventName(known.event.regarding.name);
      requeue(known, performance.now());
    },
    postpone(series, dueAt) {
      const known = endTurn(series);
      if (!known) return;
      known.attempts++;
      requeue(known, dueAt);
    },
    drop(series) {
      const known = endTurn(series);
      if (known) drop(known);
    },
    forget(series) {
      const known = endTurn(series);
      return known !== undefined && remove(known) > 0;
    },
    pending: () => [...(chosen ? [chosen] : []), ...queued()],
    dropped: () => dropped,
  };
}

/**
 * Decides which of two series is written first. If both are due, the kind of origin (this process, or all others) with the older last turn comes first,
 * then the origin with the older last turn. Otherwise, the series that is due earlier comes first.
 */
function writeTurns() {
  /** The number of the last turn, by kind of origin. */
  const lastOfKind = new Map<boolean, number>();
  /** The same by origin, in the order of their last turns. */
  const lastOfOrigin = new Map<string, number>();
  let turn = 0;

  const ofKind = ({ source }: EventSeries) => lastOfKind.get(source.origin === OWN) ?? 0;
  const ofOrigin = ({ source }: EventSeries) => lastOfOrigin.get(source.origin) ?? 0;

  return {
    isBefore(series: EventSeries, other: EventSeries, now: number): boolean {
      const areDue = series.dueAt <= now && other.dueAt <= now;
      const order = areDue ? ofKind(series) - ofKind(other) || ofOrigin(series) - ofOrigin(other) : 0;
      return (order || series.dueAt - other.dueAt) < 0;
    },
    end({ source: { origin } }: EventSeries): void {
      lastOfKind.set(origin === OWN, ++turn);
      lastOfOrigin.delete(origin);
      lastOfOrigin.set(origin, turn);
      const [first] = lastOfOrigin.keys();
      if (lastOfOrigin.size > MAX_PENDING && first !== undefined) lastOfOrigin.delete(first);
    },
  };
}

/** The common fields of Events that differ only in their notes. */
function groupOf({ regarding, type, reason, action }: RecordedEvent): unknown[] {
  return [...identityOf(regarding), type, reason, action];
}

function identityOf(object: ObjectReference): unknown[] {
  return [object.kind, namespaceOf(object), object.name, object.uid];
}

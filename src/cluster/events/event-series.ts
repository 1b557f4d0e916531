import { randomBytes } from 'node:crypto';
import { namespaceOf, type ObjectReference } from '../../kubernetes/event.ts';
import { isDnsSubdomain } from '../../kubernetes/names.ts';
import type { RecordedEvent } from '../../policy/recorded-event.ts';
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

/** Equal Events, which become one object at the API server. */
export interface EventSeries {
  readonly event: RecordedEvent;
  readonly source: EntrySource;
  /** Milliseconds since the epoch. */
  readonly firstAt: number;
  lastAt: number;
  count: number;
  /** The count that the API server knows. */
  written: number;
  /** The name of the object, which exists at the API server if `created`. A create is repeated with the same name. */
  name: string;
  created: boolean;
  /** When it is due, by the monotonic clock. */
  dueAt: number;
  attempts: number;
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
   * @returns how many events were discarded to make room
   */
  add(event: RecordedEvent, origin: string | undefined): number;
  /**
   * The next series to write. It is not discarded before it was written. Origins with due series take turns, and those of this process do so with all
   * others together.
   */
  next(): EventSeries | undefined;
  /** The API server has this count now. @returns how many events were discarded to make room */
  wrote(series: EventSeries, count: number): number;
  /** It is written later. @returns how many events were discarded to make room */
  postpone(series: EventSeries, dueAt: number): number;
  /** Removes a series. @returns how many of its events no Event shows */
  forget(series: EventSeries): number;
  pending(): EventSeries[];
}

/** The keys of a series: its own, and that of similar ones. */
interface Keys {
  readonly key: string;
  readonly similar: string | undefined;
}

export function eventSeriesStore({ settleMs, patchIntervalMs, windowMs }: EventTimings): EventSeriesStore {
  /** Each series is in one of these places, or is the chosen one. That one also counts, so each queue has one place less. */
  const own = createFairMap<EventSeries>(MAX_PENDING - 1);
  const ofReviews = createFairMap<EventSeries>(MAX_PENDING - 1);
  /** The one that was written first is at its head. */
  const quiet = new Map<string, EventSeries & { expiresAt?: number }>();
  /** The one that waits for its turn, or is being written. */
  let chosen: EventSeries | undefined;
  const keys = new WeakMap<EventSeries, Keys>();
  const similar = new Map<string, number>();
  /** The origins in the order of their last turns. */
  const turns = new Map<string, number>();
  let turn = 0;
  const lastTurns = new Map([own, ofReviews].map((queue) => [queue, 0]));

  const queueOf = ({ origin }: EntrySource) => (origin === OWN ? own : ofReviews);
  const queued = () => [...own.values(), ...ofReviews.values()];

  /** @returns how many events were discarded to make room */
  function enqueue(series: EventSeries, source: EntrySource): number {
    const { key = '' } = keys.get(series) ?? {};
    const evicted = queueOf(source).set(key, series, source);
    return evicted ? remove(evicted) : 0;
  }

  /** Counts up an existing series. @returns undefined if there is none, else as {@link enqueue} */
  function countUp(key: string, source: EntrySource): number | undefined {
    const isChosen = chosen !== undefined && keys.get(chosen)?.key === key;
    const known = isChosen ? chosen : (queueOf(source).get(key) ?? quiet.get(key));
    if (!known) return undefined;
    known.count++;
    known.lastAt = Date.now();
    if (isChosen) return 0;
    quiet.delete(key);
    return enqueue(known, source);
  }

  /** @returns how many of its events no Event shows */
  function remove(series: EventSeries): number {
    const known = keys.get(series);
    if (!known) return 0;
    keys.delete(series);
    if (series === chosen) chosen = undefined;
    const queue = queueOf(series.source);
    if (queue.get(known.key) === series) queue.delete(known.key);
    if (quiet.get(known.key) === series) quiet.delete(known.key);
    if (known.similar !== undefined) {
      const left = (similar.get(known.similar) ?? 1) - 1;
      if (left === 0) similar.delete(known.similar);
      else similar.set(known.similar, left);
    }
    return series.count - series.written;
  }

  function removeExpired(): void {
    for (const series of quiet.values()) {
      if ((series.expiresAt ?? 0) > performance.now()) return;
      remove(series);
    }
  }

  /** Whether it is written before the other one. */
  function isBefore(series: EventSeries, other: EventSeries, now: number): boolean {
    const areDue = series.dueAt <= now && other.dueAt <= now;
    const order = areDue ? turnOfQueue(series) - turnOfQueue(other) || turnOfOrigin(series) - turnOfOrigin(other) : 0;
    return (order || series.dueAt - other.dueAt) < 0;
  }

  const turnOfQueue = ({ source }: EventSeries) => lastTurns.get(queueOf(source)) ?? 0;
  const turnOfOrigin = ({ source }: EventSeries) => turns.get(source.origin) ?? 0;

  function endTurn({ source }: EventSeries): void {
    const { origin } = source;
    turns.delete(origin);
    turns.set(origin, ++turn);
    lastTurns.set(queueOf(source), turn);
    const [first] = turns.keys();
    if (turns.size > MAX_PENDING && first !== undefined) turns.delete(first);
  }

  function postpone(series: EventSeries, dueAt: number): number {
    endTurn(series);
    series.dueAt = dueAt;
    if (series !== chosen) return 0;
    chosen = undefined;
    return enqueue(series, series.source);
  }

  return {
    add(event, origin = OWN) {
      removeExpired();
      const group = groupOf(event);
      const { kind, namespace = '', name } = event.reviewed ?? event.regarding;
      const source = { origin, part: `${kind} ${namespace}/${name}` };
      const ownKey = JSON.stringify([group, event.reviewed && identityOf(event.reviewed), event.note]);
      const discarded = countUp(ownKey, source);
      if (discarded !== undefined) return discarded;

      const shared = JSON.stringify([group, origin]);
      const combined = (similar.get(shared) ?? 0) >= MAX_SIMILAR;
      const discardedShared = combined ? countUp(shared, source) : undefined;
      if (discardedShared !== undefined) return discardedShared;

      const now = Date.now();
      const series: EventSeries = {
        event: combined ? { ...event, note: `(combined from similar events) ${event.note}` } : event,
        source,
        firstAt: now,
        lastAt: now,
        count: 1,
        written: 0,
        name: eventName(event.regarding.name),
        created: false,
        dueAt: performance.now() + settleMs,
        attempts: 0,
      };
      keys.set(series, combined ? { key: shared, similar: undefined } : { key: ownKey, similar: shared });
      if (!combined) similar.set(shared, (similar.get(shared) ?? 0) + 1);
      return enqueue(series, source);
    },
    next() {
      const now = performance.now();
      let first = chosen;
      for (const series of queued()) if (!first || isBefore(series, first, now)) first = series;
      if (first === undefined || first === chosen) return first;
      queueOf(first.source).delete(keys.get(first)?.key ?? '');
      if (chosen) enqueue(chosen, chosen.source);
      chosen = first;
      return first;
    },
    wrote(series, written) {
      endTurn(series);
      series.written = written;
      series.attempts = 0;
      if (series.count > written) return postpone(series, performance.now() + patchIntervalMs);
      const key = keys.get(series)?.key;
      if (key === undefined) return 0;
      if (series === chosen) chosen = undefined;
      queueOf(series.source).delete(key);
      series.dueAt = performance.now() + patchIntervalMs;
      quiet.set(key, Object.assign(series, { expiresAt: performance.now() + windowMs }));
      return 0;
    },
    postpone,
    forget(series) {
      endTurn(series);
      return remove(series);
    },
    pending: () => [...(chosen ? [chosen] : []), ...queued()],
  };
}

/** The common fields of Events that differ only in their notes. */
function groupOf({ regarding, type, reason, action }: RecordedEvent): unknown[] {
  return [...identityOf(regarding), type, reason, action];
}

function identityOf(object: ObjectReference): unknown[] {
  return [object.kind, namespaceOf(object), object.name, object.uid];
}

import { randomBytes } from 'node:crypto';
import type { EntrySource } from '../../collections/fair-map.ts';
import { namespaceOf, type ObjectReference } from '../../kubernetes/event.ts';
import { isDnsSubdomain } from '../../kubernetes/names.ts';
import type { RecordedEvent } from '../../policy/reporting/recorded-event.ts';
import type { EventTimings } from './event-timings.ts';
import { OWN, waitingSeries } from './waiting-series.ts';

/** A unique name. It begins with the object's name if possible, as usual for Events. */
export function eventName(object: string): string {
  const suffix = randomBytes(8).toString('hex');
  const name = `${object}.${suffix}`;
  return isDnsSubdomain(name) ? name : `taintkeeper.${suffix}`;
}

/** The number of notes of one origin on one object with the same reason. Further ones share an Event. As client-go's correlator. */
const MAX_SIMILAR = 10;

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

/** All waiting series, whose number is limited, and those that were written lately, which the rate of writes limits. */
export interface EventSeriesStore {
  /**
   * Counts the event.
   * @param origin a property of a review that its sender cannot forge, such as the sender's address; undefined for an Event of this process
   */
  add(event: RecordedEvent, origin: string | undefined): void;
  /**
   * Chooses the next series to write. It is not discarded until it was written, corrected or postponed, or another one comes first. Then it waits again:
   * if too many wait, this discards one.
   */
  choose(): EventSeries | undefined;
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
  /** The series that the API server has with all of their events. The one that was written first is at the head. */
  const quiet = new Map<string, StoredSeries>();
  /** How many series there are of each `similarKey`. */
  const similar = new Map<string, number>();
  let dropped = 0;
  const waiting = waitingSeries<StoredSeries>(drop);

  /** Counts up an existing series. @returns whether there is one */
  function countUp(key: string, source: EntrySource): boolean {
    const known = waiting.get(key, source) ?? quiet.get(key);
    if (!known) return false;
    known.count++;
    known.lastAt = Date.now();
    quiet.delete(key);
    waiting.put(known, source);
    return true;
  }

  /** Ends the turn of the series. @returns undefined if it was removed before */
  function endTurn(series: EventSeries): StoredSeries | undefined {
    waiting.endTurn(series);
    const { key, source } = series as StoredSeries;
    return [waiting.get(key, source), quiet.get(key)].find((one) => one === series);
  }

  /** @returns how many of its events no Event shows */
  function remove(series: StoredSeries): number {
    const { key, similarKey } = series;
    waiting.remove(series);
    if (quiet.get(key) === series) quiet.delete(key);
    if (similarKey !== undefined) {
      const others = (similar.get(similarKey) ?? 1) - 1;
      if (others === 0) similar.delete(similarKey);
      else similar.set(similarKey, others);
    }
    return series.count - series.written;
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
    waiting.putBack(series);
  }

  return {
    add(event, origin = OWN) {
      removeExpired();
      const group = groupOf(event);
      const { kind, namespace = '', name } = event.reviewed ?? event.regarding;
      const source = { origin, part: `${kind} ${namespace}/${name}` };
      const isOwn = origin === OWN;
      const noteKey = JSON.stringify([isOwn, group, event.reviewed && identityOf(event.reviewed), event.note]);
      if (countUp(noteKey, source)) return;
      const combinedKey = JSON.stringify([group, origin]);
      const others = similar.get(combinedKey) ?? 0;
      const isCombined = others >= MAX_SIMILAR;
      if (isCombined && countUp(combinedKey, source)) return;

      const now = Date.now();
      const series: StoredSeries = {
        event: isCombined ? { ...event, note: `(combined from similar events) ${event.note}` } : event,
        source,
        ...(isCombined ? { key: combinedKey, similarKey: undefined } : { key: noteKey, similarKey: combinedKey }),
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
      if (!isCombined) similar.set(combinedKey, others + 1);
      waiting.put(series, source);
    },
    choose: waiting.choose,
    wrote(series, written) {
      const known = endTurn(series);
      if (!known) return;
      Object.assign(known, { written, created: true, attempts: 0 });
      if (known.count > written) return requeue(known, performance.now() + patchIntervalMs);
      waiting.remove(known);
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
    pending: waiting.all,
    dropped: () => dropped,
  };
}

/** The common fields of Events that differ only in their notes. */
function groupOf({ regarding, type, reason, action }: RecordedEvent): unknown[] {
  return [...identityOf(regarding), type, reason, action];
}

function identityOf(object: ObjectReference): unknown[] {
  return [object.kind, namespaceOf(object), object.name, object.uid];
}

import { createFairMap, type EntrySource } from '../../collections/fair-map.ts';

/** Series of reviews that wait, and as many of this process: at one every two seconds, about four minutes each. */
const MAX_WAITING = 128;

/** The origin of Events of this process' own controllers. No address has this name. */
export const OWN = 'own';

interface Waiting {
  readonly key: string;
  readonly source: EntrySource;
  /** When it is due, by the monotonic clock. */
  readonly dueAt: number;
}

/**
 * The series that wait to be written. Neither their limit nor their order allows one origin to take the place of another: see {@link createFairMap}.
 * That is not enough against a sender with many addresses, so the series of this process have a limit and turns of their own.
 */
export interface WaitingSeries<Series extends Waiting> {
  get(key: string, source: EntrySource): Series | undefined;
  /** Adds the series, or counts it for a further source of its events. */
  put(series: Series, source: EntrySource): void;
  /**
   * Chooses the next series to write. It is not discarded until it was put back or removed, or another one comes first. Then it is put back: if its queue
   * is full, this discards one. Origins with due series take turns, and this process does so with all others together.
   */
  choose(): Series | undefined;
  /** The origin of the series has had its turn. */
  endTurn(series: Pick<Waiting, 'source'>): void;
  /** Ends the choice of the series, which waits again. */
  putBack(series: Series): void;
  /** Does nothing if the series does not wait. */
  remove(series: Series): void;
  all(): Series[];
}

/** @param discard called with each series that is removed to make room */
export function waitingSeries<Series extends Waiting>(discard: (series: Series) => void): WaitingSeries<Series> {
  /** Each series is in one of these places, or is the chosen one. That one also counts, so each queue has one place less. */
  const own = createFairMap<Series>(MAX_WAITING - 1);
  const ofReviews = createFairMap<Series>(MAX_WAITING - 1);
  /** The one that waits for its turn, or is being written. */
  let chosen: Series | undefined;
  const turns = writeTurns();

  const queueOf = ({ origin }: EntrySource) => (origin === OWN ? own : ofReviews);
  const queued = () => [...own.values(), ...ofReviews.values()];

  return {
    get: (key, source) => (chosen?.key === key ? chosen : queueOf(source).get(key)),
    put(series, source) {
      if (series !== chosen) enqueue(series, source);
    },
    choose() {
      const now = performance.now();
      let first = chosen;
      for (const series of queued()) if (!first || turns.isBefore(series, first, now)) first = series;
      if (first === undefined || first === chosen) return first;
      remove(first);
      if (chosen) enqueue(chosen, chosen.source);
      chosen = first;
      return first;
    },
    endTurn: ({ source }) => turns.end(source),
    putBack(series) {
      if (series !== chosen) return;
      chosen = undefined;
      enqueue(series, series.source);
    },
    remove,
    all: () => [...(chosen ? [chosen] : []), ...queued()],
  };

  function enqueue(series: Series, source: EntrySource): void {
    const evicted = queueOf(source).set(series.key, series, source);
    if (evicted) discard(evicted);
  }

  function remove(series: Series): void {
    if (series === chosen) chosen = undefined;
    const queue = queueOf(series.source);
    if (queue.get(series.key) === series) queue.delete(series.key);
  }
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

  const ofKind = ({ source }: Waiting) => lastOfKind.get(source.origin === OWN) ?? 0;
  const ofOrigin = ({ source }: Waiting) => lastOfOrigin.get(source.origin) ?? 0;

  return {
    isBefore(series: Waiting, other: Waiting, now: number): boolean {
      const areDue = series.dueAt <= now && other.dueAt <= now;
      const order = areDue ? ofKind(series) - ofKind(other) || ofOrigin(series) - ofOrigin(other) : 0;
      return (order || series.dueAt - other.dueAt) < 0;
    },
    end({ origin }: EntrySource): void {
      lastOfKind.set(origin === OWN, ++turn);
      lastOfOrigin.delete(origin);
      lastOfOrigin.set(origin, turn);
      const [first] = lastOfOrigin.keys();
      if (lastOfOrigin.size > MAX_WAITING && first !== undefined) lastOfOrigin.delete(first);
    },
  };
}

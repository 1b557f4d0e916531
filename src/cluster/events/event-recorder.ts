import type { Logger } from 'pino';
import { boundedEvent, type RecordedEvent } from '../../kubernetes/event.ts';
import { throttle, tokenBucket } from '../../runtime/rate-limit.ts';
import { followFault } from '../../runtime/standing-fault.ts';
import { startTimer } from '../../runtime/timer.ts';
import { type ApiClient, messageOf } from '../client/api-client.ts';
import type { ApiError } from '../client/api-error.ts';
import { EVENT_TIMINGS, type EventSeries, type EventTimings, eventSeriesStore } from './event-series.ts';
import { type EventWrite, writeEvent } from './event-writer.ts';
import { existingObjects } from './existing-objects.ts';

const WRITE_TIMEOUT_MS = 5_000;
/** As client-go: 12 tries, 10 s apart. */
const MAX_ATTEMPTS = 12;
const RETRY_MS = 10_000;
const RETRY_JITTER = 0.25;
/** An object whose creation was reviewed may be stored later than its review is settled: other webhooks take their time. */
const CONFIRMATION_ATTEMPTS = 2;

/** The origin of what this process' own controllers found. */
const OWN = 'own';

export interface EventRecorder {
  /**
   * Never throws, never waits. Nobody must rely on it: an Event may be dropped.
   * @param origin of a review: what its sender cannot forge, see {@link EventSeriesStore}
   */
  record(event: RecordedEvent, origin?: string): void;
  /** How many events were not, or will not be, shown in any Event. Those about objects that the API server does not have are not counted. */
  dropped(): number;
  /** Writes what is still to be written, within the rate limit and for a bounded time. */
  stop(): Promise<void>;
}

/**
 * Writes Events (events.k8s.io/v1, which every API server since 1.19 has), so that they help people and never harm the
 * cluster: equal ones become one Event that is counted up, more than ten different notes on one object for one reason are
 * combined, all writes of the process share one rate limit, and what finds no room is dropped and counted. Before an Event of a review is
 * created, the API server has to confirm the object of the review; that is limited with the writes. It needs create and patch of `events`
 * in the API group `events.k8s.io`, and get of what the Events are about.
 *
 * @param options.identity who reports, at most 128 bytes
 */
export function createEventRecorder(options: {
  client: ApiClient;
  identity: string;
  log: Logger;
  timings?: Partial<EventTimings>;
}): EventRecorder {
  const { client, identity, log } = options;
  const context = { client, identity, objects: existingObjects(client) };
  const timings = { ...EVENT_TIMINGS, ...options.timings };
  const store = eventSeriesStore(timings);
  const bucket = tokenBucket(timings.burst, timings.refillMs);
  const fault = followFault(log, 'Events are written again');
  const tellUnconfirmed = throttle((events) =>
    log.info(
      { events },
      'Events were not written: the API server does not have the objects of the reviews, or has others of their names',
    ),
  );
  const stopping = new AbortController();
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;
  /** When the next one is written, by the monotonic clock. */
  let plannedFor = Number.POSITIVE_INFINITY;
  let stopped = false;
  /** The write that is under way. */
  let writing: Promise<void> | undefined;

  function plan(): void {
    clearTimeout(timer);
    plannedFor = Number.POSITIVE_INFINITY;
    if (writing || stopped) return;
    const next = store.next();
    if (!next) return;
    const now = performance.now();
    const waitMs = Math.ceil(Math.max(next.dueAt - now, bucket.waitMs()));
    plannedFor = now + waitMs;
    timer = startTimer(() => {
      plannedFor = Number.POSITIVE_INFINITY;
      // Meanwhile, it may have become the turn of another one.
      writing = writeOne(store.next() ?? next).then(() => {
        writing = undefined;
        plan();
      });
    }, waitMs).unref();
  }

  /** Whether something is written no later than an event of now would be: to look through all series takes longer than to judge a request. */
  function isPlanned(): boolean {
    const earliestMs = Math.max(timings.settleMs, bucket.waitMs());
    return writing !== undefined || plannedFor <= performance.now() + earliestMs;
  }

  /** Never rejects. */
  async function writeOne(series: EventSeries): Promise<void> {
    if (!bucket.take()) return;
    const limits = { timeoutMs: WRITE_TIMEOUT_MS, signal: stopping.signal };
    handleResult(series, await writeEvent(context, series, limits));
  }

  function handleResult(series: EventSeries, write: EventWrite): void {
    series.attempts++;
    switch (write.outcome) {
      case 'written':
        fault.isOver();
        dropped += store.wrote(series, write.count);
        break;
      case 'again':
        dropped += store.postpone(series, performance.now());
        break;
      case 'unconfirmed':
        if (series.event.reviewed?.uid === undefined && series.attempts < CONFIRMATION_ATTEMPTS) tryLater(series);
        else if (store.forget(series) > 0) tellUnconfirmed();
        break;
      case 'failed':
        if (!stopping.signal.aborted) fault.is('failed', `Events are not written: ${messageOf(write.error)}`);
        if (series.attempts >= MAX_ATTEMPTS) dropped += store.forget(series);
        else tryLater(series);
        break;
      case 'refused':
        explain(write.error);
        dropped += store.forget(series);
    }
  }

  function tryLater(series: EventSeries): void {
    dropped += store.postpone(series, performance.now() + RETRY_MS * (1 + Math.random() * RETRY_JITTER));
  }

  /** A namespace that is gone or going takes its Events along: that is nobody's fault. */
  function explain({ status, message }: ApiError): void {
    if (status === 404 || message.includes('is being terminated')) {
      log.debug(`an Event was not written: ${message}`);
    } else if (status === 403) {
      fault.is(
        'forbidden',
        `Events are not written: allow create and patch of events in group events.k8s.io, and get of what they are about (${message})`,
      );
    } else {
      fault.is(String(status), `an Event was refused: ${message}`);
    }
  }

  async function flush(): Promise<void> {
    await writing;
    for (const series of store.pending()) {
      if (stopping.signal.aborted || bucket.waitMs() > 0) return;
      await writeOne(series);
    }
  }

  return {
    record(event, origin = OWN) {
      const bounded = boundedEvent(event);
      dropped += stopped || !bounded ? 1 : store.add(bounded, origin);
      if (!isPlanned()) plan();
    },
    dropped: () => dropped,
    async stop() {
      if (stopped) return;
      stopped = true;
      clearTimeout(timer);
      const bound = setTimeout(() => stopping.abort(new Error('the process ends')), timings.flushMs);
      await flush();
      clearTimeout(bound);
      for (const series of store.pending()) dropped += store.forget(series);
    },
  };
}

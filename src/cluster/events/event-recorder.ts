import type { Logger } from 'pino';
import { boundedEvent, type RecordedEvent } from '../../policy/reporting/recorded-event.ts';
import { messageOf } from '../../runtime/error-message.ts';
import { followFault } from '../../runtime/fault-log.ts';
import { throttle } from '../../runtime/throttle.ts';
import { startTimer } from '../../runtime/timer.ts';
import { tokenBucket } from '../../runtime/token-bucket.ts';
import type { ApiClient } from '../client/api-client.ts';
import { type ApiError, isNotFound } from '../client/api-error.ts';
import { type EventSeries, eventSeriesStore } from './event-series.ts';
import { EVENT_TIMINGS, type EventTimings } from './event-timings.ts';
import { type EventWrite, writeEvent } from './event-writer.ts';
import { existingObjects } from './existing-objects.ts';

const WRITE_TIMEOUT_MS = 5_000;
/** As client-go: 12 tries, 10 s apart. */
const MAX_ATTEMPTS = 12;
const RETRY_MS = 10_000;
const RETRY_JITTER = 0.25;

export interface EventRecorder {
  /**
   * Never throws, never waits. An Event may be discarded, so callers must not rely on it.
   * @param origin a property of a review that its sender cannot forge; undefined for an Event of this process, see {@link EventSeriesStore}
   */
  record(event: RecordedEvent, origin?: string): void;
  /** How many events no Event shows. Events about objects that do not exist are not counted. */
  dropped(): number;
  /** Writes the waiting Events, within the rate limit and for a limited time. */
  stop(): Promise<void>;
}

/**
 * Writes Events (events.k8s.io/v1, which every API server since 1.19 has) with limits. Equal ones become one Event with a count. More than ten
 * different notes on one object for one reason are combined. All writes of the process share one rate limit, and Events beyond the limit are
 * discarded and counted. Before it creates an Event of a review, it asks the API server for the object of the review, within the same rate limit. It
 * needs create and patch of `events` in the API group `events.k8s.io`, and get of the objects of the Events.
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
  /** Events that no Event can show, or that came too late. */
  let notTaken = 0;
  let timer: NodeJS.Timeout | undefined;
  /** When the next one is written, by the monotonic clock. */
  let plannedFor = Number.POSITIVE_INFINITY;
  let stopped = false;
  /** The write in progress. */
  let writing: Promise<void> | undefined;

  function plan(): void {
    clearTimeout(timer);
    plannedFor = Number.POSITIVE_INFINITY;
    if (writing || stopped) return;
    const next = store.choose();
    if (!next) return;
    const now = performance.now();
    const waitMs = Math.ceil(Math.max(next.dueAt - now, bucket.waitMs()));
    plannedFor = now + waitMs;
    timer = startTimer(() => {
      plannedFor = Number.POSITIVE_INFINITY;
      // Meanwhile, another one may be due.
      writing = writeOne(store.choose() ?? next).then(() => {
        writing = undefined;
        plan();
      });
    }, waitMs).unref();
  }

  /** Whether a waiting Event is due no later than a new one would be. Searching all series takes longer than judging a request. */
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
    switch (write.outcome) {
      case 'written':
        fault.ended();
        store.wrote(series, write.count);
        break;
      case 'exists':
      case 'gone':
        store.correct(series, write.outcome);
        break;
      case 'unconfirmed':
        if (store.forget(series)) tellUnconfirmed();
        break;
      case 'failed':
        if (!stopping.signal.aborted) fault.occurred('failed', `Events are not written: ${messageOf(write.error)}`);
        if (series.attempts + 1 >= MAX_ATTEMPTS) store.drop(series);
        else store.postpone(series, performance.now() + RETRY_MS * (1 + Math.random() * RETRY_JITTER));
        break;
      case 'refused':
        explain(write.error);
        store.drop(series);
    }
  }

  /** The Events of a deleted namespace are deleted, too. That is no failure. */
  function explain(error: ApiError): void {
    const { status, causes, message } = error;
    if (isNotFound(error) || causes.includes('NamespaceTerminating')) {
      log.debug(`an Event was not written: ${message}`);
    } else if (status === 403) {
      fault.occurred(
        'forbidden',
        `Events are not written: allow create and patch of events in group events.k8s.io, and get of what they are about (${message})`,
      );
    } else {
      fault.occurred(String(status), `an Event was refused: ${message}`);
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
    record(event, origin) {
      const bounded = boundedEvent(event);
      if (stopped || !bounded) notTaken++;
      else store.add(bounded, origin);
      if (!isPlanned()) plan();
    },
    dropped: () => notTaken + store.dropped(),
    async stop() {
      if (stopped) return;
      stopped = true;
      clearTimeout(timer);
      const bound = setTimeout(() => stopping.abort(new Error('the process ends')), timings.flushMs);
      await flush();
      clearTimeout(bound);
      for (const series of store.pending()) store.drop(series);
    },
  };
}

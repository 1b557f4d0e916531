import type { Logger } from 'pino';
import { boundedEvent, type RecordedEvent } from '../../kubernetes/event.ts';
import { tokenBucket } from '../../runtime/rate-limit.ts';
import { followFault } from '../../runtime/standing-fault.ts';
import { startTimer } from '../../runtime/timer.ts';
import { type ApiClient, messageOf } from '../client/api-client.ts';
import type { ApiError } from '../client/api-error.ts';
import { EVENT_TIMINGS, type EventSeries, type EventTimings, eventSeriesStore } from './event-series.ts';
import { type EventWrite, writeEvent } from './event-writer.ts';

const WRITE_TIMEOUT_MS = 5_000;
/** As client-go: 12 tries, 10 s apart. */
const MAX_ATTEMPTS = 12;
const RETRY_MS = 10_000;
const RETRY_JITTER = 0.25;

export interface EventRecorder {
  /** Never throws, never waits. Nobody must rely on it: an Event may be dropped. */
  record(event: RecordedEvent): void;
  /** How many events were not, or will not be, shown in any Event. */
  dropped(): number;
  /** Writes what is still to be written, within the rate limit and for a bounded time. */
  stop(): Promise<void>;
}

/**
 * Writes Events (events.k8s.io/v1, which every API server since 1.19 has), so that they help people and never harm the
 * cluster: equal ones become one Event that is counted up, more than ten different notes on one object for one reason are
 * combined, all writes of the process share one rate limit, and what finds no room is dropped and counted. It needs create
 * and patch of `events` in the API group `events.k8s.io`, and get of what the Events are about.
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
  const timings = { ...EVENT_TIMINGS, ...options.timings };
  const store = eventSeriesStore(timings);
  const bucket = tokenBucket(timings.burst, timings.refillMs);
  const fault = followFault(log, 'Events are written again');
  const stopping = new AbortController();
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  /** The write that is under way. */
  let writing: Promise<void> | undefined;

  function plan(): void {
    clearTimeout(timer);
    const next = store.next();
    if (!next || writing || stopped) return;
    const waitMs = Math.max(next.dueAt - performance.now(), bucket.waitMs());
    timer = startTimer(() => {
      writing = writeOne(next).then(() => {
        writing = undefined;
        plan();
      });
    }, Math.ceil(waitMs)).unref();
  }

  /** Never rejects. */
  async function writeOne(series: EventSeries): Promise<void> {
    if (!bucket.take()) return;
    const limits = { timeoutMs: WRITE_TIMEOUT_MS, signal: stopping.signal };
    settle(series, await writeEvent(client, series, identity, limits));
  }

  function settle(series: EventSeries, write: EventWrite): void {
    series.attempts++;
    switch (write.outcome) {
      case 'written':
        fault.isOver();
        store.wrote(series, write.count);
        break;
      case 'again':
        series.dueAt = performance.now();
        break;
      case 'failed':
        if (!stopping.signal.aborted) fault.is('failed', `Events are not written: ${messageOf(write.error)}`);
        series.dueAt = performance.now() + RETRY_MS * (1 + Math.random() * RETRY_JITTER);
        if (series.attempts >= MAX_ATTEMPTS) dropped += store.forget(series);
        break;
      case 'refused':
        explain(write.error);
        dropped += store.forget(series);
    }
  }

  /** A namespace that is gone or going takes its Events along: that is nobody's fault. */
  function explain({ status, message }: ApiError): void {
    if (status === 404 || message.includes('is being terminated')) {
      log.debug(`an Event was dropped: ${message}`);
    } else if (status === 403) {
      fault.is(
        'forbidden',
        `Events are not written: allow create and patch of events in group events.k8s.io (${message})`,
      );
    } else {
      fault.is(String(status), `an Event was refused: ${message}`);
    }
  }

  async function flush(): Promise<void> {
    await writing;
    for (const series of [...store.pending()]) {
      if (stopping.signal.aborted || bucket.waitMs() > 0) return;
      await writeOne(series);
    }
  }

  return {
    record(event) {
      const bounded = boundedEvent(event);
      if (stopped || !bounded || !store.add(bounded)) dropped++;
      else plan();
    },
    dropped: () => dropped,
    async stop() {
      if (stopped) return;
      stopped = true;
      clearTimeout(timer);
      const bound = setTimeout(() => stopping.abort(new Error('the process ends')), timings.flushMs);
      await flush();
      clearTimeout(bound);
      for (const series of [...store.pending()]) dropped += store.forget(series);
    },
  };
}

import { expect, it } from 'vitest';
import {
  type EventSeries,
  type EventSeriesStore,
  eventSeriesStore,
} from '../../../../src/cluster/events/event-series.ts';
import { EVENT_TIMINGS } from '../../../../src/cluster/events/event-timings.ts';
import type { RecordedEvent } from '../../../../src/policy/reporting/recorded-event.ts';

const event = (name: string): RecordedEvent => ({
  regarding: { apiVersion: 'v1', kind: 'Node', name, uid: name },
  type: 'Warning',
  reason: 'TaintRestored',
  action: 'Restored',
  note: 'restored',
});

/** Writes the next series, with one event. */
function writeNext(store: EventSeriesStore): EventSeries {
  const series = store.choose();
  if (!series) throw new Error('no series');
  store.wrote(series, 1);
  return series;
}

it('counts an Event that is discarded in favour of one of a review', () => {
  const store = eventSeriesStore({ ...EVENT_TIMINGS, settleMs: 0 });
  store.add(event('first'), undefined);
  writeNext(store);
  for (let n = 0; n < 128; n++) {
    store.add(event(`node-${n}`), undefined);
    store.choose();
  }
  expect(store.dropped()).toBe(0);

  store.add(event('of-a-review'), '192.0.2.1');

  expect(store.choose()?.event.regarding.name).toBe('of-a-review');
  expect(store.pending()).toHaveLength(128);
  expect(store.dropped()).toBe(1);
});

it('an Event of this process and an equal one of a review are two series', () => {
  const store = eventSeriesStore(EVENT_TIMINGS);
  store.add(event('node'), undefined);
  const own = writeNext(store);

  store.add(event('node'), '192.0.2.1');
  const ofReview = writeNext(store);

  expect(ofReview).not.toBe(own);
  expect(store.pending()).toEqual([]);
});

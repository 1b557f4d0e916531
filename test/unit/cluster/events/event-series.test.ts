import { expect, it } from 'vitest';
import { EVENT_TIMINGS, eventSeriesStore } from '../../../../src/cluster/events/event-series.ts';
import type { RecordedEvent } from '../../../../src/policy/recorded-event.ts';

const event = (name: string): RecordedEvent => ({
  regarding: { apiVersion: 'v1', kind: 'Node', name, uid: name },
  type: 'Warning',
  reason: 'TaintRestored',
  action: 'Restored',
  note: 'restored',
});

it('an event that is discarded because an Event of a review has its turn is counted', () => {
  const store = eventSeriesStore({ ...EVENT_TIMINGS, settleMs: 0 });
  store.add(event('first'), undefined);
  const first = store.next();
  if (!first) throw new Error('no series');
  store.wrote(first, 1);
  for (let n = 0; n < 128; n++) {
    store.add(event(`node-${n}`), undefined);
    store.next();
  }
  expect(store.dropped()).toBe(0);

  store.add(event('of-a-review'), '192.0.2.1');

  expect(store.next()?.event.regarding.name).toBe('of-a-review');
  expect(store.pending()).toHaveLength(128);
  expect(store.dropped()).toBe(1);
});

it('an Event of this process, and one of a review that is equal, are two', () => {
  const store = eventSeriesStore(EVENT_TIMINGS);
  store.add(event('node'), undefined);
  const own = store.next();
  if (!own) throw new Error('no series');
  store.wrote(own, 1);

  store.add(event('node'), '192.0.2.1');
  const ofReview = store.next();
  if (!ofReview) throw new Error('no series');
  store.wrote(ofReview, 1);

  expect(ofReview).not.toBe(own);
  expect(store.pending()).toEqual([]);
});

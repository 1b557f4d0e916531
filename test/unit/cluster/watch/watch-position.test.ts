import { describe, expect, it } from 'vitest';
import {
  afterBreak,
  afterCheck,
  afterEnd,
  afterEvent,
  afterExpiry,
  afterFailure,
  afterList,
  FIRST_POSITION,
  isListDue,
  type WatchPosition,
} from '../../../../src/cluster/watch/watch-position.ts';

/** A list at version 7, due again at 1000. */
const LISTED = afterList('7', 1_000);
const IN_DOUBT: WatchPosition = { ...LISTED, isInDoubt: true };
/** After two accepted watches without an event. */
const FRUITLESS = afterBreak(afterBreak(LISTED, '7'), '7');
const AT = { now: 500, retryMs: 60 };

describe('a list is due', () => {
  it.each([
    { when: 'at first', position: FIRST_POSITION, now: 0, due: true },
    { when: 'after a list', position: LISTED, now: 999, due: false },
    { when: 'a time after a list', position: LISTED, now: 1_000, due: true },
    { when: 'once events are not available', position: afterExpiry(LISTED), now: 0, due: true },
    { when: 'after a failed request', position: afterFailure(LISTED, false, AT), now: 500, due: false },
    { when: 'after a failed request and lost events', position: afterFailure(LISTED, true, AT), now: 500, due: true },
    {
      when: 'after a failed list that was not needed',
      position: afterFailure(LISTED, false, { now: 1_000, retryMs: 60 }),
      now: 1_059,
      due: false,
    },
    {
      when: 'a time after a failed list that was not needed',
      position: afterFailure(LISTED, false, { now: 1_000, retryMs: 60 }),
      now: 1_060,
      due: true,
    },
    { when: 'after a failed first list', position: afterFailure(FIRST_POSITION, false, AT), now: 0, due: true },
    {
      when: 'after a failure that follows two fruitless watches',
      position: afterFailure(FRUITLESS, false, AT),
      now: 0,
      due: true,
    },
    {
      when: 'after a failure that follows one fruitless watch',
      position: afterFailure(afterBreak(LISTED, '7'), false, AT),
      now: 0,
      due: false,
    },
  ])('$when: $due', ({ position, now, due }) => {
    expect(isListDue(position, now)).toBe(due);
  });
});

describe('the next position', () => {
  it.each([
    { after: 'an event', next: afterEvent(LISTED, '8'), changed: { version: '8' } },
    { after: 'an accepted watch that failed at once', next: afterBreak(LISTED, '7'), changed: { fruitless: 1 } },
    { after: 'two of them', next: FRUITLESS, changed: { fruitless: 2 } },
    {
      after: 'an accepted watch that failed after an event',
      next: afterBreak(afterEvent(LISTED, '8'), '7'),
      changed: { version: '8' },
    },
    { after: 'a useful watch', next: afterEnd(FRUITLESS), changed: {} },
    { after: 'a failed request', next: afterFailure(LISTED, false, AT), changed: { isInDoubt: true } },
    { after: 'a newer state of the API server', next: afterCheck(IN_DOUBT, '8'), changed: {} },
    { after: 'the same state of the API server', next: afterCheck(IN_DOUBT, '7'), changed: {} },
    {
      after: 'an earlier state of the API server',
      next: afterCheck(IN_DOUBT, '6'),
      changed: { isInDoubt: true, version: undefined },
    },
    { after: 'a state without an order', next: afterCheck(IN_DOUBT, 'b'), changed: {} },
    { after: 'a state that the API server does not say', next: afterCheck(IN_DOUBT, undefined), changed: {} },
    { after: 'a list', next: afterList('7', 1_000), changed: {} },
  ])('after $after', ({ next, changed }) => {
    expect(next).toEqual({ version: '7', relistAt: 1_000, isInDoubt: false, fruitless: 0, ...changed });
  });
});

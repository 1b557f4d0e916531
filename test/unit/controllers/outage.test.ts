import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createOutage } from '../../../src/controllers/outage.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

const failed = (error: string) => ({ connected: false, error, isNotServed: false, isForbidden: false }) as const;

it('is reported after half a minute, with the last error', () => {
  const outage = createOutage();
  expect(outage.error()).toBeUndefined();
  outage.observe(failed('HTTP 503'));
  vi.advanceTimersByTime(29_999);
  outage.observe(failed('HTTP 500'));
  expect(outage.error()).toBeUndefined();
  vi.advanceTimersByTime(1);
  expect(outage.error()).toBe('HTTP 500');
});

it('ends with the connection, and the next one counts from its own beginning', () => {
  const outage = createOutage();
  outage.observe(failed('HTTP 503'));
  vi.advanceTimersByTime(30_000);
  outage.observe({ connected: true });
  expect(outage.error()).toBeUndefined();
  outage.observe(failed('HTTP 503'));
  vi.advanceTimersByTime(29_999);
  expect(outage.error()).toBeUndefined();
});

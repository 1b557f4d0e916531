import { vi } from 'vitest';
import { LONGEST_WAIT_MS } from '../longest-wait.ts';

/**
 * The result of the first call that does not fail. Like `expect.poll`, it waits almost as long as the test may take, so that a machine that stands
 * still for some seconds fails nothing, and a condition that does not come true is named by its assertion.
 */
export function eventually<T>(assertion: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(assertion, { timeout: LONGEST_WAIT_MS, interval: 10 });
}

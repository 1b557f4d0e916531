import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { createBackOff } from './back-off.ts';
import { toldToWaitMs } from './client/retry-after.ts';
import { followFault } from './standing-fault.ts';

const RETRY_MIN_MS = 200;
const RETRY_MAX_MS = 10_000;

/**
 * Does the work again and again until it succeeds: the API server may be away, or its administrator not be done yet. The same
 * failure is logged once.
 * @param name what the work is for, in the log
 */
export async function persist<T>(name: string, log: Logger, work: () => Promise<T>): Promise<T> {
  const backOff = createBackOff({ minMs: RETRY_MIN_MS, maxMs: RETRY_MAX_MS });
  const fault = followFault(log, `${name}: it works now`);
  for (;;) {
    try {
      const result = await work();
      fault.isOver();
      return result;
    } catch (error) {
      const { message } = error as Error;
      fault.is(message, `${name}: ${message}`);
      await delay(backOff.next(toldToWaitMs(error)));
    }
  }
}

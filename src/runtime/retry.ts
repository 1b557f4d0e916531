import { createBackOff, retryAfterOf } from './back-off.ts';
import { type FaultLog, followFault, kindOfMessage } from './fault-log.ts';
import { pause } from './pause.ts';

const RETRY_MIN_MS = 200;
const RETRY_MAX_MS = 10_000;

/**
 * Repeats the work until it succeeds: the API server may be unavailable, or its setup incomplete. The same failure is logged once.
 * @param name the name of the work in the log
 */
export async function retry<T>(name: string, log: FaultLog, work: () => Promise<T>): Promise<T> {
  const backOff = createBackOff({ minMs: RETRY_MIN_MS, maxMs: RETRY_MAX_MS });
  const fault = followFault(log, `${name}: it works now`);
  for (;;) {
    try {
      const result = await work();
      fault.ended();
      return result;
    } catch (error) {
      const { message } = error as Error;
      fault.occurred(kindOfMessage(message), `${name}: ${message}`);
      await pause(backOff.next(retryAfterOf(error)));
    }
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { createBackOff, retryAfterOf } from './back-off.ts';

/** Where it is logged. */
export interface FaultLog {
  warn(message: string): void;
  info(message: string): void;
}

/** A fault that lasts over several attempts. It is logged when it begins, changes and ends. */
export interface RepeatedFault {
  /** `kind` identifies the fault: messages may differ in numbers and addresses. */
  is(kind: string, message: string): void;
  isOver(): void;
}

/** @param over the log message when the fault has ended */
export function followFault(log: FaultLog, over: string): RepeatedFault {
  let current: string | undefined;
  return {
    is(kind, message) {
      if (kind !== current) log.warn(message);
      current = kind;
    },
    isOver() {
      if (current !== undefined) log.info(over);
      current = undefined;
    },
  };
}

const RETRY_MIN_MS = 200;
const RETRY_MAX_MS = 10_000;

/**
 * Repeats the work until it succeeds: the API server may be unavailable, or its setup incomplete. The same failure is logged once.
 * @param name the name of the work in the log
 */
export async function retry<T>(name: string, log: Logger, work: () => Promise<T>): Promise<T> {
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
      await delay(backOff.next(retryAfterOf(error)));
    }
  }
}

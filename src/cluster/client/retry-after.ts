import { ApiError } from './api-error.ts';

/** Nobody waits for longer because a proxy says so. */
const LONGEST_MS = 60_000;
/** An API server that is busy says 1 s, or more. */
const SHORTEST_MS = 1_000;

/**
 * How long a `Retry-After` header says to wait, in milliseconds, within bounds; undefined where it says nothing.
 * @param header seconds, or a date (RFC 9110, 10.2.3)
 * @param now by the server's clock
 */
export function parseRetryAfter(header: string | undefined, now: Date): number | undefined {
  const told = /^\d+$/.test(header ?? '') ? Number(header) * 1_000 : Date.parse(header ?? '') - now.getTime();
  if (Number.isNaN(told) || /^-/.test(header ?? '')) return undefined;
  return Math.min(Math.max(told, SHORTEST_MS), LONGEST_MS);
}

/** How long the API server said to wait, in milliseconds, where that is what an error says; otherwise 0. */
export function toldToWaitMs(error: unknown): number {
  return (error instanceof ApiError && error.retryAfterMs) || 0;
}

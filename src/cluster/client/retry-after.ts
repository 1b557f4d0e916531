/** No wait is longer, whatever a proxy says. */
const LONGEST_MS = 60_000;
/** A busy API server says 1 s, or more. */
const SHORTEST_MS = 1_000;

/**
 * How long a `Retry-After` header says to wait, in milliseconds, within limits. Undefined without a valid value.
 * @param header seconds, or a date (RFC 9110, 10.2.3)
 * @param now by the server's clock
 */
export function parseRetryAfter(header: string | undefined, now: Date): number | undefined {
  const retryAfterMs = /^\d+$/.test(header ?? '') ? Number(header) * 1_000 : Date.parse(header ?? '') - now.getTime();
  if (Number.isNaN(retryAfterMs) || /^-/.test(header ?? '')) return undefined;
  return Math.min(Math.max(retryAfterMs, SHORTEST_MS), LONGEST_MS);
}

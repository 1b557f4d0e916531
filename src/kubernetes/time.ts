/** The time in the form of Kubernetes' MicroTime (meta/v1): always six digits, of which three are used. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}

/** The time in the form of Kubernetes' Time (meta/v1): RFC 3339, without fractions of a second. */
export function rfc3339(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -5)}Z`;
}

/**
 * By how much, in milliseconds, a later object may seem older than an earlier one: `creationTimestamp` has whole seconds, and the clocks of two API
 * servers may have written the two.
 */
export const CLOCK_SKEW_MS = 2_000;

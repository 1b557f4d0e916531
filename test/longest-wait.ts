/** How long a test waits for a condition, in milliseconds: less than its time-out, which would not say what it waited for. */
export const LONGEST_WAIT_MS = 25_000;

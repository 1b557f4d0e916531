import { vi } from 'vitest';

/** Waits until an assertion holds, on a machine that may be busy with everything else. */
export function eventually(assertion: () => void): Promise<void> {
  return vi.waitFor(assertion, { timeout: 10_000, interval: 5 });
}

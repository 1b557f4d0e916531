import { X509Certificate } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { trackCaTrust } from '../../../src/certs/ca-trust.ts';
import { issueCa } from '../../../src/certs/issue.ts';
import { PROPAGATION_MS } from '../../../src/certs/rotation.ts';

const { cert: a } = await issueCa(new Date());
const { cert: b } = await issueCa(new Date());
const ca = new X509Certificate(a);
const NEVER = Number.POSITIVE_INFINITY;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** What is registered, and for how many milliseconds until the next step. */
type Step = readonly [bundles: readonly string[], forMs: number];

function after(...steps: readonly Step[]) {
  const trust = trackCaTrust();
  for (const [bundles, ms] of steps) {
    trust.observe(bundles);
    vi.advanceTimersByTime(ms);
  }
  return { trustedForMs: trust.trustedForMs(ca), waitMs: trust.waitMs(ca) };
}

describe('a CA', () => {
  it.each<{ of: string; steps: readonly Step[]; trustedForMs: number | undefined; waitMs: number }>([
    { of: 'nothing that was read', steps: [], trustedForMs: undefined, waitMs: NEVER },
    {
      of: 'every bundle from the first look on',
      steps: [[[a, `${b}${a}`], 4_000]],
      trustedForMs: NEVER,
      waitMs: PROPAGATION_MS - 4_000,
    },
    { of: 'every bundle but one', steps: [[[a, b], 60_000]], trustedForMs: undefined, waitMs: NEVER },
    { of: 'every bundle but one that is empty', steps: [[[a, ''], 60_000]], trustedForMs: undefined, waitMs: NEVER },
    {
      of: 'every bundle since a change',
      steps: [
        [[b, b], 60_000],
        [[a, b], 60_000],
        [[a + b, a], 3_000],
      ],
      trustedForMs: 3_000,
      waitMs: PROPAGATION_MS - 3_000,
    },
    {
      of: 'every bundle, however often they change beside it',
      steps: [
        [[b], 60_000],
        [[a], 20_000],
        [[a + b], 1],
      ],
      trustedForMs: 20_001,
      waitMs: 0,
    },
    {
      of: 'every bundle again',
      steps: [
        [[a], 60_000],
        [[b], 1],
        [[a], 2],
      ],
      trustedForMs: 2,
      waitMs: PROPAGATION_MS - 2,
    },
    { of: 'no bundle, where there is none', steps: [[[], 60_000]], trustedForMs: NEVER, waitMs: 0 },
    {
      of: 'the first bundle after a time without any',
      steps: [
        [[b], 60_000],
        [[], 7_000],
        [[a], 1_000],
      ],
      trustedForMs: 8_000,
      waitMs: PROPAGATION_MS - 8_000,
    },
  ])('of $of', ({ steps, trustedForMs, waitMs }) => {
    expect(after(...steps)).toEqual({ trustedForMs, waitMs });
  });
});

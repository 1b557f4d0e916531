import { X509Certificate } from 'node:crypto';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { parseCertificates } from '../../../src/certs/bundle.ts';
import { issueServing } from '../../../src/certs/issue.ts';
import {
  FUTURE_CA_MS,
  followFutureCa,
  introduceCa,
  isRotating,
  nextStep,
  PROPAGATION_MS,
} from '../../../src/certs/rotation.ts';
import { certificateFault } from '../../../src/certs/stored-faults.ts';
import type { CompleteFiles, StoredFiles } from '../../../src/certs/stored-files.ts';

const DAY_MS = 86_400_000;
const START = new Date('2026-06-01T12:00:00Z');
const NAMES = ['taintkeeper.taintkeeper.svc'];
const OVERLAP_MS = 3_600_000;
const NOTHING: StoredFiles = { cert: undefined, key: undefined, bundle: undefined, caKey: undefined };

const later = (ms: number, from = START) => new Date(from.getTime() + ms);
const next = (files: StoredFiles, now: Date, { trusted = true, names = NAMES, futureForMs = 0 } = {}) =>
  nextStep(files, { now, names, trusted, overlapMs: OVERLAP_MS, futureForMs });

/** The step that there must be. */
async function taken(...args: Parameters<typeof next>) {
  const step = await next(...args);
  expect(step, 'a step').toBeDefined();
  return step as NonNullable<typeof step>;
}

const first = (await next(NOTHING, START, { trusted: false }))?.files as CompleteFiles;

const fingerprints = (bundle: string) => parseCertificates(bundle).map(({ fingerprint256 }) => fingerprint256);
/** Whether a client with this bundle accepts what is served. */
const accepted = ({ cert }: CompleteFiles, bundle: string) => {
  const certificate = new X509Certificate(cert);
  return parseCertificates(bundle).some((ca) => certificate.verify(ca.publicKey));
};

describe('of nothing', () => {
  it('makes a CA and a serving certificate for the names', () => {
    expect(certificateFault(first, NAMES, START)).toBeUndefined();
    expect(fingerprints(first.bundle)).toHaveLength(1);
    expect(accepted(first, first.bundle)).toBe(true);
  });

  it('leaves alone what is good', async () => {
    expect(await next(first, START)).toBeUndefined();
    expect(await next(first, later(59 * DAY_MS))).toBeUndefined();
  });
});

describe('of a serving certificate', () => {
  it.each([
    { why: 'ends within 30 days', files: first, now: later(61 * DAY_MS), names: NAMES },
    { why: 'has ended', files: first, now: later(91 * DAY_MS), names: NAMES },
    { why: 'is not for the names', files: first, now: START, names: ['other.ns.svc'] },
    { why: 'is missing', files: { ...first, cert: undefined, key: undefined }, now: START, names: NAMES },
    { why: 'is garbage', files: { ...first, cert: 'garbage' }, now: START, names: NAMES },
    { why: 'has the key of another', files: { ...first, key: first.caKey }, now: START, names: NAMES },
  ])('that $why makes a new one, of the same CA', async ({ files, now, names }) => {
    const step = await taken(files, now, { names });
    expect(certificateFault(step.files, names, now)).toBeUndefined();
    expect(step.files.cert).not.toBe(first.cert);
    expect(step.files).toMatchObject({ bundle: first.bundle, caKey: first.caKey });
  });

  it('waits with a renewal, but not with a repair, until its CA is trusted', async () => {
    expect(await next(first, later(61 * DAY_MS), { trusted: false })).toBeUndefined();
    expect(await next(first, later(91 * DAY_MS), { trusted: false })).toBeDefined();
  });
});

describe('of a CA', () => {
  const soon = later(3650 * DAY_MS - 300 * DAY_MS);

  /** The same CA with a serving certificate that is still fresh in the CA's last year. */
  async function aged(): Promise<CompleteFiles> {
    const { cert, key } = await issueServing({ cert: first.bundle, key: first.caKey }, NAMES, soon);
    return { ...first, cert, key };
  }

  it('that ends within a year, is introduced, then used, and only then is the old one gone', async () => {
    const old = await aged();
    const introduced = await taken(old, soon, { trusted: true });
    expect(fingerprints(introduced.files.bundle)).toHaveLength(2);
    expect(introduced.files).toMatchObject({ cert: old.cert, key: old.key });
    expect(isRotating(introduced.files)).toBe(true);

    expect(await next(introduced.files, soon, { trusted: false })).toBeUndefined();

    const used = await taken(introduced.files, soon, { trusted: true });
    expect(used.files.bundle).toBe(introduced.files.bundle);
    expect(isRotating(used.files)).toBe(false);

    const over = OVERLAP_MS + PROPAGATION_MS;
    expect(await next(used.files, later(over - 1000, soon))).toBeUndefined();
    const done = await taken(used.files, later(over, soon));
    expect(fingerprints(done.files.bundle)).toEqual(fingerprints(introduced.files.bundle).slice(0, 1));
    expect(await next(done.files, later(over, soon))).toBeUndefined();
  });

  it('at every step, what is served is trusted by the bundle of the step before and of the step after', async () => {
    const states = [await aged()];
    for (const ms of [0, 0, OVERLAP_MS + PROPAGATION_MS]) {
      states.push((await taken(states.at(-1) as CompleteFiles, later(ms, soon))).files);
    }
    for (const [index, state] of states.entries()) {
      for (const neighbour of states.slice(Math.max(0, index - 1), index + 2)) {
        expect(accepted(state, neighbour.bundle)).toBe(true);
      }
    }
  });

  it.each([
    { why: 'whose key is lost', files: { ...first, caKey: undefined } },
    { why: 'whose key is of another', files: { ...first, caKey: first.key } },
  ])('$why is replaced step by step: what is served stays', async ({ files }) => {
    const step = await taken(files, START, { trusted: false });
    expect(step.files.cert).toBe(first.cert);
    expect(fingerprints(step.files.bundle)).toHaveLength(2);
    expect(certificateFault(step.files, NAMES, START)).toBeUndefined();
  });

  it.each([
    { why: 'garbage', files: { bundle: 'a', caKey: 'b', cert: 'c', key: 'd' }, now: START },
    { why: 'all of it expired', files: first, now: later(3651 * DAY_MS) },
    { why: 'no CA to have signed what is served', files: { ...first, bundle: undefined }, now: START },
  ])('with $why, all is made anew at once', async ({ files, now }) => {
    const step = await taken(files, now, { trusted: false });
    expect(certificateFault(step.files, NAMES, now)).toBeUndefined();
    expect(step.files.cert).not.toBe(first.cert);
  });

  it('that was introduced while another introduction still runs out leaves all in the bundle', async () => {
    const second = (await introduceCa(first, START, 'asked for')).files;
    const used = (await taken(second, START)).files;
    const third = (await introduceCa(used, START, 'asked for')).files;
    expect(fingerprints(third.bundle)).toHaveLength(3);
    expect(accepted(third, third.bundle)).toBe(true);
  });

  it('from a clock that is ahead is used only once it is valid', async () => {
    const ahead = (await introduceCa(first, later(2 * 3_600_000), 'asked for')).files;
    expect(await next(ahead, START)).toBeUndefined();
    expect(await next(ahead, later(3_600_000))).toBeDefined();
  });

  it('that is not valid yet is not replaced at first: the clock is wrong, and may be corrected', async () => {
    for (const futureForMs of [0, FUTURE_CA_MS - 1]) {
      expect(await next(first, later(-DAY_MS), { futureForMs })).toMatchObject({ files: { bundle: first.bundle } });
    }
  });

  describe('that has not been valid for ten minutes, by clocks that agree', () => {
    const ahead = later(3650 * DAY_MS);
    const futureForMs = FUTURE_CA_MS;

    it.each([
      { why: 'all was issued by the clock that was ahead', from: NOTHING, reissued: false },
      { why: 'and has issued a serving certificate of today', from: NOTHING, reissued: true },
    ])('is replaced with its certificate: $why', async ({ from, reissued }) => {
      const issued = await taken(from, ahead, { trusted: false });
      const stored = reissued ? (await taken(issued.files, START)).files : issued.files;
      const step = await taken(stored, START, { trusted: false, futureForMs });
      expect(certificateFault(step.files, NAMES, START)).toBeUndefined();
      expect(parseCertificates(step.files.bundle).map((ca) => ca.validFromDate < START)).toEqual([true]);
      expect(accepted(step.files, step.files.bundle)).toBe(true);
      expect(step.what).toContain('not valid before');
      expect(await next(step.files, START)).toBeUndefined();
    });

    it('is replaced step by step while the certificate of an earlier CA is accepted', async () => {
      const introduced = (await introduceCa(first, ahead, 'asked for')).files;
      // The CA of START has ended by then, and is not in that bundle.
      const stored = { ...introduced, bundle: introduced.bundle + first.bundle };
      const step = await taken(stored, START, { trusted: false, futureForMs });
      expect(step.files.cert).toBe(first.cert);
      expect(accepted(step.files, step.files.bundle)).toBe(true);
      expect(parseCertificates(step.files.bundle).map((ca) => ca.validFromDate < START)).toEqual([true, true]);
    });
  });

  it('that is not valid yet is followed while it is the same, and clocks agree', () => {
    vi.useFakeTimers({ now: later(-DAY_MS) });
    onTestFinished(() => void vi.useRealTimers());
    const follow = followFutureCa();
    const observe = (afterMs: number, bundle: string, clocksAgree = true) => {
      vi.advanceTimersByTime(afterMs);
      return follow(bundle, new Date(), clocksAgree);
    };
    const other = first.bundle.replace(/-----BEGIN/, '# another form\n-----BEGIN');
    expect(observe(0, first.bundle)).toBe(0);
    expect(observe(60_000, other)).toBe(60_000);
    expect(observe(60_000, first.bundle, false)).toBe(0);
    expect(observe(60_000, first.bundle)).toBe(0);
    expect(observe(60_000, first.bundle)).toBe(60_000);
    expect(observe(60_000, '')).toBe(0);
    expect(observe(0, first.bundle)).toBe(0);
    expect(observe(DAY_MS, first.bundle)).toBe(0);
  });
});

import { describe, expect, it, vi } from 'vitest';
import { fingerprints } from '../../../../src/certs/bundle.ts';
import { issueCa } from '../../../../src/certs/issue.ts';
import { carriedCas } from '../../../../src/controllers/webhooks/carried-cas.ts';

const OVERLAP_MS = 60_000;
const NOW = new Date('2026-06-01T12:00:00Z');
const DECADES_AGO = new Date('2006-06-01T12:00:00Z');
const ca = async (issued = NOW) => (await issueCa(issued)).cert;

/** The bundles of a leader that starts with files of that CA while others are registered. */
function leaderWith(own: string, registered: readonly string[]) {
  let passedMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => passedMs);
  const carried = carriedCas({
    registered: () => registered,
    overlapMs: OVERLAP_MS,
    othersStayForMs: () => 0,
    now: () => NOW,
  });
  return {
    dueInMs: carried.dueInMs,
    at(ms: number) {
      passedMs = ms;
    },
    bundleAfter(ms: number, files: string | undefined = own) {
      passedMs = ms;
      const bundle = carried.merge(files, true);
      return bundle === undefined ? undefined : fingerprints(bundle);
    },
  };
}

it.each([
  'the earlier one, which replicas serve that see their files late',
  'a later one, which replicas serve already that saw theirs before this leader',
])('a CA that is registered and not in the files stays for the overlap: %s', async () => {
  const [own, other] = [await ca(), await ca()];
  const { bundleAfter, dueInMs } = leaderWith(own, [other, other]);
  expect(bundleAfter(0)).toEqual(fingerprints(own + other));
  expect(dueInMs()).toBe(OVERLAP_MS);
  expect(bundleAfter(OVERLAP_MS - 1)).toEqual(fingerprints(own + other));
  expect(bundleAfter(OVERLAP_MS)).toEqual(fingerprints(own));
  expect(dueInMs()).toBe(Number.POSITIVE_INFINITY);
});

it('the removal of a CA is due at once if its overlap ended while the leader wrote the bundle', async () => {
  const [own, other] = [await ca(), await ca()];
  const { bundleAfter, dueInMs, at } = leaderWith(own, [other]);
  bundleAfter(0);
  expect(bundleAfter(OVERLAP_MS - 1)).toEqual(fingerprints(own + other));
  // Writing the bundle has taken a moment.
  at(OVERLAP_MS + 5);
  expect(dueInMs()).toBe(0);
});

it('the overlap begins when the files lose the CA, and anew when they have had it again', async () => {
  const [own, other] = [await ca(), await ca()];
  const { bundleAfter } = leaderWith(own, [own + other]);
  expect(bundleAfter(0, own + other)).toEqual(fingerprints(own + other));
  expect(bundleAfter(OVERLAP_MS)).toEqual(fingerprints(own + other));
  expect(bundleAfter(1.5 * OVERLAP_MS, own + other)).toEqual(fingerprints(own + other));
  expect(bundleAfter(2.5 * OVERLAP_MS - 1)).toEqual(fingerprints(own + other));
});

it('a CA that is no longer valid does not stay', async () => {
  const [own, expired] = [await ca(), await ca(DECADES_AGO)];
  const { bundleAfter } = leaderWith(own, [expired, own]);
  expect(bundleAfter(0)).toEqual(fingerprints(own));
});

it('while the files name no CA, the registered ones stay, and as they are written', async () => {
  const [own, other] = [await ca(), await ca()];
  const registered = [`# ours\n${own}`, own];
  const carried = carriedCas({
    registered: () => registered,
    overlapMs: OVERLAP_MS,
    othersStayForMs: () => 0,
    now: () => NOW,
  });
  carried.merge(other, true);
  expect(carried.dueInMs()).toBeGreaterThan(0);
  expect([carried.merge(undefined, true), carried.dueInMs()]).toEqual([registered[0], Number.POSITIVE_INFINITY]);
});

it('while no CA of the files signed the served certificate, the registered ones stay: the file may be wrong', async () => {
  const [wrong, right] = [await ca(), await ca()];
  let passedMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => passedMs);
  const carried = carriedCas({
    registered: () => [right],
    overlapMs: OVERLAP_MS,
    othersStayForMs: () => 0,
    now: () => NOW,
  });
  for (const ms of [0, 2 * OVERLAP_MS]) {
    passedMs = ms;
    expect(fingerprints(carried.merge(wrong, false) ?? '')).toEqual(fingerprints(wrong + right));
    expect(carried.dueInMs()).toBe(Number.POSITIVE_INFINITY);
  }
});

describe('while replicas have certificates of different sources', () => {
  /** The bundles of a leader with the own Secret. */
  function leaderOfSecret(registered: () => readonly string[]) {
    let passedMs = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => passedMs);
    const othersStay = { untilMs: OVERLAP_MS };
    const carried = carriedCas({
      registered,
      overlapMs: 0,
      othersStayForMs: () => Math.max(0, othersStay.untilMs - passedMs),
      now: () => NOW,
    });
    return {
      othersStay,
      dueInMs: carried.dueInMs,
      bundleAfter(ms: number, own: string) {
        passedMs = ms;
        return fingerprints(carried.merge(own, true) ?? '');
      },
    };
  }

  it('a leader with the own Secret keeps what is registered, and otherwise only the CAs of the Secret', async () => {
    const [own, other] = [await ca(), await ca()];
    const { othersStay, dueInMs, bundleAfter } = leaderOfSecret(() => [other]);
    expect(bundleAfter(0, own)).toEqual(fingerprints(own + other));
    expect(dueInMs()).toBe(OVERLAP_MS);
    expect(bundleAfter(OVERLAP_MS - 1, own)).toEqual(fingerprints(own + other));
    expect(bundleAfter(OVERLAP_MS, own)).toEqual(fingerprints(own));
    expect(dueInMs()).toBe(Number.POSITIVE_INFINITY);
    othersStay.untilMs = 2 * OVERLAP_MS;
    expect(bundleAfter(OVERLAP_MS + 1, own)).toEqual(fingerprints(own + other));
  });

  it('a CA that is no longer valid does not stay', async () => {
    const [own, expired] = [await ca(), await ca(DECADES_AGO)];
    expect(leaderOfSecret(() => [expired]).bundleAfter(0, own)).toEqual(fingerprints(own));
  });

  it('a CA that was removed and added again stays for another overlap', async () => {
    const [own, other] = [await ca(), await ca()];
    const registered = [other];
    const { bundleAfter } = leaderWith(own, registered);
    expect(bundleAfter(0)).toEqual(fingerprints(own + other));
    expect(bundleAfter(OVERLAP_MS)).toEqual(fingerprints(own));
    registered[0] = own;
    bundleAfter(OVERLAP_MS + 1);
    registered[0] = own + other;
    expect(bundleAfter(OVERLAP_MS + 2)).toEqual(fingerprints(own + other));
    expect(bundleAfter(2 * OVERLAP_MS + 1)).toEqual(fingerprints(own + other));
    expect(bundleAfter(2 * OVERLAP_MS + 2)).toEqual(fingerprints(own));
  });
});

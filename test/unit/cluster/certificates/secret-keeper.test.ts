import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { issueCa, issueServing } from '../../../../src/certs/issue.ts';
import { PROPAGATION_MS } from '../../../../src/certs/rotation.ts';
import type { ServableCertificates } from '../../../../src/certs/servable-certificates.ts';
import type { CompleteFiles } from '../../../../src/certs/stored-files.ts';
import { keepStored, NAMES, NOW, newCertificates } from './secret-server.ts';

const HOUR_MS = 3_600_000;

beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A keeper of this Secret. The callers trust its CA. */
async function start(before: CompleteFiles) {
  const served: ServableCertificates[] = [];
  const onFault = vi.fn();
  const { keeper, put, trust } = await keepStored(before, {
    onServe: (certificates) => served.push(certificates),
    onIssued: (what) => expect.unreachable(what),
    onFault,
    onChange: () => {},
  });
  await vi.advanceTimersByTimeAsync(0);
  return { keeper, put, trust, served, onFault };
}

it('serves a certificate of another CA once that CA is trusted for a while, and starts no timer with a negative time', async () => {
  const [before, after] = [await newCertificates(), await newCertificates()];
  const { keeper, put, trust, served, onFault } = await start(before);
  const timers = vi.spyOn(globalThis, 'setTimeout');

  await put(after);
  trust.observe([`${before.bundle}${after.bundle}`]);
  keeper.recheck();
  await vi.advanceTimersByTimeAsync(PROPAGATION_MS - 1);
  expect(served.at(-1)?.serving.cert).toBe(before.cert);
  // Fake timers fire on time. Those of a busy process fire late.
  const onTime = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => onTime() + 5);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(served.at(-1)?.serving.cert).toBe(after.cert);

  const times = timers.mock.calls.map(([, ms]) => ms as number);
  expect(times).not.toEqual([]);
  expect(times.filter((ms) => ms < 0)).toEqual([]);
  expect(onFault).not.toHaveBeenCalled();
});

it('serves no certificate of a CA that is not valid yet while the one before is valid', async () => {
  const before = await newCertificates();
  const ahead = await issueCa(new Date(NOW.getTime() + 2 * HOUR_MS));
  const { keeper, put, trust, served, onFault } = await start(before);
  const { cert, key } = await issueServing(ahead, NAMES, NOW);
  const bundle = `${ahead.cert.trimEnd()}\n${before.bundle}`;
  trust.observe([bundle]);
  await put({ cert, key, bundle, caKey: ahead.key });
  await vi.advanceTimersByTimeAsync(600_000);

  expect(served.map(({ serving }) => serving.cert)).toEqual(Array(served.length).fill(before.cert));
  expect(keeper.fault()).toMatch(
    /^Secret taintkeeper\/taintkeeper-certs: the CA is not valid before 2026-06-01T13:00:00.000Z; the last good certificates are served$/,
  );
  expect(onFault.mock.calls).toEqual([[keeper.fault()]]);

  // Once the CA is valid.
  await vi.advanceTimersByTimeAsync(HOUR_MS);
  expect(keeper.fault()).toBeUndefined();
  expect(served.at(-1)?.serving.cert).toBe(cert);
});

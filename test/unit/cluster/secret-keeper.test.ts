import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { trackCaTrust } from '../../../src/certs/ca-trust.ts';
import type { ServableCertificates } from '../../../src/certs/certificate-directory.ts';
import { PROPAGATION_MS } from '../../../src/certs/rotation.ts';
import { keepSecret } from '../../../src/cluster/secret-keeper.ts';
import { NAMES, NOW, newCertificates, REF, secretServer } from './secret-server.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

it('serves a certificate of another CA once that CA is trusted for a while, and starts no timer with a negative time', async () => {
  const [before, after] = [await newCertificates(), await newCertificates()];
  const { client, put } = secretServer();
  await put(before);
  const served: ServableCertificates[] = [];
  const trust = trackCaTrust();
  trust.observe([before.caCert]);
  const keeper = await keepSecret({
    client,
    ref: REF,
    names: NAMES,
    hasRescuer: async () => false,
    trust,
    overlapMs: 3_600_000,
    onServe: (certificates) => served.push(certificates),
    onIssued: (what) => expect.unreachable(what),
    onFault: (message) => expect.unreachable(message),
    onChange: () => {},
    log: pino({ level: 'silent' }),
  });
  onTestFinished(() => keeper.stop());
  await vi.advanceTimersByTimeAsync(0);
  const timers = vi.spyOn(globalThis, 'setTimeout');

  await put(after);
  trust.observe([`${before.caCert}${after.caCert}`]);
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
});

import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { trackCaTrust } from '../../../src/certs/ca-trust.ts';
import type { ServableCertificates } from '../../../src/certs/certificate-directory.ts';
import { type CompleteFiles, nextStep, PROPAGATION_MS } from '../../../src/certs/rotation.ts';
import { writeSecret } from '../../../src/cluster/certificate-secret.ts';
import type { ApiClient, LinesOptions, RequestOptions } from '../../../src/cluster/client/api-client.ts';
import { keepSecret } from '../../../src/cluster/secret-keeper.ts';
import { absent } from './client/absent.ts';

const NAMES = ['taintkeeper.taintkeeper.svc'];
const REF = { namespace: 'taintkeeper', name: 'taintkeeper-certs' };
const NOW = new Date('2026-06-01T12:00:00Z');

beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** The certificates of an installation that had none before. */
async function newCertificates(): Promise<CompleteFiles> {
  const nothing = { cert: undefined, key: undefined, caCert: undefined, caKey: undefined };
  const step = await nextStep(nothing, { now: NOW, names: NAMES, trusted: false, overlapMs: 0, futureForMs: 0 });
  return (step as { files: CompleteFiles }).files;
}

/** An API server that has one Secret, and tells watchers about changes. */
function secretServer() {
  let version = 0;
  let stored: Record<string, unknown> | undefined;
  let changed = Promise.withResolvers<void>();
  const client = {
    now: () => new Date(),
    isClockConfirmed: () => true,
    async request(method: string, path: string, { body }: RequestOptions = {}) {
      if (method !== 'GET') {
        const resourceVersion = String(++version);
        const { data } = body as { data: object };
        stored = { kind: 'Secret', apiVersion: 'v1', metadata: { ...REF, uid: 'u', resourceVersion }, data };
        changed.resolve();
        changed = Promise.withResolvers();
      } else if (!path.endsWith(REF.name)) {
        return { metadata: { resourceVersion: String(version) }, items: stored ? [stored] : [] };
      }
      if (!stored) throw absent(method, path);
      return stored;
    },
    async *lines(_path: string, { signal, onOpen }: LinesOptions) {
      const aborted = new Promise<void>((_resolve, reject) =>
        signal?.addEventListener('abort', () => reject(signal.reason)),
      );
      onOpen?.();
      for (;;) {
        await Promise.race([changed.promise, aborted]);
        yield { type: 'MODIFIED', object: stored };
      }
    },
  } as unknown as ApiClient;
  return {
    client,
    put: (files: CompleteFiles) =>
      writeSecret(client, REF, files, { files, resourceVersion: version === 0 ? undefined : String(version) }),
  };
}

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

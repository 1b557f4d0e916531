import { X509Certificate } from 'node:crypto';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { fingerprints, parseCertificates } from '../../../../src/certs/bundle.ts';
import { chainFault } from '../../../../src/certs/chain.ts';
import { issueServing } from '../../../../src/certs/issue.ts';
import { introduceCa } from '../../../../src/certs/rotation.ts';
import type { CompleteFiles } from '../../../../src/certs/stored-files.ts';
import { startCertificateRotation } from '../../../../src/controllers/certificates/certificate-rotation.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { captureLog } from '../../captured-log.ts';
import { keepStored, NAMES, NOW, newCertificates, OVERLAP_MS, REF } from '../../cluster/certificates/secret-server.ts';
import { eventually } from '../../eventually.ts';
import { startInTest } from '../run.ts';

const DAY_MS = 86_400_000;
const AHEAD = new Date(NOW.getTime() + 3650 * DAY_MS);

beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
});

afterEach(() => {
  vi.useRealTimers();
});

/** A leader with these certificates in the Secret, and in every `caBundle`. */
async function lead(files: CompleteFiles) {
  const { log } = captureLog();
  const changes = createSubject();
  const { client, put, remove, trust, keeper } = await keepStored(files, {
    onServe: () => {},
    onIssued: () => {},
    onFault: () => {},
    onChange: changes.next,
  });
  const secret = { keeper, ref: REF, names: NAMES };
  const webhooks = { trust, changes: createSubject() };
  startInTest(log, (run) =>
    startCertificateRotation(run, { client, secret, overlapMs: OVERLAP_MS, webhooks, certificates: { changes } }),
  );
  await vi.advanceTimersByTimeAsync(0);
  return { keeper, put, remove, stored: () => keeper.stored().files as CompleteFiles };
}

/** The CA of a clock that was ahead, and what the corrected clock issued by it at once. */
async function ofFutureCa(): Promise<CompleteFiles> {
  const { bundle, caKey } = await newCertificates(AHEAD);
  const { cert, key } = await issueServing({ cert: bundle, key: caKey }, NAMES, NOW);
  return { bundle, caKey, cert, key };
}

/** What a client that trusts the bundle of the Secret objects to. */
const objection = ({ cert, bundle }: CompleteFiles) =>
  chainFault(parseCertificates(cert), parseCertificates(bundle), [], new Date());

it('restores a Secret that is deleted', async () => {
  const files = await newCertificates();
  const { remove, stored } = await lead(files);
  remove();
  await eventually(() => expect(stored()).toEqual(files));
});

it.each([
  {
    why: 'the Secret is deleted',
    change: async ({ remove }: Awaited<ReturnType<typeof lead>>) => remove(),
  },
  {
    why: '`certs rotate --ca` introduces another one',
    change: async ({ put, stored }: Awaited<ReturnType<typeof lead>>) =>
      void (await put((await introduceCa(stored(), NOW, 'asked for')).files)),
  },
])('replaces a CA that is not valid yet at once if $why, and the replica serves the new certificate', async (given) => {
  const files = await ofFutureCa();
  const leader = await lead(files);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(leader.stored()).toEqual(files);

  await given.change(leader);
  await eventually(() => expect([undefined, files.cert]).not.toContain(leader.stored().cert));
  expect(objection(leader.stored())).toBeUndefined();
  expect(leader.keeper.current().serving.cert).toBe(leader.stored().cert);
});

it('replaces a CA that is not valid yet at once if the Secret is deleted, also while an earlier CA is used', async () => {
  const earlier = await newCertificates();
  const ahead = (await introduceCa(earlier, AHEAD, 'asked for')).files;
  // The earlier CA has ended by then, and is not in that bundle.
  const { remove, stored, keeper } = await lead({ ...ahead, bundle: ahead.bundle + earlier.bundle });
  remove();
  await eventually(() => expect([undefined, earlier.cert]).not.toContain(stored().cert));

  expect(objection(stored())).toBeUndefined();
  expect(fingerprints(stored().bundle)).toHaveLength(1);
  // Every caBundle has its CA.
  expect(keeper.current().serving.cert).toBe(earlier.cert);
  expect(keeper.current().bundle).toContain(`${new X509Certificate(earlier.bundle)}`.trim());
});

import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { parseCertificates } from '../../src/certs/bundle.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import {
  type AdmissionStream,
  type Outcomes,
  STREAM_WORKERS,
  startAdmissionStream,
  summaryOfAdmissions,
} from './admission-stream.ts';
import { certificateData } from './certificate-data.ts';
import { shakeHands } from './handshake.ts';
import {
  CERTIFICATES,
  caBundles,
  type Installation,
  install,
  leaderOf,
  readCertificates,
  registerControlPlaneNode,
  waitUntilProtected,
} from './installation.ts';
import {
  countOf,
  NONE_FAILED,
  startTrustProber,
  summaryOfHandshakes,
  type TrustOutcomes,
  type TrustProber,
} from './trust-prober.ts';

const OVERLAP = { caOverlapSeconds: 5 };
/** The lease's duration, and half as much again. */
const TAKEOVER_TIMEOUT_MS = 25_000;
/** A CA is used once it has been registered for 10 s, the earlier one leaves 5 s (see above) later, and each minute everybody looks again. */
const AGREEMENT_TIMEOUT_MS = 90_000;
const TEST_TIMEOUT_MS = 150_000;

interface Seen {
  readonly admissions: Outcomes;
  readonly handshakes: TrustOutcomes;
}

const text = (base64: string | undefined) => Buffer.from(base64 ?? '', 'base64').toString();

describeWithControlPlane('while no replica leads, other certificates in the Secret', {}, (cp) => {
  let installation: Installation;
  let stream: AdmissionStream;
  let prober: TrustProber;
  const figures: string[] = [];

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a', 'b', 'c'], OVERLAP);
    await registerControlPlaneNode(cp(), 'cp-1');
    await waitUntilProtected(cp(), 'cp-1');
    await installation.proxy.waitForReady('a', 'b', 'c');
    stream = startAdmissionStream(cp(), 'cp-1');
    prober = startTrustProber(cp(), installation.proxy.port);
  });
  beforeEach(async () => {
    await waitUntil(() => (prober.take().momentAgo.trusted > 0 ? true : undefined), {
      timeoutMs: 10_000,
      otherwise: () => 'the prober does not get through',
    });
    stream.take();
  });
  afterAll(async () => {
    await Promise.all([stream?.stop(), prober?.stop()]);
    await installation?.stop();
    process.stderr.write(`${figures.join('\n')}\n`);
  });

  async function killLeader(): Promise<string> {
    const leader = await leaderOf(cp());
    await installation.replica(leader).kill();
    installation.replicas.delete(leader);
    return leader;
  }

  async function waitForAnotherLeader(previous: string): Promise<void> {
    await waitUntil(async () => (![previous, ''].includes(await leaderOf(cp())) ? true : undefined), {
      timeoutMs: TAKEOVER_TIMEOUT_MS,
      otherwise: () => `no replica leads after ${previous}`,
    });
  }

  /** Waits until the Secret has one CA, every bundle is it, and every replica serves the Secret's certificate. */
  async function waitForAgreement(): Promise<void> {
    let last = '';
    await waitUntil(
      async () => {
        const { data } = await readCertificates(cp());
        const bundle = text(data?.['ca.crt']);
        const bundles = await caBundles(cp());
        const served = await Promise.all(
          [...installation.replicas.values()].map(({ port }) => shakeHands(port, bundle)),
        );
        const ours = data && new X509Certificate(text(data['tls.crt'])).fingerprint256;
        last = JSON.stringify({
          cas: parseCertificates(bundle).length,
          otherBundles: bundles.filter((found) => text(found) !== bundle).length,
          served: served.map(
            (one) => `${one.outcome} ${'certificate' in one && one.certificate?.fingerprint256 === ours}`,
          ),
        });
        const agreed =
          parseCertificates(bundle).length === 1 &&
          bundles.length > 0 &&
          bundles.every((found) => text(found) === bundle) &&
          served.every((one) => one.outcome === 'trusted' && one.certificate?.fingerprint256 === ours);
        return agreed ? true : undefined;
      },
      { timeoutMs: AGREEMENT_TIMEOUT_MS, otherwise: () => `no agreement: ${last}` },
    );
  }

  function take(what: string): Seen {
    const seen = { admissions: stream.take(), handshakes: prober.take() };
    figures.push(`${what}: ${summaryOfAdmissions(seen.admissions)}; ${summaryOfHandshakes(seen.handshakes)}`);
    return seen;
  }

  /** The leader is killed, `meanwhile` is done at once, and the rest is waited for: the next leader, and one CA everywhere. */
  async function afterTheLeaderIsKilled(meanwhile: () => Promise<void>): Promise<{ before: Seen; after: Seen }> {
    const leader = await killLeader();
    await meanwhile();
    await waitForAnotherLeader(leader);
    installation.proxy.remove(leader);
    const before = take('before the next leader');
    await waitForAgreement();
    // What was registered until a moment ago.
    await prober.caughtUp();
    return { before, after: take('with the next leader') };
  }

  function expectNoneDistrusted({ before, after }: { before: Seen; after: Seen }): void {
    for (const { admissions, handshakes } of [before, after]) {
      expect(admissions.refused).toBeGreaterThan(0);
      expect(handshakes.now.trusted).toBeGreaterThan(0);
      expect(handshakes.momentAgo.trusted).toBeGreaterThan(0);
      expect(handshakes).toMatchObject({ now: { distrusted: [] }, momentAgo: { distrusted: [] } });
      expect(admissions.passed).toBe(0);
    }
    // Whoever is killed takes along what it was answering: each worker and each dialler has one thing on its way.
    expect(countOf(before.handshakes.now.unanswered)).toBeLessThanOrEqual(1);
    expect(countOf(before.handshakes.momentAgo.unanswered)).toBeLessThanOrEqual(1);
    expect(before.admissions.failed.length).toBeLessThanOrEqual(STREAM_WORKERS);
    expect(after).toMatchObject({ admissions: { failed: [] }, handshakes: NONE_FAILED });
  }

  it(
    'those of another CA, as from a backup, are used only once they are trusted',
    async () => {
      const data = await certificateData();
      const seen = await afterTheLeaderIsKilled(async () => {
        const patch = { body: { data }, contentType: MERGE_PATCH };
        expect((await cp().request(admin, 'PATCH', CERTIFICATES, patch)).status).toBe(200);
      });
      expectNoneDistrusted(seen);
      expect((await readCertificates(cp())).data['ca.crt']).toBe(data['ca.crt']);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'those that a replica issues that finds none are used only once they are trusted',
    async () => {
      // Two are left of the test before.
      const seen = await afterTheLeaderIsKilled(async () => {
        expect((await cp().request(admin, 'DELETE', CERTIFICATES)).status).toBe(200);
        const [replica] = await installation.start(['d'], OVERLAP);
        await replica?.waitForLog(({ msg }) => msg.startsWith('issued CA and serving certificate'));
      });
      expectNoneDistrusted(seen);
      await installation.proxy.waitForReady(...installation.replicas.keys());
    },
    TEST_TIMEOUT_MS,
  );
});

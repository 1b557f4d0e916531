import { X509Certificate } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
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
import {
  CERTIFICATES,
  caBundles,
  configurationPath,
  type Installation,
  install,
  LEASE,
  leaderOf,
  readCertificates,
  readConfigurations,
  registerControlPlaneNode,
  waitUntilProtected,
} from './installation.ts';
import { runTaintkeeper } from './run-taintkeeper.ts';
import {
  countOf,
  NONE_FAILED,
  startTrustProber,
  summaryOfHandshakes,
  type TrustOutcomes,
  type TrustProber,
} from './trust-prober.ts';

/** The lease's own duration: after so long without a renewal somebody else leads. */
const LEASE_MS = 15_000;
/** A rotation of the CA takes 35 s, of which about 20 s are fixed. On a slow machine, the rest takes longer. */
const CA_ROTATION_MS = 60_000;

const pem = (base64: string | undefined) => Buffer.from(base64 ?? '', 'base64').toString();
const certificates = (text: string) => text.split(/(?<=-----END CERTIFICATE-----)\s*/).filter(Boolean);

describeWithControlPlane('under a steady stream of admissions that only the webhook can refuse', {}, (cp) => {
  let installation: Installation;
  let stream: AdmissionStream;
  let prober: TrustProber;
  const figures: string[] = [];

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a', 'b', 'c'], { caOverlapSeconds: 5 });
    await registerControlPlaneNode(cp(), 'cp-1');
    await waitUntilProtected(cp(), 'cp-1');
    await installation.proxy.waitForReady('a', 'b', 'c');
    stream = startAdmissionStream(cp(), 'cp-1');
    prober = startTrustProber(cp(), installation.proxy.port);
  });
  afterAll(async () => {
    await Promise.all([stream?.stop(), prober?.stop()]);
    await installation?.stop();
    process.stderr.write(`${figures.join('\n')}\n`);
  });
  afterEach(async () => {
    // Whatever a test leaves behind: three replicas that are ready.
    await installation.proxy.waitForReady(...installation.replicas.keys());
  });

  /** Lets the stream and the prober see what comes, and gives what they saw. */
  async function during(what: string, work: () => Promise<void>): Promise<Outcomes & { handshakes: TrustOutcomes }> {
    stream.take();
    prober.take();
    const began = performance.now();
    await work();
    // What was on its way, what the next connections bring, and what was registered until a moment ago.
    await prober.caughtUp();
    const outcomes = stream.take();
    const handshakes = prober.take();
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    figures.push(`${what}: ${summaryOfAdmissions(outcomes)}; ${summaryOfHandshakes(handshakes)}; in ${seconds} s`);
    // Who saw nothing proves nothing.
    expect(outcomes.refused).toBeGreaterThan(0);
    expect(handshakes.now.trusted).toBeGreaterThan(0);
    expect(handshakes.momentAgo.trusted).toBeGreaterThan(0);
    return { ...outcomes, handshakes };
  }

  /** A replica that is gone takes along the handshake that it was in the middle of; either dialler has one at a time. */
  function expectAtMostOneLost({ now, momentAgo }: TrustOutcomes): void {
    expect({ now, momentAgo }).toMatchObject({ now: { distrusted: [] }, momentAgo: { distrusted: [] } });
    expect(countOf(now.unanswered)).toBeLessThanOrEqual(1);
    expect(countOf(momentAgo.unanswered)).toBeLessThanOrEqual(1);
  }

  const allTrust = async (ca: string) => (await caBundles(cp())).every((bundle) => pem(bundle).includes(ca.trim()));

  async function waitForBundles(): Promise<void> {
    await waitUntil(
      async () => {
        const bundles = await caBundles(cp());
        const { data } = await readCertificates(cp());
        return bundles.length > 0 && bundles.every((bundle) => bundle === data?.['ca.crt']) ? true : undefined;
      },
      { timeoutMs: 15_000, otherwise: () => 'the bundles are not those of the Secret' },
    );
  }

  it('a new serving certificate fails no request', async () => {
    const before = await readCertificates(cp());
    const outcomes = await during('rotation of the serving certificate', async () => {
      const { code, stderr } = await runTaintkeeper(cp(), ['certs', 'rotate']);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const after = await readCertificates(cp());
      expect(after.data['tls.crt']).not.toBe(before.data['tls.crt']);
      expect(after.data['ca.crt']).toBe(before.data['ca.crt']);
      for (const replica of installation.replicas.values()) {
        await replica.waitForLog(({ msg }) => msg.startsWith('serving certificate expires') && logsOf(msg) > 1);
        function logsOf(message: string) {
          return replica.logs().filter(({ msg }) => msg.slice(0, 20) === message.slice(0, 20)).length;
        }
      }
    });
    expect(outcomes).toMatchObject({ passed: 0, failed: [], handshakes: NONE_FAILED });
  });

  // One test, so that the stream and the prober see every step: the old CA can be removed while the command still ends.
  it('a rotation of the CA fails no request: the new CA is trusted, then used, and the old CA is removed', {
    timeout: 2 * CA_ROTATION_MS,
  }, async () => {
    const before = pem((await readCertificates(cp())).data['ca.crt']);
    const outcomes = await during('rotation of the CA', async () => {
      const { code, stderr, stdout } = await runTaintkeeper(cp(), ['certs', 'rotate', '--ca']);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain('the serving certificate was issued by the new CA');
      await waitUntil(
        async () => (certificates(pem((await readCertificates(cp())).data['ca.crt'])).length === 1 ? true : undefined),
        { timeoutMs: CA_ROTATION_MS, otherwise: () => 'the old CA was not removed' },
      );
      await waitForBundles();
    });
    expect(outcomes).toMatchObject({ passed: 0, failed: [], handshakes: NONE_FAILED });
    const after = pem((await readCertificates(cp())).data['ca.crt']);
    expect(new X509Certificate(after).subject).not.toBe(new X509Certificate(before).subject);
    expect(await allTrust(after)).toBe(true);
  });

  it('the leader restores the caBundles within seconds after a kubectl apply blanks them', async () => {
    const began = performance.now();
    const { handshakes } = await during('caBundles blanked', async () => {
      for (const kind of ['mutating', 'validating'] as const) {
        const { body } = await cp().request<{ webhooks: { clientConfig: object }[] }>(
          admin,
          'GET',
          configurationPath(kind),
        );
        for (const webhook of body.webhooks) webhook.clientConfig = { ...webhook.clientConfig, caBundle: '' };
        expect((await cp().request(admin, 'PUT', configurationPath(kind), { body })).status).toBe(200);
      }
      await waitForBundles();
      figures.push(`caBundles restored after ${Math.round(performance.now() - began)} ms`);
    });
    expect(performance.now() - began).toBeLessThan(10_000);
    // Handshakes with a blank bundle fail, whatever is served; nothing else does.
    expect(handshakes).toMatchObject({ now: { unanswered: [] }, momentAgo: { unanswered: [] } });
    await waitUntilProtected(cp(), 'cp-1');
  });

  const change = (kind: 'mutating' | 'validating', webhooks: readonly object[]) =>
    cp().request(admin, 'PATCH', configurationPath(kind), { body: { webhooks }, contentType: MERGE_PATCH });
  const narrow = async (selector: 'objectSelector' | 'namespaceSelector') => {
    const [, validating] = await readConfigurations(cp());
    const narrowed = validating?.webhooks?.map((webhook) => {
      const { [selector]: as } = webhook as Partial<Record<typeof selector, object>>;
      return { ...webhook, [selector]: { ...as, matchLabels: { never: 'there' } } };
    });
    return change('validating', narrowed ?? []);
  };
  it.each([
    { what: 'deletes', harm: () => cp().request(admin, 'DELETE', configurationPath('validating')) },
    { what: 'removes from their configuration', harm: () => change('mutating', []) },
    { what: 'narrows to some objects', harm: () => narrow('objectSelector') },
    { what: 'narrows to some namespaces', harm: () => narrow('namespaceSelector') },
  ])('the leader restores the webhooks that a user $what', async ({ harm }) => {
    const before = (await readConfigurations(cp())).map(({ webhooks }) => webhooks);
    expect((await harm()).status).toBe(200);
    await waitUntil(
      async () => {
        const now = (await readConfigurations(cp())).map(({ webhooks }) => webhooks);
        return JSON.stringify(now) === JSON.stringify(before) ? true : undefined;
      },
      { timeoutMs: 10_000, otherwise: () => 'they did not come back' },
    );
    await waitUntilProtected(cp(), 'cp-1');
  });

  it.each([
    { what: 'deleted', harm: () => cp().request(admin, 'DELETE', CERTIFICATES) },
    {
      what: 'filled with garbage',
      harm: () =>
        cp().request(admin, 'PATCH', CERTIFICATES, {
          body: { stringData: { 'ca.crt': 'x', 'ca.key': 'x', 'tls.crt': 'x', 'tls.key': 'x' } },
          contentType: MERGE_PATCH,
        }),
    },
  ])('a Secret that is $what is put back, and fails no request', async ({ what, harm }) => {
    const before = await readCertificates(cp());
    const outcomes = await during(`Secret ${what}`, async () => {
      expect((await harm()).status).toBe(200);
      await waitUntil(
        async () => ((await readCertificates(cp())).data?.['tls.crt'] === before.data['tls.crt'] ? true : undefined),
        { timeoutMs: 10_000, otherwise: () => 'the Secret was not put back' },
      );
    });
    expect(outcomes).toMatchObject({ passed: 0, failed: [], handshakes: NONE_FAILED });
    expect((await readCertificates(cp())).data).toEqual(before.data);
  });

  it('a rolling restart of all three fails no request', async () => {
    const outcomes = await during('rolling restart of three', async () => {
      for (const name of ['a', 'b', 'c']) {
        const [next] = await installation.start([`${name}2`], { caOverlapSeconds: 5 });
        await waitUntil(() => (installation.proxy.ready().includes(`${name}2`) ? true : undefined), {
          timeoutMs: 30_000,
          otherwise: () => `${name}2 is not ready: ${JSON.stringify(next?.logs())}`,
        });
        const old = installation.replica(name);
        installation.replicas.delete(name);
        // As the endpoints controller does once a pod is being deleted.
        installation.proxy.remove(name);
        expect(await old.stop(20_000)).toBe(0);
      }
    });
    expect(outcomes).toMatchObject({ passed: 0, failed: [], handshakes: NONE_FAILED });
  });

  it('a replica that is killed takes with it no more than what it was answering', async () => {
    const outcomes = await during('SIGKILL of a replica', async () => {
      const leader = await leaderOf(cp());
      const victim = [...installation.replicas.keys()].find((name) => name !== leader) ?? '';
      await installation.replica(victim).kill();
      installation.replicas.delete(victim);
      // As the endpoints controller does once the readiness probe has failed.
      await installation.proxy.waitForReady(...installation.replicas.keys());
      installation.proxy.remove(victim);
      await installation.start(['d'], { caOverlapSeconds: 5 });
    });
    expect(outcomes.passed).toBe(0);
    expect(outcomes.failed.length).toBeLessThanOrEqual(STREAM_WORKERS);
    expectAtMostOneLost(outcomes.handshakes);
  });

  it('a leader that is stopped until another one leads writes nothing when it goes on', async () => {
    const leader = await leaderOf(cp());
    const stopped = installation.replica(leader);
    const outcomes = await during('leader paused until another one leads, out of the endpoints', async () => {
      installation.proxy.remove(leader);
      // Connections that are there stay where they are: the API server drops them when they are not used for a while.
      stopped.pause();
      await waitUntil(async () => (['', leader].includes(await leaderOf(cp())) ? undefined : true), {
        timeoutMs: 4 * LEASE_MS,
        otherwise: () => 'no other replica became the leader',
      });
    });
    const before = await readConfigurations(cp());
    const lease = () => cp().request<{ spec: { leaseTransitions: number } }>(admin, 'GET', LEASE);
    const { leaseTransitions } = (await lease()).body.spec;
    const logged = stopped.logs().length;
    stopped.resume();
    const next = `the leader is ${await leaderOf(cp())}`;
    await waitUntil(
      () =>
        stopped
          .logs()
          .slice(logged)
          .some(({ msg }) => msg.startsWith(next)) || undefined,
      {
        timeoutMs: LEASE_MS,
        otherwise: () => `the replica did not log "${next}": ${JSON.stringify(stopped.logs().slice(logged))}`,
      },
    );
    // A replica exits once its leader work has ended: it can write nothing later.
    expect(await stopped.stop(20_000)).toBe(0);
    installation.replicas.delete(leader);
    const versions = (found: typeof before) => found.map(({ metadata }) => metadata.resourceVersion);
    expect(versions(await readConfigurations(cp()))).toEqual(versions(before));
    expect((await lease()).body.spec.leaseTransitions).toBe(leaseTransitions);
    expect(outcomes.passed).toBe(0);
    // Those whose connection was already open and led to it. Each waits for the time-out, which closes the connection, so that
    // none fails twice: in either phase of admission one for each worker, and one that waitUntilProtected may have left.
    expect(outcomes.failed.length).toBeLessThanOrEqual(2 * (STREAM_WORKERS + 1));
    expectAtMostOneLost(outcomes.handshakes);
  });
});

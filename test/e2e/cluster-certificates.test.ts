import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { NAMESPACE } from '../control-plane/replicas.ts';
import { startServiceProxy } from '../control-plane/service-proxy.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { startAdmissionStream } from './admission-stream.ts';
import { base64, certificateData, expiredCaData } from './certificate-data.ts';
import {
  CERTIFICATES,
  caBundles,
  configurationPath,
  type Installation,
  install,
  leaderOf,
  readCertificates,
  readConfigurations,
  registerControlPlaneNode,
  waitUntilProtected,
} from './installation.ts';
import { pasteRemedy } from './paste-remedy.ts';
import { runTaintkeeper } from './run-taintkeeper.ts';
import { NONE_FAILED, startTrustProber } from './trust-prober.ts';

const SEEN_BY_DOCTOR = [
  /^healthy: /,
  /^certificate +serving certificate +ok +1 replica checked \(direct\)/m,
  /^network +round trip +ok +1 replica answers a review from this machine$/m,
];

async function putCertificates(cp: ControlPlane, data: Record<string, string>): Promise<void> {
  await cp.request(admin, 'DELETE', CERTIFICATES);
  const body = { metadata: { name: 'taintkeeper-certs' }, type: 'kubernetes.io/tls', data };
  const { status } = await cp.request(admin, 'POST', CERTIFICATES.slice(0, CERTIFICATES.lastIndexOf('/')), { body });
  expect(status).toBe(201);
}

describeWithControlPlane('replicas that start', {}, (cp) => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['first']);
    await registerControlPlaneNode(cp(), 'cp-1');
    await waitUntilProtected(cp(), 'cp-1');
    await installation.kill();
  });
  afterEach(() => installation.kill());
  afterAll(() => installation.stop());

  it.each([
    { what: 'an expired serving certificate', data: () => certificateData(100, 95), keepsCa: true },
    { what: 'an expired CA under a valid serving certificate', data: expiredCaData, keepsCa: false },
    { what: 'everything expired', data: () => certificateData(3700, 3700), keepsCa: false },
    { what: 'garbage', data: async () => ({ 'tls.crt': base64('x'), 'tls.key': base64('x') }), keepsCa: false },
  ])('with $what in the Secret fail no request once they are ready', async ({ data, keepsCa }) => {
    const before = await data();
    await putCertificates(cp(), before);

    await installation.start(['a', 'b', 'c']);
    await waitUntil(() => (installation.proxy.ready().length > 0 ? true : undefined), {
      timeoutMs: 30_000,
      otherwise: () => 'none is ready',
    });
    const stream = startAdmissionStream(cp(), 'cp-1');
    const prober = startTrustProber(cp(), installation.proxy.port);
    await installation.proxy.waitForReady('a', 'b', 'c');
    await waitUntilProtected(cp(), 'cp-1');
    // So that some are made with the bundles as they were a moment ago.
    await prober.caughtUp();
    await Promise.all([stream.stop(), prober.stop()]);

    expect(stream.take()).toMatchObject({ passed: 0, failed: [] });
    const handshakes = prober.take();
    expect(handshakes).toMatchObject(NONE_FAILED);
    expect(handshakes.now.trusted).toBeGreaterThan(0);
    expect(handshakes.momentAgo.trusted).toBeGreaterThan(0);
    const after = await readCertificates(cp());
    expect(after.data['tls.crt']).not.toBe(before['tls.crt']);
    expect(after.data['ca.crt'] === (before as Record<string, string>)['ca.crt']).toBe(keepsCa);
    expect(new Set(await caBundles(cp()))).toEqual(new Set([after.data['ca.crt']]));
  });

  it('serve what `certs rotate` put in place of an expired serving certificate while no replica ran', async () => {
    const before = await certificateData(100, 95);
    await putCertificates(cp(), before);
    const { code, stdout, stderr } = await runTaintkeeper(cp(), ['certs', 'rotate']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^serving certificate \(not valid after .+\)\n$/);
    const rotated = await readCertificates(cp());
    expect(rotated.data['ca.crt']).toBe(before['ca.crt']);

    await installation.start(['a']);
    await installation.proxy.waitForReady('a');
    await waitUntilProtected(cp(), 'cp-1');
    expect((await readCertificates(cp())).data).toEqual(rotated.data);
  });

  it('replace an expired CA, which `certs rotate` leaves to them: its remedy restarts them', async () => {
    await putCertificates(cp(), await certificateData(3700, 3700));
    const refused = await runTaintkeeper(cp(), ['certs', 'rotate']);
    expect(refused.code).toBe(2);
    const restartedAt = async () => {
      const { stdout } = await cp().kubectl([
        ...['get', '--namespace', NAMESPACE, 'deployment', 'taintkeeper', '-o'],
        'jsonpath={.spec.template.metadata.annotations.kubectl\\.kubernetes\\.io/restartedAt}',
      ]);
      return stdout;
    };
    expect(await restartedAt()).toBe('');
    await pasteRemedy(cp(), refused.stderr.trim());
    expect(await restartedAt()).not.toBe('');

    // What the Deployment does then.
    await installation.start(['a']);
    await installation.proxy.waitForReady('a');
    await waitUntilProtected(cp(), 'cp-1');
    expect(await runTaintkeeper(cp(), ['certs', 'rotate'])).toMatchObject({ code: 0, stderr: '' });
  });

  it.each([
    {
      how: 'what `doctor` says',
      async replace() {
        const { stdout } = await runTaintkeeper(cp(), ['doctor', '-o', 'json']);
        const checks = (JSON.parse(stdout) as { checks: { name: string; remedy?: string }[] }).checks;
        const remedy = checks.find(({ name }) => name === 'Secret')?.remedy;
        expect(await pasteRemedy(cp(), remedy)).toContain('the serving certificate was issued by the new CA');
      },
    },
    {
      how: 'the deletion of the Secret',
      async replace() {
        expect((await cp().request(admin, 'DELETE', CERTIFICATES)).status).toBe(200);
      },
    },
  ])('that have a CA of a clock that was ahead get another one by $how', async ({ replace }) => {
    const before: Record<string, string> = await certificateData(-3650);
    await putCertificates(cp(), before);
    await installation.start(['a']);
    await waitUntil(async () => ((await leaderOf(cp())) === 'a' ? true : undefined), {
      timeoutMs: 25_000,
      otherwise: () => 'no replica leads',
    });
    expect((await installation.replica('a').readyz()).text).toContain(
      '[-] certificate failed: the CA is not valid before',
    );

    await replace();
    await installation.proxy.waitForReady('a');
    await waitUntilProtected(cp(), 'cp-1');
    const { data } = await readCertificates(cp());
    expect(data['ca.crt']).not.toBe(before['ca.crt']);
    expect(new Set(await caBundles(cp()))).toEqual(new Set([data['ca.crt']]));
  });

  it('beside older ones, do not fight over the webhook configurations', async () => {
    // Versions that register the webhook differently: here, by another port of the Service.
    await using other = await startServiceProxy();
    const generations = async () =>
      (await readConfigurations(cp())).map(({ metadata }) => metadata.generation).reduce((sum, one) => sum + one, 0);

    await installation.start(['old-1', 'old-2']);
    await installation.proxy.waitForReady('old-1', 'old-2');
    await waitUntilProtected(cp(), 'cp-1');
    for (const replica of installation.replicas.values()) other.add(replica);
    const stream = startAdmissionStream(cp(), 'cp-1');
    const before = await generations();

    for (const replica of await installation.start(['new-1', 'new-2'], { servicePort: other.port })) other.add(replica);
    await installation.proxy.waitForReady('old-1', 'old-2', 'new-1', 'new-2');
    await other.waitForReady('old-1', 'old-2', 'new-1', 'new-2');
    expect(await generations()).toBe(before);

    for (const name of ['old-1', 'old-2']) {
      installation.proxy.remove(name);
      other.remove(name);
      await installation.replica(name).stop(20_000);
      installation.replicas.delete(name);
    }
    await waitUntil(async () => ((await generations()) > before ? true : undefined), {
      timeoutMs: 30_000,
      otherwise: () => 'the new version did not register the webhook',
    });
    // Each configuration once, by the first leader of the new version.
    await waitUntil(async () => ((await generations()) >= before + 2 ? true : undefined), {
      timeoutMs: 30_000,
      otherwise: () => 'the new version registered one of two webhook configurations',
    });
    // Whoever disagrees with what is registered says so when it is changed: that is repaired once, and by one.
    const path = configurationPath('validating');
    const { body } = await cp().request<{ webhooks: object[] }>(admin, 'GET', path);
    const webhooks = body.webhooks.map((webhook) => ({ ...webhook, timeoutSeconds: 29 }));
    expect((await cp().request(admin, 'PATCH', path, { body: { webhooks }, contentType: MERGE_PATCH })).status).toBe(
      200,
    );
    await waitUntil(
      async () => {
        const found = await readConfigurations(cp());
        return found.every((one) => one.webhooks.every(({ timeoutSeconds }) => timeoutSeconds !== 29)) || undefined;
      },
      { timeoutMs: 30_000, otherwise: () => 'the change of the webhooks was not repaired' },
    );
    await stream.stop();
    expect(await generations()).toBe(before + 4);
    expect(stream.take()).toMatchObject({ passed: 0, failed: [] });
  });

  it('are seen by `certs status`, and by `doctor`', async () => {
    await installation.start(['a']);
    await installation.proxy.waitForReady('a');
    await waitUntilProtected(cp(), 'cp-1');
    const { code, stdout } = await runTaintkeeper(cp(), ['certs', 'status']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^CERTIFICATE +SUBJECT +EXPIRES\nCA +taintkeeper CA [0-9a-f]{8} +20/);
    expect(stdout).toMatch(/^protect\.taintkeeper\.dev +all$/m);
    expect(stdout).toMatch(/^no problem found$/m);

    // By whom a Service is called that is but a name for somewhere else, nobody knows: it is dialled itself.
    // On a busy machine the replica may not answer within the time that `doctor` waits.
    let diagnosis = '';
    await waitUntil(
      async () => {
        diagnosis = (await runTaintkeeper(cp(), ['doctor', '--all'])).stdout;
        return SEEN_BY_DOCTOR.every((line) => line.test(diagnosis)) || undefined;
      },
      { timeoutMs: 40_000, otherwise: () => diagnosis },
    );
  });
});

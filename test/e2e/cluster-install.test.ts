import { once } from 'node:events';
import { connect } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { INSTALL } from '../../scripts/chart.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { NAMESPACE, type Replica, SERVICE } from '../control-plane/replicas.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import {
  AS_IN_A_CLUSTER,
  caBundles,
  type Installation,
  install,
  leaderOf,
  readCertificates,
  readConfigurations,
  registerControlPlaneNode,
  removeTaints,
  waitUntilProtected,
} from './installation.ts';

/** The fingerprint of the certificate that a replica serves, verified as the API server would. */
async function servedBy({ port }: Replica, ca: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', servername: `${SERVICE}.${NAMESPACE}.svc`, ca });
  await once(socket, 'secureConnect');
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}

describeWithControlPlane('an installation, from nothing', {}, (cp) => {
  let installation: Installation;
  let replicas: Replica[];
  let began: number;

  beforeAll(async () => {
    installation = await install(cp(), [], AS_IN_A_CLUSTER);
    began = performance.now();
    replicas = await installation.start(['a', 'b', 'c']);
  });
  afterAll(() => installation.stop());

  it('protects with nothing to do by hand', async () => {
    await registerControlPlaneNode(cp(), 'cp-1');
    await waitUntilProtected(cp(), 'cp-1');
    process.stderr.write(
      `from the start of three replicas to the first denial: ${Math.round(performance.now() - began)} ms\n`,
    );
    expect((await removeTaints(cp(), 'cp-1')).error).toContain('TaintPolicy "control-plane-taints"');
  });

  it('has one CA, which all replicas serve and every caBundle has', async () => {
    const { data } = await readCertificates(cp());
    const ca = Buffer.from(data['ca.crt'], 'base64').toString();
    const served = await Promise.all(replicas.map((replica) => servedBy(replica, ca)));
    expect(new Set(served).size).toBe(1);
    const bundles = await caBundles(cp());
    expect(bundles.length).toBeGreaterThan(0);
    expect(new Set(bundles)).toEqual(new Set([data['ca.crt']]));
  });

  it('delays no request for more than two seconds, and asks AKS not to keep it away from kube-system', async () => {
    const configurations = await readConfigurations(cp());
    const timeouts = configurations.flatMap(({ webhooks }) => webhooks.map(({ timeoutSeconds }) => timeoutSeconds));
    expect(timeouts.length).toBeGreaterThan(0);
    expect(Math.max(...timeouts)).toBeLessThanOrEqual(2);
    for (const { metadata } of configurations) expect(metadata.labels['admissions.enforcer/disabled']).toBe('true');
  });

  it('has replicas that are all ready, and one leader', async () => {
    await installation.proxy.waitForReady('a', 'b', 'c');
    const leading = await Promise.all(
      replicas.map(async (replica) => /^taintkeeper_leader 1$/m.test(await replica.metrics())),
    );
    expect(leading.filter(Boolean)).toHaveLength(1);
    expect(replicas[leading.indexOf(true)]?.name).toBe(await leaderOf(cp()));
  });

  it('has policies that say that they are in force', async () => {
    const { code, stderr } = await cp().kubectl([
      'wait',
      '--for=condition=Ready',
      '--timeout=20s',
      'taintpolicies,tolerationpolicies',
      '--all',
    ]);
    // Kubectl logs it when the end of its watch cuts an event short: that says nothing of the policies.
    expect(code, stderr).toBe(0);
  });

  it('is not changed by a second kubectl apply, nor by another leader', async () => {
    const before = await readConfigurations(cp());
    const { code, stderr } = await cp().kubectl(['apply', '-f', INSTALL]);
    expect(code, stderr).toBe(0);
    const leader = await leaderOf(cp());
    // It gives its Lease up, so that nobody waits for the end of it.
    await installation.replica(leader).stop(20_000);
    installation.replicas.delete(leader);
    await waitUntil(async () => (![leader, ''].includes(await leaderOf(cp())) ? true : undefined), {
      timeoutMs: 30_000,
      otherwise: () => 'no other replica took over',
    });
    const next = await leaderOf(cp());
    await waitUntil(
      async () =>
        /reconciliations_total\{controller="webhook-registration",result="ok"\} [1-9]/.test(
          await installation.replica(next).metrics(),
        )
          ? true
          : undefined,
      { timeoutMs: 20_000, otherwise: () => `${next} has not looked after the webhooks` },
    );
    const versions = (configurations: typeof before) => configurations.map(({ metadata }) => metadata.resourceVersion);
    expect(versions(await readConfigurations(cp()))).toEqual(versions(before));
  });

  it('creates a default policy once: one that was deleted stays away', async () => {
    const policy = '/apis/taintkeeper.dev/v1alpha1/tolerationpolicies/cni-tolerations';
    expect((await cp().request(admin, 'DELETE', policy)).status).toBe(200);
    const before = await leaderOf(cp());
    await installation.replica(before).stop(20_000);
    installation.replicas.delete(before);
    const [late] = await installation.start(['d']);
    await late?.waitForLog(({ msg }) => msg.startsWith('the leader is'));
    await waitUntil(
      async () => {
        const leader = await leaderOf(cp());
        const metrics = leader && leader !== before ? await installation.replica(leader).metrics() : '';
        return /controller="default-policies",result="ok"\} [1-9]/.test(metrics) ? true : undefined;
      },
      { timeoutMs: 30_000, otherwise: () => 'no new leader has reconciled the default policies' },
    );
    expect((await cp().request(admin, 'GET', policy)).status).toBe(404);
  });

  it('has no webhook without a policy', async () => {
    await cp().request(admin, 'DELETE', '/apis/taintkeeper.dev/v1alpha1/taintpolicies/control-plane-taints');
    await waitUntil(async () => ((await caBundles(cp())).length === 0 ? true : undefined), {
      timeoutMs: 10_000,
      otherwise: () => 'the webhooks are still registered',
    });
    expect((await removeTaints(cp(), 'cp-1')).passed).toBe(true);
  });
});

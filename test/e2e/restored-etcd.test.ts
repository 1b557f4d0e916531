import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import type { EtcdBackup } from '../control-plane/faults.ts';
import { admin, developer } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import {
  createNodes,
  createTaintPolicy,
  patchNode,
  waitForAnnotation,
  waitForStatus,
  waitForTaints,
  waitUntilRestored,
} from './drift.ts';
import {
  caBundles,
  type Installation,
  install,
  leaderOf,
  readCertificates,
  registerControlPlaneNode,
  removeTaints,
  waitUntilProtected,
} from './installation.ts';
import { GPU, kubectl, path, RELEASE, taintsOf } from './nodes.ts';
import { policyObject } from './policy-objects.ts';
import { createPolicy, POLICIES_PATH } from './policy-resources.ts';
import { runTaintkeeper } from './run-taintkeeper.ts';

const GPU_TEXT = 'dedicated=gpu:NoSchedule';
const TEAM_TEXT = 'own.example.com/team=red:NoSchedule';
const LATE_TEXT = 'own.example.com/late:NoSchedule';
const TEAM = { key: 'own.example.com/team', value: 'red', effect: 'NoSchedule' };
/** Longer than a leader goes on without renewing its Lease, 10 s: no restoration of a cluster takes less. */
const DOWN_MS = 12_000;
const TIMEOUT_MS = 60_000;

vi.setConfig({ testTimeout: 120_000, hookTimeout: 180_000 });

/** What docs/restore-etcd.md says, with replicas that run all the time. */
describeWithControlPlane('after etcd was restored from a backup', {}, (cp) => {
  let installation: Installation;
  let backup: EtcdBackup;
  let began = 0;
  const figures: string[] = [];
  const since = (what: string) => figures.push(`${what}: ${((performance.now() - began) / 1000).toFixed(1)} s`);

  const until = async (what: string, isSo: () => Promise<boolean>) => {
    await waitUntil(async () => (await isSo()) || undefined, {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => `not: ${what}`,
    });
    since(what);
  };
  const isThere = async (url: string) => (await cp().request(admin, 'GET', url)).status === 200;
  const remove = (name: string, taint: string) => kubectl(cp(), developer, ['taint', 'node', name, `${taint}-`]);
  const allow = (name: string, taint: string) =>
    kubectl(cp(), developer, ['annotate', '--overwrite', 'node', name, `${RELEASE}=${taint}`]);

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a', 'b'], { caOverlapSeconds: 3 });
    await createTaintPolicy(cp(), 'pool', {
      taints: [{ ...GPU, ensure: 'Always' }, { key: TEAM.key }],
    });
    await createNodes(cp(), ['n1', 'n2', 'allowed'], 'pool', [GPU, TEAM]);
    await registerControlPlaneNode(cp(), 'cp-1');
    await waitUntilRestored(cp(), 'n1', GPU.key);
    await waitUntilProtected(cp(), 'cp-1');
    await allow('allowed', TEAM_TEXT);
    const before = await readCertificates(cp());

    const leader = await leaderOf(cp());

    backup = await cp().backUpEtcd();

    // The Lease of the backup names a process that does not run any more.
    expect(await installation.replica(leader).stop()).toBe(0);
    installation.replicas.delete(leader);
    await installation.start(['c'], { caOverlapSeconds: 3 });
    await installation.proxy.waitForReady(...installation.replicas.keys());
    await waitUntilProtected(cp(), 'cp-1');
    expect(await remove('allowed', TEAM_TEXT)).toMatchObject({ passed: true });
    await allow('n1', TEAM_TEXT);
    expect(await remove('n1', TEAM_TEXT)).toMatchObject({ passed: true });
    const { body: policy } = await cp().request<{ spec: { taints: object[] } }>(
      admin,
      'GET',
      `${POLICIES_PATH.TaintPolicy}/pool`,
    );
    const taints = [...policy.spec.taints, { key: 'own.example.com/late' }];
    await cp().request(admin, 'PATCH', `${POLICIES_PATH.TaintPolicy}/pool`, {
      body: { spec: { taints } },
      contentType: MERGE_PATCH,
    });
    expect(await kubectl(cp(), developer, ['taint', 'node', 'n1', LATE_TEXT])).toMatchObject({ passed: true });
    expect(
      await createPolicy(cp(), policyObject('TaintPolicy', 'later', { mode: 'Deny', taints: [{ key: 'x' }] })),
    ).toMatchObject({ status: 201 });
    await createNodes(cp(), ['n3'], 'pool');
    await waitForTaints(cp(), 'n3', GPU_TEXT);
    await cp().request(admin, 'DELETE', path('n2'));
    // Another CA, which is the only one in every caBundle in the end.
    expect(await runTaintkeeper(cp(), ['certs', 'rotate', '--ca'])).toMatchObject({ code: 0, stderr: '' });
    await waitUntil(
      async () => {
        const { data } = await readCertificates(cp());
        const bundles = await caBundles(cp());
        const [only, ...others] = new Set(bundles);
        return (
          (data['ca.crt'] !== before.data['ca.crt'] &&
            others.length === 0 &&
            only === data['ca.crt'] &&
            !Buffer.from(only ?? '', 'base64').includes(Buffer.from(before.data['ca.crt'], 'base64'))) ||
          undefined
        );
      },
      { timeoutMs: 120_000, otherwise: () => 'the CA was not replaced' },
    );
    await waitUntilProtected(cp(), 'cp-1');
    expect(await leaderOf(cp())).not.toBe(leader);

    await backup.restore(DOWN_MS);
    began = performance.now();
    expect((await readCertificates(cp())).data).toEqual(before.data);
    expect(await leaderOf(cp())).toBe(leader);
  });
  afterAll(async () => {
    await installation?.stop();
    process.stderr.write(`${figures.join('\n')}\n`);
  });

  it('requests are judged once the replicas serve what the caBundle of the backup trusts: until then calls fail', async () => {
    expect((await removeTaints(cp(), 'cp-1')).error).toContain('x509: certificate signed by unknown authority');
    await waitUntilProtected(cp(), 'cp-1');
    since('a Deny policy refuses');
    await waitUntilRestored(cp(), 'n1', GPU.key);
    since('a Restore policy restores');
  });

  it('nodes and policies are those of the backup', async () => {
    expect(await isThere(path('n3'))).toBe(false);
    expect(await isThere(path('n2'))).toBe(true);
    expect(await isThere(`${POLICIES_PATH.TaintPolicy}/later`)).toBe(false);
    expect((await taintsOf(cp(), 'n1')).toSorted()).toEqual([GPU_TEXT, TEAM_TEXT]);
  });

  it('one of the replicas leads', async () => {
    await until('a replica that runs leads', async () => installation.replicas.has(await leaderOf(cp())));
  });

  it('the replicas judge by the policies of the backup', async () => {
    await until('no replica protects the taint of the later edit', async () => {
      await kubectl(cp(), developer, ['taint', '--overwrite', 'node', 'n1', LATE_TEXT]);
      const { warnings } = await remove('n1', LATE_TEXT);
      return warnings.length === 0 && !(await taintsOf(cp(), 'n1')).includes(LATE_TEXT);
    });
  });

  it('a label change sets a required taint, and the leader counts the node', async () => {
    await createNodes(cp(), ['n3'], 'other');
    await patchNode(cp(), admin, 'n3', { metadata: { labels: { pool: 'pool' } } });
    await waitForTaints(cp(), 'n3', GPU_TEXT);
    await waitForStatus(cp(), 'pool', ({ matched, violating }) => matched === 4 && violating === 0);
    since('the leader has counted a node of the policy');
  });

  it('an entry of the backup allows the removal again', async () => {
    await waitForAnnotation(cp(), 'allowed', RELEASE, TEAM_TEXT);
    expect((await taintsOf(cp(), 'allowed')).toSorted()).toEqual([GPU_TEXT, TEAM_TEXT]);
    const { passed, warnings } = await remove('allowed', TEAM_TEXT);
    expect({ passed, warnings }).toMatchObject({
      passed: true,
      warnings: [expect.stringContaining('allowed the removal')],
    });
    expect(await taintsOf(cp(), 'allowed')).toEqual([GPU_TEXT]);
  });
});

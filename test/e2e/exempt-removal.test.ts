import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeClusterAdmin } from '../control-plane/cluster-admin.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer, node, serviceAccount, type User } from '../control-plane/users.ts';
import {
  createNodes,
  metricOf,
  patchNode,
  waitForAnnotation,
  waitForStatus,
  waitForTaints,
  waitUntilRestored,
} from './drift.ts';
import { type Installation, install, leaderOf } from './installation.ts';
import { attempt, GPU, getNode, kubectl, OTHER, path, RELEASE, taintsOf } from './nodes.ts';
import { runAs } from './run-taintkeeper.ts';

/** The README's first policy. */
const EXAMPLE = new URL('../../examples/policies/gpu-pool.yaml', import.meta.url).pathname;
const GPU_TEXT = 'dedicated=gpu:NoSchedule';
const OTHER_TEXT = 'example.com/other:NoSchedule';
const autoscaler = serviceAccount('kube-system', 'cluster-autoscaler');

describeWithControlPlane('a required taint that the exempt autoscaler removes', {}, (cp) => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a']);
    await makeClusterAdmin(cp(), 'User', autoscaler.name);
    expect(await kubectl(cp(), admin, ['apply', '-f', EXAMPLE])).toMatchObject({ passed: true });
    await createNodes(cp(), ['n1', 'n2', 'n3'], 'gpu', [OTHER]);
    for (const name of ['n1', 'n2', 'n3']) await waitForTaints(cp(), name, OTHER_TEXT, GPU_TEXT);
    await waitUntilRestored(cp(), 'n1', GPU.key);
  });
  afterAll(() => installation?.stop());

  const write = async (user: User, name: string, body: object) =>
    expect(await patchNode(cp(), user, name, body)).toMatchObject({ passed: true, error: '' });

  const annotationOf = async (name: string) => (await getNode(cp(), name)).metadata.annotations?.[RELEASE];

  /** Has the leader check the node, and then another one, whose taint was lost while the API server could not call the webhook. */
  async function checkAgain(name: string, replica: string) {
    await write(admin, name, { metadata: { labels: { round: `${performance.now()}` } } });
    await loseUnseen('n3', replica);
    await waitForTaints(cp(), 'n3', OTHER_TEXT, GPU_TEXT);
  }

  /** Removes the taint while the API server cannot call the replica, which goes on leading. */
  async function loseUnseen(name: string, replica: string) {
    installation.cutOff(replica);
    await write(admin, name, { spec: { taints: [OTHER] } });
    await installation.reconnect(replica);
  }

  it('stays off by an entry in the annotation, and is no violation', async () => {
    await write(autoscaler, 'n1', { spec: { taints: [OTHER] } });
    expect(await annotationOf('n1')).toBe(GPU_TEXT);
    const repairs = 'taintkeeper_repairs_total{kind="Node",policy="gpu-pool"}';
    const before = (await metricOf(installation.replica('a'), repairs)) ?? 0;
    await checkAgain('n1', 'a');
    expect(await taintsOf(cp(), 'n1')).toEqual([OTHER_TEXT]);
    const { conditions } = await waitForStatus(cp(), 'gpu-pool', ({ matched, violating, removalAllowed }) => {
      return matched === 3 && violating === 0 && removalAllowed === 1;
    });
    expect(conditions?.map(({ type }) => type)).not.toContain('Stalled');
    await expect.poll(() => metricOf(installation.replica('a'), repairs), { timeout: 30_000 }).toBe(before + 1);
    expect((await runAs(admin, cp(), ['explain', 'node', 'n1'])).stdout).toContain(
      'is not set again while the entry stands',
    );
  });

  it('stays off under the next leader', async () => {
    await installation.start(['b']);
    await installation.replica('a').stop();
    installation.replicas.delete('a');
    await installation.proxy.waitForReady('b');
    await checkAgain('n1', 'b');
    expect(await leaderOf(cp())).toBe('b');
    expect(await taintsOf(cp(), 'n1')).toEqual([OTHER_TEXT]);
    expect(await annotationOf('n1')).toBe(GPU_TEXT);
  });

  it('is protected as before once another user adds it again, which ends the entry', async () => {
    await write(developer, 'n1', { spec: { taints: [OTHER, GPU] } });
    expect(await annotationOf('n1')).toBeUndefined();
    await write(developer, 'n1', { spec: { taints: [OTHER] } });
    expect(await taintsOf(cp(), 'n1')).toEqual([OTHER_TEXT, GPU_TEXT]);
  });

  it('comes back once a user deletes the entry', async () => {
    await write(autoscaler, 'n1', { spec: { taints: [OTHER] } });
    await waitForAnnotation(cp(), 'n1', RELEASE, GPU_TEXT);
    await write(developer, 'n1', { metadata: { annotations: { [RELEASE]: null } } });
    await waitForTaints(cp(), 'n1', OTHER_TEXT, GPU_TEXT);
  });

  it('is back when the node registers anew, whatever its kubelet says', async () => {
    await write(autoscaler, 'n1', { spec: { taints: [OTHER] } });
    expect(await attempt(cp(), admin, 'DELETE', path('n1'), undefined)).toMatchObject({ passed: true });
    const metadata = { name: 'n1', labels: { pool: 'gpu' }, annotations: { [RELEASE]: GPU_TEXT } };
    expect((await attempt(cp(), node('n1'), 'POST', '/api/v1/nodes', { metadata })).error).toBe('');
    expect(await taintsOf(cp(), 'n1')).toEqual([GPU_TEXT]);
    expect(await annotationOf('n1')).toBeUndefined();
  });

  it('stays off where an entry allows it: under the next leader, after a restart, and after an outage of the webhook', async () => {
    await write(developer, 'n2', { metadata: { annotations: { [RELEASE]: GPU_TEXT } } });
    await write(developer, 'n2', { spec: { taints: [OTHER] } });
    const staysOff = async (replica: string) => {
      await checkAgain('n2', replica);
      expect(await leaderOf(cp())).toBe(replica);
      expect(await taintsOf(cp(), 'n2')).toEqual([OTHER_TEXT]);
      expect(await annotationOf('n2')).toBe(GPU_TEXT);
    };
    await installation.start(['c']);
    await installation.kill('b');
    await installation.proxy.waitForReady('c');
    await staysOff('c');
    await installation.kill('c');
    await installation.start(['b']);
    await installation.proxy.waitForReady('b');
    await waitUntilRestored(cp(), 'n3', GPU.key);
    await staysOff('b');
    // The webhook is down while the node is written, and up again.
    installation.cutOff('b');
    await write(developer, 'n2', { metadata: { labels: { seen: 'unjudged' } } });
    await installation.reconnect('b');
    await waitUntilRestored(cp(), 'n3', GPU.key);
    await staysOff('b');
    await write(developer, 'n2', { spec: { taints: [OTHER, GPU] } });
    expect(await annotationOf('n2')).toBeUndefined();
  });

  it('leaves no entry by a dry run', async () => {
    const url = `${path('n2')}?dryRun=All`;
    const answer = await cp().request<{ metadata: { annotations?: object } }>(autoscaler, 'PATCH', url, {
      body: { spec: { taints: [OTHER] } },
      contentType: MERGE_PATCH,
    });
    expect(answer.body.metadata.annotations).toMatchObject({ [RELEASE]: GPU_TEXT });
    expect(await annotationOf('n2')).toBeUndefined();
    expect(await taintsOf(cp(), 'n2')).toEqual([OTHER_TEXT, GPU_TEXT]);
  });

  it('is restored if it was removed while taintkeeper was down, as nothing shows who removed it', async () => {
    await installation.kill('b');
    await write(autoscaler, 'n2', { spec: { taints: [OTHER] } });
    await installation.start(['c']);
    await waitForTaints(cp(), 'n2', OTHER_TEXT, GPU_TEXT);
  });
});

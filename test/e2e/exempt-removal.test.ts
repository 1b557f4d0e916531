import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeClusterAdmin } from '../control-plane/cluster-admin.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer, node, serviceAccount, type User } from '../control-plane/users.ts';
import {
  createNodes,
  metricOf,
  patchNode,
  waitForAnnotation,
  waitForRecord,
  waitForStatus,
  waitForTaints,
  waitUntilRestored,
} from './drift.ts';
import { type Installation, install, leaderOf } from './installation.ts';
import { attempt, GPU, getNode, kubectl, OTHER, path, RELEASE, taintsOf } from './nodes.ts';

/** The README's first policy. */
const EXAMPLE = new URL('../../examples/policies/gpu-pool.yaml', import.meta.url).pathname;
const REMOVED_RECORD = 'dedicated=gpu:NoSchedule Removed';
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
    await createNodes(cp(), ['n1', 'n2'], 'gpu', [OTHER]);
    await waitForTaints(cp(), 'n1', OTHER_TEXT, GPU_TEXT);
    await waitForTaints(cp(), 'n2', OTHER_TEXT, GPU_TEXT);
    await waitUntilRestored(cp(), 'n1', GPU.key);
  });
  afterAll(() => installation?.stop());

  const write = async (user: User, name: string, body: object) =>
    expect(await patchNode(cp(), user, name, body)).toMatchObject({ passed: true, error: '' });

  /** Has the leader look at the node, and then at a new one, which gets its taint. */
  async function lookAgain(name: string, other: string) {
    await write(admin, name, { metadata: { labels: { round: other } } });
    await createNodes(cp(), [other], 'none');
    await write(admin, other, { metadata: { labels: { pool: 'gpu' } } });
    await waitForTaints(cp(), other, GPU_TEXT);
  }

  it('stays off, is not fought over, and is no violation', async () => {
    await write(autoscaler, 'n1', { spec: { taints: [OTHER] } });
    await waitForRecord(cp(), 'n1', REMOVED_RECORD);
    await waitForAnnotation(cp(), 'n1', RELEASE, undefined);
    await lookAgain('n1', 'm1');
    expect(await taintsOf(cp(), 'n1')).toEqual([OTHER_TEXT]);
    const { conditions } = await waitForStatus(cp(), 'gpu-pool', ({ matched, violating }) => {
      return matched === 3 && violating === 0;
    });
    expect(conditions?.map(({ type }) => type)).not.toContain('Stalled');
    const repairs = 'taintkeeper_repairs_total{kind="Node",policy="gpu-pool"}';
    const before = await metricOf(installation.replica('a'), repairs);
    await lookAgain('n1', 'm2');
    expect(await metricOf(installation.replica('a'), repairs)).toBe((before ?? 0) + 1);
  });

  it('stays off under the next leader', async () => {
    await installation.start(['b']);
    await installation.replica('a').stop();
    installation.replicas.delete('a');
    await lookAgain('n1', 'm3');
    expect(await leaderOf(cp())).toBe('b');
    expect(await taintsOf(cp(), 'n1')).toEqual([OTHER_TEXT]);
  });

  it('is protected as before once another user adds it again', async () => {
    await installation.proxy.waitForReady('b');
    await write(developer, 'n1', { spec: { taints: [OTHER, GPU] } });
    await waitForRecord(cp(), 'n1');
    await write(developer, 'n1', { spec: { taints: [OTHER] } });
    expect(await taintsOf(cp(), 'n1')).toEqual([OTHER_TEXT, GPU_TEXT]);
  });

  it('is back when the node registers anew, whatever its kubelet says', async () => {
    await write(autoscaler, 'n1', { spec: { taints: [OTHER] } });
    expect(await attempt(cp(), admin, 'DELETE', path('n1'), undefined)).toMatchObject({ passed: true });
    const metadata = { name: 'n1', labels: { pool: 'gpu' }, annotations: { [RELEASE]: GPU_TEXT } };
    expect(await attempt(cp(), node('n1'), 'POST', '/api/v1/nodes', { metadata })).toMatchObject({ passed: true });
    expect(await taintsOf(cp(), 'n1')).toEqual([GPU_TEXT]);
    expect((await getNode(cp(), 'n1')).metadata.annotations ?? {}).not.toHaveProperty([RELEASE]);
    await waitForRecord(cp(), 'n1');
  });

  it('leaves no record by a dry run', async () => {
    const url = `${path('n2')}?dryRun=All`;
    const answer = await cp().request<{ metadata: { annotations?: object } }>(autoscaler, 'PATCH', url, {
      body: { spec: { taints: [OTHER] } },
      contentType: 'application/merge-patch+json',
    });
    expect(answer.body.metadata.annotations).toMatchObject({ [RELEASE]: `${GPU_TEXT}-` });
    expect((await getNode(cp(), 'n2')).metadata.annotations ?? {}).not.toHaveProperty([RELEASE]);
    expect(await taintsOf(cp(), 'n2')).toEqual([OTHER_TEXT, GPU_TEXT]);
  });

  it('is restored if it was removed while taintkeeper was down, as nothing shows who removed it', async () => {
    await installation.kill('b');
    await write(autoscaler, 'n2', { spec: { taints: [OTHER] } });
    await installation.start(['c']);
    await waitForTaints(cp(), 'n2', OTHER_TEXT, GPU_TEXT);
  });
});

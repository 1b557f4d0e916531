import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, node } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { temporaryDirectory } from '../unit/temporary-directory.ts';
import { type Installation, install } from './installation.ts';
import { GPU, path, taintsOf } from './nodes.ts';
import { runOffline } from './run-taintkeeper.ts';

const QUARANTINE = { key: 'example.com/quarantine', effect: 'NoSchedule' };
const KEPT = ['dedicated=gpu:NoSchedule', 'example.com/quarantine:NoSchedule'];
const labels = { 'kubernetes.io/hostname': 'worker-7' };

describeWithControlPlane('a policy that export prints for a node', {}, (cp) => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a']);
  });
  afterAll(() => installation.stop());

  /** As the kubelet of the node does, which knows nothing of the taints that users set. */
  const register = (query = '') =>
    cp().request(node('worker-7'), 'POST', `/api/v1/nodes${query}`, {
      body: { metadata: { name: 'worker-7', labels } },
    });

  it('sets the taints of the node again, after the Node was deleted and its kubelet registers', async () => {
    const body = { metadata: { name: 'worker-7', labels }, spec: { taints: [GPU, QUARANTINE] } };
    expect((await cp().request(admin, 'POST', '/api/v1/nodes', { body })).status).toBe(201);

    const file = join(temporaryDirectory(), 'node.yaml');
    writeFileSync(file, (await cp().kubectl(['get', 'node', 'worker-7', '-o', 'yaml'])).stdout);
    const { code, stdout, stderr } = await runOffline(['export', '--nodes', file]);
    expect([code, stderr]).toEqual([0, '']);
    // The API server has added a taint of its own.
    expect(stdout).toContain('# Left out: node.kubernetes.io/not-ready:NoSchedule');
    expect(await cp().kubectl(['apply', '-f', '-'], { input: stdout })).toMatchObject({
      code: 0,
      stdout: 'taintpolicy.taintkeeper.dev/node-worker-7 created\n',
    });
    await waitUntil(async () => (await register('?dryRun=All')).warnings.length === KEPT.length || undefined, {
      timeoutMs: 60_000,
      otherwise: () => 'the webhook adds no taints to the node',
    });

    expect((await cp().request(admin, 'DELETE', path('worker-7'))).status).toBe(200);
    expect((await register()).status).toBe(201);
    expect((await taintsOf(cp(), 'worker-7')).toSorted()).toEqual(KEPT);
  });
});

import { afterAll, beforeAll, expect, it } from 'vitest';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, node } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { type Installation, install } from './installation.ts';
import { attempt, GPU, path, taintsOf } from './nodes.ts';
import { policyObject } from './policy-objects.ts';
import { createPolicy } from './policy-resources.ts';

const GPU_TEXT = 'dedicated=gpu:NoSchedule';

describeWithControlPlane('a worker whose taints are declared', {}, (cp) => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await install(cp());
    const policy = policyObject('TaintPolicy', 'gpu', {
      mode: 'Restore',
      nodeSelector: { matchLabels: { pool: 'gpu' } },
      taints: [{ ...GPU, ensure: 'Always' }],
    });
    expect((await createPolicy(cp(), policy)).status).toBe(201);
  });
  afterAll(() => installation?.stop());

  /** As a kubelet does it, without the taint: it was declared after the node had been made. */
  async function register(name: string) {
    const body = { metadata: { name, labels: { pool: 'gpu' } } };
    expect((await attempt(cp(), node(name), 'POST', '/api/v1/nodes', body)).error).toBe('');
  }

  const waitForTaint = (name: string) =>
    waitUntil(async () => ((await taintsOf(cp(), name)).includes(GPU_TEXT) ? true : undefined), {
      timeoutMs: 20_000,
      otherwise: () => `node ${name} has not got its taint`,
    });

  it('lacks them while taintkeeper is down, and its kubelet may go on labelling it', async () => {
    await register('w1');
    const labels = { metadata: { labels: { 'kubernetes.io/arch': 'amd64' } } };
    expect((await attempt(cp(), node('w1'), 'PATCH', path('w1'), labels, MERGE_PATCH)).error).toBe('');
    expect(await taintsOf(cp(), 'w1')).toEqual([]);
  });

  it('gets them when taintkeeper starts', async () => {
    await installation.start(['a']);
    await waitForTaint('w1');
  });

  it('has them at once when it registers while taintkeeper is up', async () => {
    await installation.proxy.waitForReady('a');
    await waitUntil(
      async () => {
        const dry = await cp().request<{ spec: { taints?: unknown[] } }>(admin, 'POST', '/api/v1/nodes?dryRun=All', {
          body: { metadata: { name: 'dry', labels: { pool: 'gpu' } } },
        });
        return JSON.stringify(dry.body.spec.taints ?? []).includes('dedicated') ? true : undefined;
      },
      { timeoutMs: 20_000, otherwise: () => 'no webhook is called for new nodes' },
    );
    await register('w2');
    expect(await taintsOf(cp(), 'w2')).toEqual([GPU_TEXT]);
  });
});

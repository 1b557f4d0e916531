import { afterAll, beforeAll, expect, it } from 'vitest';
import { deployedEnvironment } from '../control-plane/as-deployed.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { createNodes, createTaintPolicy, waitForStatus, waitForTaints } from './drift.ts';
import { type Installation, install } from './installation.ts';
import { path, taintsOf } from './nodes.ts';

const TIMEOUT_MS = 240_000;
const PROTECTED = 'dedicated=gpu:NoSchedule';
const REQUIRED = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' } as const;
/** Half of the memory limit of the chart, as its Deployment sets it. */
const OLD_SPACE_MIB = 160;

describeWithControlPlane('a cluster full of objects as large as etcd accepts', {}, (cp) => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await install(cp());
    await createTaintPolicy(cp(), 'padded', { taints: [REQUIRED], failurePolicy: 'Ignore' });
    await createNodes(cp(), ['beside'], 'padded', []);
  });
  afterAll(() => installation?.stop());

  it('does not end a leader with the memory of the chart: thirty DaemonSets and twelve nodes', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const names = Array.from({ length: 12 }, (_, index) => `images-${index}`);
    await createNodes(cp(), names, 'images', []);
    const images = Array(300_000).fill({});
    for (const name of names) {
      const { status } = await cp().request(admin, 'PATCH', `${path(name)}/status`, {
        body: { status: { images } },
        contentType: MERGE_PATCH,
      });
      expect(status).toBe(200);
    }
    const args = Array(600_000).fill('');
    for (let index = 0; index < 30; index++) {
      const labels = { app: `large-${index}` };
      const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'invalid/c', args }] } };
      const { status } = await cp().request(admin, 'POST', '/apis/apps/v1/namespaces/default/daemonsets', {
        body: { metadata: { name: `large-${index}` }, spec: { selector: { matchLabels: labels }, template } },
      });
      expect(status).toBe(201);
    }
    expect(await taintsOf(cp(), 'beside')).toEqual([]);
    const { NODE_OPTIONS, ...env } = deployedEnvironment();
    const [leader] = await installation.start(['a'], {
      env: { ...env, NODE_OPTIONS: `${NODE_OPTIONS} --max-old-space-size=${OLD_SPACE_MIB}` },
    });
    // The status is written once all nodes and DaemonSets were read.
    await createTaintPolicy(cp(), 'later', { nodeSelector: { matchLabels: { pool: 'none' } }, taints: [REQUIRED] });
    await waitForStatus(cp(), 'later', ({ conditions = [] }) =>
      conditions.some(({ type, status }) => type === 'Ready' && status === 'True'),
    );
    await waitForTaints(cp(), 'beside', PROTECTED);
    expect(await leader?.metrics()).toContain('taintkeeper_leader 1');
  });
});

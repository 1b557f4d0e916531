import { afterAll, beforeAll, expect, it } from 'vitest';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer, node } from '../control-plane/users.ts';
import { createNodes, createTaintPolicy, patchNode, waitUntilRestored } from './drift.ts';
import { type Installation, install } from './installation.ts';
import { attempt, GPU, type Node, path, taintsOf } from './nodes.ts';

const TEST_TIMEOUT_MS = 120_000;
const PROTECTED = 'dedicated=gpu:NoSchedule';
const REQUIRED = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' } as const;
/** As many as the annotations of an object may have, without the name. */
const COMMAS = ','.repeat(250_000);

/** What anyone with the right to change `nodes/status` can put there: etcd accepts each. The API server sends it twice in a review. */
const STATUSES = [
  {
    what: 'a condition of 620,000 "<", which the API server sends as six bytes each',
    status: { conditions: [{ type: 'Padded', status: 'True', message: '<'.repeat(620_000) }] },
  },
  { what: '300,000 empty images', status: { images: Array(300_000).fill({}) } },
  { what: 'an image with 600,000 empty names', status: { images: [{ names: Array(600_000).fill('') }] } },
];

describeWithControlPlane(
  'objects as large as etcd accepts, with a Restore policy and failurePolicy Ignore',
  {},
  (cp) => {
    let installation: Installation;

    beforeAll(async () => {
      installation = await install(cp());
      await installation.start(['a']);
      await createTaintPolicy(cp(), 'padded', { taints: [REQUIRED], failurePolicy: 'Ignore' });
      await createNodes(cp(), ['first'], 'padded', [GPU]);
      await waitUntilRestored(cp(), 'first', 'dedicated');
    }, TEST_TIMEOUT_MS);
    afterAll(() => installation?.stop());

    it('an annotation of 250,000 commas in the same patch does not let a protected taint go', async () => {
      await createNodes(cp(), ['commas'], 'padded', [GPU]);
      const annotations = { pad: COMMAS };

      const { body, status } = await cp().request<Node>(developer, 'PATCH', path('commas'), {
        body: { metadata: { annotations }, spec: { taints: null } },
        contentType: MERGE_PATCH,
      });
      expect(status).toBe(200);
      expect(body.spec.taints).toContainEqual(GPU);
      expect(body.metadata.annotations?.pad).toBe(COMMAS);
    });

    it('a kubelet that registers with commas gets its required taint', async () => {
      const { body, status } = await cp().request<Node>(node('registered'), 'POST', '/api/v1/nodes', {
        body: { metadata: { name: 'registered', labels: { pool: 'padded' }, annotations: { pad: COMMAS } } },
      });
      expect(status).toBe(201);
      expect(body.spec.taints).toContainEqual(GPU);
    });

    it.each(STATUSES)(
      'a status with $what does not let a protected taint go',
      { timeout: TEST_TIMEOUT_MS },
      async ({ status }) => {
        const name = `status-${STATUSES.findIndex((one) => one.status === status)}`;
        await createNodes(cp(), [name], 'padded', [GPU]);
        const padded = await attempt(cp(), admin, 'PATCH', `${path(name)}/status`, { status }, MERGE_PATCH);
        expect(padded).toMatchObject({ passed: true, error: '' });

        const body = { spec: { taints: null } };
        const answer = await cp().request<Node & { readonly message?: string }>(developer, 'PATCH', path(name), {
          body,
          contentType: MERGE_PATCH,
        });
        // Restored; or refused, where the machine is so busy that mutation takes longer than the API server waits.
        if (answer.status === 200) expect(answer.body.spec.taints).toContainEqual(GPU);
        else expect(answer.body.message).toContain(`removing taint ${PROTECTED}`);
        expect(await taintsOf(cp(), name)).toContain(PROTECTED);
        // The status is still what it was, and another change of the node passes.
        expect((await patchNode(cp(), developer, name, { metadata: { labels: { seen: 'true' } } })).passed).toBe(true);
      },
    );
  },
);

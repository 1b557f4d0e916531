import { afterAll, beforeAll, expect, it } from 'vitest';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import type { Answer } from '../control-plane/rest.ts';
import { admin, developer, node } from '../control-plane/users.ts';
import { createNodes, createTaintPolicy, patchNode, waitForStatus, waitUntilRestored } from './drift.ts';
import { AS_IN_A_CLUSTER, type Installation, install } from './installation.ts';
import { attempt, GPU, type Node, path, taintsOf } from './nodes.ts';

const WEBHOOK_TIMEOUT_MS = 2_000;
const TEST_TIMEOUT_MS = 120_000;
/** How often a request is sent that the API server admits without an answer of the webhook. */
const MAX_ATTEMPTS = 3;
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
] as const;

describeWithControlPlane(
  'objects as large as etcd accepts, with a Restore policy and failurePolicy Ignore',
  {},
  (cp) => {
    let installation: Installation;

    beforeAll(async () => {
      installation = await install(cp(), [], AS_IN_A_CLUSTER);
      await installation.start(['a']);
      await createTaintPolicy(cp(), 'padded', { taints: [REQUIRED], failurePolicy: 'Ignore' });
      await createNodes(cp(), ['first'], 'padded', [GPU]);
      await waitUntilRestored(cp(), 'first', 'dedicated');
    }, TEST_TIMEOUT_MS);
    afterAll(() => installation?.stop());

    type NodeAnswer = Answer<Partial<Node> & { readonly message?: string }>;
    /** The request of one test, about a node of a name that is new each time. */
    interface JudgedRequest {
      readonly name: string;
      readonly prepare?: (name: string) => Promise<unknown>;
      readonly send: (name: string) => Promise<NodeAnswer>;
      /** Whether the answer is that of the webhook. */
      readonly isJudged: (answer: NodeAnswer) => boolean;
    }

    /**
     * Sends the request again if it passes unjudged after the timeout of the webhook: on a slow machine, the API server can get no answer in time, and
     * failurePolicy is Ignore. The last answer is returned as it is, so that the test fails if the webhook is always too slow.
     */
    async function judged({ name: prefix, prepare, send, isJudged }: JudgedRequest) {
      for (let sent = 1; ; sent++) {
        const name = `${prefix}-${sent}`;
        await prepare?.(name);
        const began = performance.now();
        const answer = await send(name);
        const timedOut = performance.now() - began >= WEBHOOK_TIMEOUT_MS;
        if (isJudged(answer) || !timedOut || sent === MAX_ATTEMPTS) return { name, ...answer };
      }
    }

    const hasTaint = ({ body }: NodeAnswer) => body.spec?.taints?.some(({ key }) => key === GPU.key) ?? false;
    const isDenied = ({ status }: NodeAnswer) => status === 403;
    const createTainted = (name: string) => createNodes(cp(), [name], 'padded', [GPU]);

    it('an annotation of 250,000 commas in the same patch does not let a protected taint go', async () => {
      const change = { metadata: { annotations: { pad: COMMAS } }, spec: { taints: null } };
      const { body, status } = await judged({
        name: 'commas',
        prepare: createTainted,
        send: (name) => cp().request(developer, 'PATCH', path(name), { body: change, contentType: MERGE_PATCH }),
        isJudged: hasTaint,
      });
      expect(status).toBe(200);
      expect(body.spec?.taints ?? []).toContainEqual(GPU);
      expect(body.metadata?.annotations?.pad).toBe(COMMAS);
    });

    it('a kubelet that registers with commas gets its required taint', async () => {
      const { body, status } = await judged({
        name: 'registered',
        send: (name) =>
          cp().request(node(name), 'POST', '/api/v1/nodes', {
            body: { metadata: { name, labels: { pool: 'padded' }, annotations: { pad: COMMAS } } },
          }),
        isJudged: hasTaint,
      });
      expect(status).toBe(201);
      expect(body.spec?.taints ?? []).toContainEqual(GPU);
    });

    it('a kubelet that registers with a review that is too large is denied', async () => {
      const [{ status }] = STATUSES;
      const answer = await judged({
        name: 'filled',
        send: (name) =>
          cp().request(node(name), 'POST', '/api/v1/nodes', {
            body: { metadata: { name, labels: { pool: 'padded' } }, status },
          }),
        isJudged: isDenied,
      });
      expect(answer.status).toBe(403);
      expect(answer.body.message).toContain(
        `node ${answer.name}: the request is denied, because its review is too large`,
      );
    });

    it.each(STATUSES)(
      'a status with $what does not let a protected taint go',
      { timeout: TEST_TIMEOUT_MS },
      async ({ status }) => {
        const body = { spec: { taints: null } };
        const { name, ...answer } = await judged({
          name: `status-${STATUSES.findIndex((one) => one.status === status)}`,
          async prepare(padded) {
            await createTainted(padded);
            const write = attempt(cp(), admin, 'PATCH', `${path(padded)}/status`, { status }, MERGE_PATCH);
            expect(await write).toMatchObject({ passed: true, error: '' });
          },
          send: (padded) => cp().request(developer, 'PATCH', path(padded), { body, contentType: MERGE_PATCH }),
          isJudged: isDenied,
        });
        expect(answer.status).toBe(403);
        expect(answer.body.message).toContain(`node ${name}: the request is denied, because its review is too large`);
        expect(await taintsOf(cp(), name)).toContain(PROTECTED);
        // The status is still what it was, and another change of the node passes.
        expect((await patchNode(cp(), developer, name, { metadata: { labels: { seen: 'true' } } })).passed).toBe(true);
      },
    );

    it(
      '28 requests at the same time, with objects of 0.8 MB, are all judged: no taint is removed before the timeout',
      async () => {
        const names = Array.from({ length: 28 }, (_, n) => `parallel-${n}`);
        await createNodes(cp(), names, 'padded', [GPU]);
        const status = { conditions: [{ type: 'Padded', status: 'True', message: 'x'.repeat(800_000) }] };
        for (const name of names) await attempt(cp(), admin, 'PATCH', `${path(name)}/status`, { status }, MERGE_PATCH);
        const body = { spec: { taints: null } };
        const start = performance.now();
        const answers = names.map(async (name) => {
          const { body: found } = await cp().request<Partial<Node>>(developer, 'PATCH', path(name), {
            body,
            contentType: MERGE_PATCH,
          });
          return { taints: found.spec?.taints ?? [], took: performance.now() - start };
        });

        for (const { taints, took } of await Promise.all(answers)) {
          // On a busy machine, the API server does not wait for the answer.
          if (took < WEBHOOK_TIMEOUT_MS) expect(taints).toContainEqual(GPU);
        }
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'a Node that etcd has no room for is named in the status of the policy that requires a taint',
      async () => {
        await createNodes(cp(), ['full'], 'none');
        let [passed, refused] = [1_400_000, 1_600_000];
        while (refused - passed > 8) {
          const middle = Math.floor((passed + refused) / 2);
          const status = { conditions: [{ type: 'Padded', status: 'True', message: 'x'.repeat(middle) }] };
          const filled = await attempt(cp(), admin, 'PATCH', `${path('full')}/status`, { status }, MERGE_PATCH);
          if (filled.passed) passed = middle;
          else refused = middle;
        }
        await createTaintPolicy(cp(), 'crowded', {
          nodeSelector: { matchLabels: { pool: 'none' } },
          taints: [REQUIRED],
        });

        await waitForStatus(cp(), 'crowded', ({ conditions = [] }) =>
          conditions.some(({ message }) => message?.includes('node full is too large to be stored')),
        );
      },
      TEST_TIMEOUT_MS,
    );
  },
);

import { afterAll, beforeAll, expect, it } from 'vitest';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, node } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { type Installation, install, leaderOf } from './installation.ts';

const POLICIES = '/apis/taintkeeper.dev/v1alpha1/taintpolicies';

interface Status {
  readonly conditions: readonly { readonly status: string; readonly reason: string; readonly message: string }[];
  readonly matched: number;
  readonly violating: number;
  readonly violators: readonly string[];
}

const GPU_POOL = {
  mode: 'Audit',
  nodeSelector: { matchLabels: { pool: 'gpu' } },
  taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' }],
};

describeWithControlPlane('the status of policies', {}, (cp) => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a', 'b']);
    await waitForStatus('control-plane-taints', ({ conditions }) => conditions[0]?.status === 'True');
  });
  afterAll(() => installation.stop());

  async function statusOf(name: string): Promise<Status | undefined> {
    const { status, body } = await cp().request<{ status?: Status }>(admin, 'GET', `${POLICIES}/${name}`);
    // The body of an error has a `status`, too.
    return status === 200 ? body.status : undefined;
  }

  async function create(name: string, spec: object): Promise<void> {
    const body = { apiVersion: 'taintkeeper.dev/v1alpha1', kind: 'TaintPolicy', metadata: { name }, spec };
    const { status } = await cp().request(admin, 'POST', POLICIES, { body });
    expect(status).toBe(201);
  }

  async function waitForStatus(name: string, expected: (status: Status) => boolean): Promise<Status> {
    let last: Status | undefined;
    return waitUntil(
      async () => {
        last = await statusOf(name);
        return last && expected(last) ? last : undefined;
      },
      { timeoutMs: 30_000, otherwise: () => `the status of ${name} is ${JSON.stringify(last)}` },
    );
  }

  it('doubts a key that no node has but for a hyphen, and selectors of no node', async () => {
    const body = {
      metadata: { name: 'cp-1' },
      spec: { taints: [{ key: 'example.com/own-pool', effect: 'NoSchedule' }] },
    };
    expect(await cp().request(admin, 'POST', '/api/v1/nodes', { body })).toMatchObject({ status: 201 });
    const nodeSelector = { matchLabels: { pool: 'none' } };
    await create('misspelt', {
      mode: 'Audit',
      nodeSelector,
      taints: [{ key: 'example.com/ownpool' }],
    });
    const { conditions } = await waitForStatus('misspelt', (status) => status.conditions.length > 1);
    expect(conditions).toMatchObject([
      {
        type: 'Ready',
        status: 'True',
        message: expect.stringMatching(/; spec\.nodeSelector selects none of \d+ nodes?$/),
      },
      {
        type: 'Stalled',
        reason: 'KeyLooksMisspelled',
        message: 'spec.taints[0].key: no node carries a taint example.com/ownpool; did you mean example.com/own-pool?',
      },
    ]);
  });

  it('counts and names the nodes that violate, and follows them', async () => {
    await create('gpu-pool', GPU_POOL);
    for (const name of ['gpu-1', 'gpu-2', 'cpu-1']) {
      const body = { metadata: { name, labels: { pool: name.slice(0, 3) } } };
      await cp().request(node(name), 'POST', '/api/v1/nodes', { body });
    }
    await waitForStatus('gpu-pool', ({ matched, violating, violators }) => {
      return matched === 2 && violating === 2 && violators.toSorted().join() === 'gpu-1,gpu-2';
    });
    await cp().kubectl(['taint', 'node', 'gpu-1', 'dedicated=gpu:NoSchedule']);
    await waitForStatus('gpu-pool', ({ violating, violators }) => violating === 1 && violators.join() === 'gpu-2');
  });

  it('of other policies does not change when a user creates many policies, and the leader stays', async () => {
    const version = async () =>
      (await cp().request<{ metadata: { resourceVersion: string } }>(admin, 'GET', `${POLICIES}/control-plane-taints`))
        .body.metadata.resourceVersion;
    const [before, leader] = [await version(), await leaderOf(cp())];
    const names = Array.from({ length: 60 }, (_, index) => `many-${index}`);
    for (const name of names) {
      const taints = [{ key: `example.com/${name}`, effect: 'NoSchedule', ensure: 'Always' }];
      await create(name, { ...GPU_POOL, nodeSelector: { matchLabels: { [name]: 'x' } }, taints });
    }
    for (const name of names) await waitForStatus(name, ({ conditions }) => conditions[0]?.status === 'True');
    expect(await version()).toBe(before);
    expect(await leaderOf(cp())).toBe(leader);
    await cp().request(admin, 'DELETE', POLICIES.concat('/many-0'));
  });

  it('that another writer overwrites is restored, also while the policy keeps changing', async () => {
    const bogus = { status: { matched: 99, violating: 0, violators: [], conditions: [] } };
    await cp().request(admin, 'PATCH', `${POLICIES}/gpu-pool/status`, { body: bogus, contentType: MERGE_PATCH });
    for (let index = 0; index < 20; index++) {
      const body = { metadata: { annotations: { round: `${index}` } } };
      await cp().request(admin, 'PATCH', `${POLICIES}/gpu-pool`, { body, contentType: MERGE_PATCH });
    }
    await waitForStatus('gpu-pool', ({ matched, conditions }) => matched === 2 && conditions[0]?.status === 'True');
  });
});

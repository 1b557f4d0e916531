import { afterAll, beforeAll, expect, it } from 'vitest';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { startTaintkeeper, type Taintkeeper } from '../control-plane/taintkeeper.ts';
import { admin, developer, node, type User } from '../control-plane/users.ts';
import { registerWebhook } from '../control-plane/webhook.ts';
import { type Attempt, attempt, GPU, getNode, path, RELEASE, taintsOf } from './nodes.ts';

const PROTECTED = 'dedicated=gpu:NoSchedule';

/** As docs/security.md requires it of a policy that is to hold against who may patch nodes, and beside it a common one. */
const POLICIES = `
apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: strict }
spec: { mode: Deny, removalByAnnotation: Forbidden, taints: [{ key: dedicated }] }
---
apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: by-label }
spec: { mode: Deny, nodeSelector: { matchLabels: { pool: gpu } }, taints: [{ key: rented }] }
`;

describeWithControlPlane('what the security model says of those who write nodes', {}, (cp) => {
  let taintkeeper: Taintkeeper;
  let count = 0;

  beforeAll(async () => {
    taintkeeper = await startTaintkeeper({ policies: POLICIES });
    await registerWebhook(cp(), taintkeeper);
  });
  afterAll(() => taintkeeper?.stop());

  async function createNode(): Promise<string> {
    const name = `n${++count}`;
    const taints = [GPU, { key: 'rented', effect: 'NoSchedule' }];
    const body = { metadata: { name, labels: { pool: 'gpu' } }, spec: { taints } };
    expect((await cp().request(admin, 'POST', '/api/v1/nodes', { body })).status).toBe(201);
    return name;
  }

  const patch = (user: User, url: string, body: unknown): Promise<Attempt> =>
    attempt(cp(), user, 'PATCH', url, body, MERGE_PATCH);

  it('without a release and a selector, neither annotation nor labels let a taint go', async () => {
    const name = await createNode();
    const prepared = { labels: { pool: null }, annotations: { [RELEASE]: `${PROTECTED},rented:NoSchedule` } };
    expect((await patch(developer, path(name), { metadata: prepared })).passed).toBe(true);

    const { passed, error } = await patch(developer, path(name), { spec: { taints: null } });
    expect(passed).toBe(false);
    expect(error).toContain('TaintPolicy "strict" does not allow removal by annotation: change the policy first.');
    expect(await taintsOf(cp(), name)).toContain(PROTECTED);
  });

  it('a node leaves a policy by its labels in one request, and the next one removes the taint', async () => {
    const name = await createNode();
    const only = { spec: { taints: [GPU] } };
    expect((await patch(developer, path(name), { metadata: { labels: { pool: null } }, ...only })).passed).toBe(false);

    expect((await patch(developer, path(name), { metadata: { labels: { pool: null } } })).passed).toBe(true);
    expect((await patch(developer, path(name), only)).passed).toBe(true);
    expect(await taintsOf(cp(), name)).toEqual([PROTECTED]);
  });

  it('a duplicate with another value and another order remove no protected taint', async () => {
    const name = await createNode();
    const [other, forged] = [
      { key: 'other', effect: 'NoSchedule' },
      { ...GPU, value: 'forged' },
    ];
    const rented = { key: 'rented', effect: 'NoSchedule' };
    for (const taints of [
      [GPU, forged, rented],
      [forged, GPU, rented],
      [forged, forged, rented],
    ]) {
      const { passed, error } = await patch(developer, path(name), { spec: { taints } });
      expect([passed, error]).toEqual([false, expect.stringMatching(/removing taint|taints must be unique/)]);
    }
    expect((await patch(developer, path(name), { spec: { taints: [other, rented, GPU] } })).passed).toBe(true);
    expect(await taintsOf(cp(), name)).toEqual(['other:NoSchedule', 'rented:NoSchedule', PROTECTED]);
    expect((await patch(developer, path(name), { spec: { taints: [GPU, other] } })).passed).toBe(false);
  });

  it('by nodes/status no taint changes, though labels and annotations do', async () => {
    const name = await createNode();
    const before = await taintsOf(cp(), name);
    const body = {
      metadata: { labels: { pool: null }, annotations: { [RELEASE]: 'rented:NoSchedule' } },
      spec: { taints: [] },
    };
    expect((await patch(admin, `${path(name)}/status`, body)).passed).toBe(true);

    expect(await taintsOf(cp(), name)).toEqual(before);
    const { metadata } = await getNode(cp(), name);
    expect([metadata.labels?.pool, metadata.annotations?.[RELEASE]]).toEqual([undefined, 'rented:NoSchedule']);
  });

  it('a node acts on no other node: it changes, registers and deletes none', async () => {
    const name = await createNode();
    const before = await getNode(cp(), name);
    const own = await createNode();
    const changes = [
      { metadata: { labels: { pool: null } } },
      { metadata: { annotations: { [RELEASE]: PROTECTED } } },
      { spec: { taints: null } },
    ];
    for (const change of changes) {
      for (const url of [path(name), `${path(name)}/status`]) {
        const { passed, error } = await patch(node(own), url, change);
        expect([passed, error]).toEqual([false, expect.stringMatching(/is not allowed to modify node|can only/)]);
      }
    }
    const body = { metadata: { name: 'another' } };
    expect((await cp().request(node(own), 'POST', '/api/v1/nodes', { body })).status).toBe(403);
    expect((await cp().request(node(own), 'DELETE', path(name))).status).toBe(403);
    expect(await getNode(cp(), name)).toEqual(before);
  });

  it('a node removes none of its taints, does not delete itself, and labels that kubelets may not set stay as they are', async () => {
    const name = await createNode();
    const removed = await patch(node(name), path(name), { spec: { taints: null } });
    expect([removed.passed, removed.error]).toEqual([false, expect.stringContaining('not allowed to modify taints')]);

    // It would register again, without the taints that no policy requires.
    expect((await cp().request(node(name), 'DELETE', path(name))).status).toBe(403);
    const restricted = { 'node-restriction.kubernetes.io/zone': 'enclave' };
    expect((await patch(node(name), path(name), { metadata: { labels: restricted } })).passed).toBe(false);
    expect((await patch(node(name), path(name), { metadata: { labels: { pool: null } } })).passed).toBe(true);
  });
});

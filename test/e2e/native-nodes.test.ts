import { beforeAll, describe, expect, it } from 'vitest';
import { formatTaint, type Taint as ModelTaint } from '../../src/kubernetes/taint.ts';
import type { NativePolicy } from '../../src/native/native-policy.ts';
import { translate } from '../../src/native/translate.ts';
import type { TranslationOptions } from '../../src/native/translation.ts';
import type { TaintPolicy } from '../../src/policy/policy.ts';
import type { TaintPolicySpec } from '../../src/policy/taint-policy.ts';
import { makeClusterAdmin } from '../control-plane/cluster-admin.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer, node, type User } from '../control-plane/users.ts';
import { USER_UPDATE_CASES } from '../unit/judge/request/update-cases.ts';
import { createNativeRig, MUTATING_VERSION, type NativeRig, obstacleToMutation } from './native-rig.ts';
import { GPU, getNode, type Node, OTHER, path, RELEASE, type Taint } from './nodes.ts';

const GPU_SPEC: TaintPolicySpec = {
  mode: 'Restore',
  nodeSelector: { matchLabels: { pool: 'gpu' } },
  taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' }],
};

function asTaint({ key, value, effect }: ModelTaint): Taint {
  return value == null ? { key, effect } : { key, value, effect };
}

function translated(
  specs: Readonly<Record<string, TaintPolicySpec>>,
  options: Partial<TranslationOptions> = {},
): NativePolicy[] {
  const among = Object.entries(specs).map(([name, spec]): TaintPolicy => ({ kind: 'TaintPolicy', name, spec }));
  return among.flatMap((policy) => {
    const { policies, refusal } = translate(policy, { among, mutates: true, purpose: 'Alone', ...options });
    expect(refusal).toBeUndefined();
    return policies;
  });
}

describeWithControlPlane(
  'native policies for nodes',
  { mutatingPolicies: true, obstacle: obstacleToMutation },
  (cp) => {
    let native: NativeRig;
    let count = 0;

    beforeAll(() => {
      native = createNativeRig(cp(), { sparesAdmin: true, mutatingVersion: MUTATING_VERSION });
    });

    /** A node, stored as it is given. */
    async function createNode(
      taints: readonly Taint[],
      labels: Record<string, string> = { pool: 'gpu' },
    ): Promise<Node> {
      const body = { metadata: { name: `n${++count}`, labels }, spec: { taints } };
      const created = await cp().request<Node>(admin, 'POST', '/api/v1/nodes', { body });
      expect(created.status, JSON.stringify(created.body).slice(0, 500)).toBe(201);
      // A node is given its not-ready taint when it is made.
      const stored = { ...created.body, spec: { ...created.body.spec, taints } };
      return (await cp().request<Node>(admin, 'PUT', path(body.metadata.name), { body: stored })).body;
    }

    async function put(user: User, name: string, change: (live: Node) => object) {
      const live = await getNode(cp(), name);
      return cp().request<Node & { message?: string }>(user, 'PUT', path(name), { body: { ...live, ...change(live) } });
    }

    const withTaints = (taints: readonly Taint[]) => (live: Node) => ({ spec: { ...live.spec, taints } });
    const label = (live: Node) => ({ metadata: { ...live.metadata, labels: { ...live.metadata.labels, x: 'y' } } });
    const annotated = (text: string) => (live: Node) => ({
      metadata: { ...live.metadata, annotations: { ...live.metadata.annotations, [RELEASE]: text } },
    });

    describe('of a Restore policy with a required taint', () => {
      beforeAll(() => native.enforce(translated({ gpu: GPU_SPEC }, { purpose: 'Backstop' })));

      it('restore what an update removes, and keep its other changes', async () => {
        const { metadata } = await createNode([GPU, OTHER]);
        const { status, body } = await put(developer, metadata.name, (live) => ({
          ...label(live),
          ...withTaints([OTHER])(live),
        }));
        expect(status).toBe(200);
        expect(body.spec.taints).toEqual([OTHER, GPU]);
        expect(body.metadata.labels).toMatchObject({ x: 'y' });
        expect(body.metadata.annotations).toEqual(metadata.annotations);
      });

      it('allow the removal of a taint with an entry as often as the entry stands, and end it when the taint is set', async () => {
        const { metadata } = await createNode([GPU]);
        const { name } = metadata;
        const entries = 'dedicated=gpu:NoSchedule, example.com/x:NoExecute';
        await put(developer, name, annotated(entries));
        const removed = (await put(developer, name, withTaints([]))).body;
        expect([removed.spec.taints, removed.metadata.annotations?.[RELEASE]]).toEqual([undefined, entries]);
        await put(admin, name, withTaints([GPU]));
        expect((await put(developer, name, withTaints([]))).body.spec.taints).toBeUndefined();
        const set = (await put(developer, name, withTaints([GPU]))).body;
        expect([set.spec.taints, set.metadata.annotations?.[RELEASE]]).toEqual([[GPU], 'example.com/x:NoExecute']);
        expect((await put(developer, name, withTaints([]))).body.spec.taints).toEqual([GPU]);
      });

      it('give a node that registers its taints', async () => {
        const body = { metadata: { name: 'w1', labels: { pool: 'gpu' } }, spec: { taints: [OTHER] } };
        const registered = await cp().request<Node>(node('w1'), 'POST', '/api/v1/nodes', { body });
        // The API server adds a taint of its own.
        expect([registered.status, registered.body.spec.taints]).toEqual([201, expect.arrayContaining([OTHER, GPU])]);
      });

      it("leave a node's own update alone", async () => {
        const { metadata } = await createNode([GPU, OTHER]);
        const own = node(metadata.name);
        const labelled = await put(own, metadata.name, label);
        expect([labelled.status, labelled.body.metadata.annotations]).toEqual([200, metadata.annotations]);
        const removed = await put(own, metadata.name, withTaints([OTHER]));
        expect(removed.body.message).toContain('is not allowed to modify taints');
        expect((await getNode(cp(), metadata.name)).spec.taints).toEqual([GPU, OTHER]);
      });
    });

    describe('decide as the webhook does', () => {
      const groups = [...Map.groupBy(USER_UPDATE_CASES, ({ policies }) => JSON.stringify(policies)).values()];
      beforeAll(() => makeClusterAdmin(cp(), 'User', 'autoscaler'));

      describe.each(groups.map((alike) => ({ alike, first: alike[0]?.why })))('$first, and others', ({ alike }) => {
        beforeAll(() => native.enforce(translated(alike[0]?.policies ?? {})));

        it.each(alike)('$why', async ({ update, taints, allowRemoval }) => {
          const { before, after, oldLabels = {}, newLabels = oldLabels, oldAllowRemoval, newAllowRemoval } = update;
          const { metadata } = await createNode(before.map(asTaint), oldLabels);
          if (oldAllowRemoval !== undefined) await put(admin, metadata.name, annotated(oldAllowRemoval));
          const user = update.requester ? { name: update.requester.username, groups: [] } : developer;
          const { status, body } = await put(user, metadata.name, (live) => ({
            metadata: {
              ...live.metadata,
              labels: newLabels,
              annotations: newAllowRemoval === undefined ? {} : { [RELEASE]: newAllowRemoval },
            },
            ...withTaints(after.map(asTaint))(live),
          }));
          expect(status, body.message).toBe(taints === undefined ? 403 : 200);
          if (taints === undefined) return;
          expect((body.spec.taints ?? []).map(formatTaint).toSorted()).toEqual(taints.toSorted());
          // The API server chooses the order of mutating policies: one may see a taint that another one has set, and end its entry. The webhook
          // is one program. Both are harmless: the leader ends an entry that stands together with its taint.
          const setByPolicy = taints.filter((taint) => !after.map(formatTaint).includes(taint));
          const mayEnd = allowRemoval !== undefined && setByPolicy.includes(allowRemoval);
          expect(mayEnd ? [allowRemoval, undefined] : [allowRemoval]).toContain(body.metadata.annotations?.[RELEASE]);
        });
      });
    });

    describe('of a policy that exempts a user', () => {
      const spec: TaintPolicySpec = { ...GPU_SPEC, exempt: { users: [developer.name] } };
      const GPU_TEXT = 'dedicated=gpu:NoSchedule';

      describe.each(['Restore', 'Deny'] as const)('in mode %s, under the webhook', (mode) => {
        beforeAll(() => native.enforce(translated({ gpu: { ...spec, mode } }, { purpose: 'Backstop' })));

        it('write an entry for the required taint that the user removes, and for no other', async () => {
          const { metadata } = await createNode([GPU, OTHER]);
          const { body } = await put(developer, metadata.name, withTaints([]));
          expect([body.spec.taints, body.metadata.annotations]).toEqual([undefined, { [RELEASE]: GPU_TEXT }]);
        });

        it('write it once, behind the other entries, and end it when the taint is set', async () => {
          const { metadata } = await createNode([GPU]);
          const { name } = metadata;
          const other = 'example.com/a:NoExecute';
          await put(admin, name, annotated(other));
          const changed = await put(developer, name, withTaints([{ ...GPU, value: 'cpu' }]));
          const removed = await put(developer, name, withTaints([]));
          const set = await put(developer, name, withTaints([GPU]));
          expect([changed, removed, set].map(({ body }) => body.metadata.annotations?.[RELEASE])).toEqual([
            `${other},${GPU_TEXT}`,
            `${other},${GPU_TEXT}`,
            other,
          ]);
        });
      });
    });

    describe('of a Deny policy', () => {
      beforeAll(() => native.enforce(translated({ gpu: { ...GPU_SPEC, mode: 'Deny' } })));

      it('refuse the update, say what the reader can do, and that is so', async () => {
        const { metadata } = await createNode([GPU, OTHER]);
        const { name } = metadata;
        const refused = await put(developer, name, withTaints([]));
        expect(refused.status).toBe(403);
        expect(refused.body.message).toContain(
          `node ${name}: removing taint dedicated=gpu:NoSchedule is not allowed (TaintPolicy "gpu", spec.taints[0], mode Deny). To allow it, and then remove it: ` +
            `kubectl annotate --overwrite node ${name} ${RELEASE}=dedicated=gpu:NoSchedule`,
        );
        await put(developer, name, annotated('dedicated=gpu:NoSchedule'));
        const { status, body } = await put(developer, name, withTaints([]));
        expect([status, body.spec.taints, body.metadata.annotations?.[RELEASE]]).toEqual([
          200,
          undefined,
          'dedicated=gpu:NoSchedule',
        ]);
      });

      it('leave a record in the audit log', async () => {
        const { metadata } = await createNode([GPU]);
        const answer = await put(developer, metadata.name, withTaints([]));
        expect((await cp().auditEvent(answer)).annotations).toMatchObject({
          'gpu.protect.taintkeeper.dev/denied': 'dedicated=gpu:NoSchedule',
        });
      });
    });

    describe('at their limits', () => {
      /** Keys of the greatest length. */
      const manyTaints = (amount: number): Taint[] =>
        Array.from({ length: amount }, (_, index) => ({
          key: `${Array.from({ length: 4 }, () => 'x'.repeat(60)).join('.')}.example/${`${index}-`.padEnd(62, 'x')}x`,
          value: 'v'.repeat(63),
          effect: 'NoSchedule',
        }));
      /** 64 taints of 22 keys. */
      const shared: readonly Taint[] = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']
        .flatMap((effect) =>
          Array.from({ length: 22 }, (_, index) => ({
            key: `pool-${index}.example.com/dedicated`,
            value: 'v'.repeat(63),
            effect,
          })),
        )
        .slice(0, 64);
      /** Every policy is for every node and every one of the taints, and so has to know of all the others. */
      const policies = () =>
        Object.fromEntries(
          Array.from({ length: 20 }, (_, index): [string, TaintPolicySpec] => [
            `p${index}`,
            {
              mode: index === 0 ? 'Deny' : 'Restore',
              nodeSelector: { matchLabels: { pool: 'gpu' } },
              taints: [
                ...[...new Set(shared.map(({ key }) => key))].map((key) => ({ key })),
                { key: `example.com/${index}` },
              ],
              exempt: { users: index === 0 ? [developer.name] : [`*:controller-of-${index}`] },
            },
          ]),
        );

      it('20 policies restore 64 taints, and refuse nothing for their cost', async () => {
        await native.enforce(translated(policies()));
        const { metadata } = await createNode(shared);
        const { status, body } = await put(developer, metadata.name, withTaints([]));
        expect([status, body.spec.taints]).toEqual([200, expect.arrayContaining([...shared])]);
      });

      describe('whatever stands in the annotation', () => {
        const FILLINGS = [',', 'a:b,', 'x'].map((filling) => filling.repeat(240_000 / filling.length));

        it('a taint is restored', async () => {
          await native.enforce(translated({ gpu: GPU_SPEC }, { purpose: 'Backstop' }));
          const { metadata } = await createNode([GPU]);
          for (const text of FILLINGS) {
            expect((await put(admin, metadata.name, annotated(text))).status).toBe(200);
            const { status, body } = await put(developer, metadata.name, withTaints([]));
            expect([status, body.spec.taints]).toEqual([200, [GPU]]);
            expect(body.metadata.annotations?.[RELEASE]).toBe(text);
          }
        });

        it('a removal by an exempt user writes its entry behind it', async () => {
          const exempting = { ...GPU_SPEC, exempt: { users: [developer.name] } };
          await native.enforce(translated({ gpu: exempting }, { purpose: 'Backstop' }));
          for (const text of FILLINGS) {
            const { metadata } = await createNode([GPU]);
            await put(admin, metadata.name, annotated(text));
            const { status, body } = await put(developer, metadata.name, withTaints([]));
            expect([status, body.spec.taints]).toEqual([200, undefined]);
            expect(body.metadata.annotations?.[RELEASE]).toMatch(/(^|, )dedicated=gpu:NoSchedule$/);
          }
        });
      });

      it('as many taints as they say are restored; with far more, the failure policy decides', async () => {
        const spec: TaintPolicySpec = {
          mode: 'Restore',
          taints: manyTaints(64).map(({ key }) => ({ key })),
          failurePolicy: 'Fail',
        };
        const one = { gpu: spec };
        const among: TaintPolicy[] = [{ kind: 'TaintPolicy', name: 'gpu', spec }];
        const limits = among.flatMap(
          (policy) => translate(policy, { among, mutates: true, purpose: 'Backstop' }).limits,
        );
        const size = limits
          .flatMap(({ message }) => /with more than (\d+) taints/.exec(message)?.[1] ?? [])
          .map(Number)[0];
        expect(size).toBeGreaterThanOrEqual(64);
        await native.enforce(translated(one, { purpose: 'Backstop' }));

        const taints = ['NoSchedule', 'PreferNoSchedule']
          .flatMap((effect) => manyTaints(64).map((taint) => ({ ...taint, effect })))
          .slice(0, size);
        const { metadata } = await createNode(taints);
        // Each of them gets another value, and is restored in its place.
        const changed = taints.map((taint) => ({ ...taint, value: 'w' }));
        const { status, body } = await put(developer, metadata.name, withTaints(changed));
        expect([status, body.spec.taints]).toEqual([200, taints]);

        const huge = await createNode(manyTaints(2_000));
        const refused = await put(developer, huge.metadata.name, withTaints(manyTaints(2_000).slice(1)));
        expect(refused.body.message).toMatch(/gpu\.protect\.taintkeeper\.dev.*cost limit exceeded/s);
        expect((await put(developer, huge.metadata.name, label)).status).toBe(200);
      });
    });
  },
);

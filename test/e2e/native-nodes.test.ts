import { beforeAll, describe, expect, it } from 'vitest';
import type { NativePolicy, TranslationOptions } from '../../src/native/native-policy.ts';
import { translate } from '../../src/native/translate.ts';
import type { TaintPolicy } from '../../src/policy/policy.ts';
import type { TaintPolicySpec } from '../../src/policy/taint-policy.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer, node, type User } from '../control-plane/users.ts';
import { createNativeRig, MUTATING_VERSION, type NativeRig, obstacleToMutation } from './native-rig.ts';
import { GPU, getNode, type Node, OTHER, path, RELEASE, type Taint } from './nodes.ts';

const GPU_SPEC: TaintPolicySpec = {
  mode: 'Restore',
  nodeSelector: { matchLabels: { pool: 'gpu' } },
  taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' }],
};

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

    describe('of a Restore policy', () => {
      beforeAll(() => native.enforce(translated({ gpu: GPU_SPEC }, { purpose: 'Backstop' })));

      it('put back what an update removes, and keep its other changes', async () => {
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

      it('let go what was announced once, and leave a notice to the leader', async () => {
        const { metadata } = await createNode([GPU]);
        const entries = 'dedicated:NoSchedule, example.com/x:NoExecute';
        await put(developer, metadata.name, annotated(entries));
        const removed = (await put(developer, metadata.name, withTaints([]))).body;
        expect([removed.spec.taints, removed.metadata.annotations?.[RELEASE]]).toEqual([
          undefined,
          'example.com/x:NoExecute, dedicated=gpu:NoSchedule-',
        ]);
        expect((await put(developer, metadata.name, withTaints([GPU]))).body.spec.taints).toEqual([GPU]);
        expect((await put(developer, metadata.name, withTaints([]))).body.spec.taints).toEqual([GPU]);
      });

      it('keep an entry for a taint that an update adds and that they do not protect', async () => {
        const { metadata } = await createNode([]);
        await put(developer, metadata.name, annotated('example.com/other:NoSchedule'));
        const { body } = await put(developer, metadata.name, withTaints([OTHER]));
        expect(body.metadata.annotations?.[RELEASE]).toBe('example.com/other:NoSchedule');
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

    describe('of a Restore policy that restricts removal, addition and unselection', () => {
      const spec: TaintPolicySpec = {
        mode: 'Restore',
        nodeSelector: { matchLabels: { pool: 'gpu' } },
        taints: [{ key: 'dedicated', restrict: ['Removal', 'Addition', 'Unselection'] }],
      };
      beforeAll(() => native.enforce(translated({ gpu: spec }, { purpose: 'Backstop' })));

      it('remove what an update adds, keep its other changes, and an entry that names it', async () => {
        const { metadata } = await createNode([]);
        await put(developer, metadata.name, annotated('dedicated=gpu:NoSchedule'));
        const { status, body } = await put(developer, metadata.name, (live) => ({
          ...label(live),
          ...withTaints([GPU, OTHER])(live),
        }));
        expect([status, body.spec.taints, body.metadata.labels]).toEqual([200, [OTHER], { pool: 'gpu', x: 'y' }]);
        expect(body.metadata.annotations).toEqual({ [RELEASE]: 'dedicated=gpu:NoSchedule' });
      });

      it('change a value back', async () => {
        const { metadata } = await createNode([GPU, OTHER]);
        const { body } = await put(developer, metadata.name, withTaints([OTHER, { ...GPU, value: 'cpu' }]));
        expect(body.spec.taints).toEqual([OTHER, GPU]);
      });

      it('refuse that a node leaves the policy with a protected taint, and let it once that is announced', async () => {
        const { metadata } = await createNode([GPU]);
        const leave = (live: Node) => ({ metadata: { ...live.metadata, labels: { pool: 'cpu' } } });
        const refused = await put(developer, metadata.name, leave);
        expect(refused.body.message).toContain(
          `node ${metadata.name}: changing label pool so that the policy no longer selects the node is not allowed while the node carries taint ` +
            `dedicated=gpu:NoSchedule (TaintPolicy "gpu", restrict: Unselection, mode Restore). To change the label on purpose, first: kubectl annotate --overwrite node ${metadata.name} ` +
            `${RELEASE}=dedicated=gpu:NoSchedule`,
        );
        await put(developer, metadata.name, annotated('dedicated=gpu:NoSchedule'));
        expect(await put(developer, metadata.name, leave)).toMatchObject({ status: 200 });
      });

      it('refuse an addition where nothing can be removed, and say so', async () => {
        await native.enforce(translated({ gpu: spec }, { mutates: false }));
        const { metadata } = await createNode([]);
        const { status, body } = await put(developer, metadata.name, withTaints([GPU]));
        expect([status, body.message]).toEqual([
          403,
          expect.stringContaining(
            `node ${metadata.name}: adding taint dedicated=gpu:NoSchedule is not allowed (TaintPolicy "gpu", spec.taints[0], mode Restore). ` +
              'It is not removed: this API server has no MutatingAdmissionPolicy that works. ' +
              'The policy exempts no user: to add the taint on purpose, change the policy first.',
          ),
        ]);
      });
    });

    describe('of a policy that exempts a user', () => {
      const spec: TaintPolicySpec = { ...GPU_SPEC, exempt: { users: [developer.name] } };
      const GPU_TEXT = 'dedicated=gpu:NoSchedule';

      describe.each(['Restore', 'Deny'] as const)('in mode %s, under the webhook', (mode) => {
        beforeAll(() => native.enforce(translated({ gpu: { ...spec, mode } }, { purpose: 'Backstop' })));

        it('leave a notice of the protected taint that they remove, and of no other', async () => {
          const { metadata } = await createNode([GPU, OTHER]);
          const { body } = await put(developer, metadata.name, withTaints([]));
          expect([body.spec.taints, body.metadata.annotations]).toEqual([undefined, { [RELEASE]: `${GPU_TEXT}-` }]);
        });

        it('leave it once, behind what stands there', async () => {
          const { metadata } = await createNode([GPU]);
          const other = 'example.com/a:NoExecute';
          await put(admin, metadata.name, annotated(other));
          await put(developer, metadata.name, withTaints([{ ...GPU, value: 'cpu' }]));
          await put(admin, metadata.name, withTaints([GPU]));
          const { body } = await put(developer, metadata.name, withTaints([]));
          expect(body.metadata.annotations).toEqual({ [RELEASE]: `${other}, ${GPU_TEXT}-` });
        });
      });

      it('leave none where there is no leader to record it', async () => {
        await native.enforce(translated({ gpu: spec }));
        const { metadata } = await createNode([GPU]);
        const { body } = await put(developer, metadata.name, withTaints([]));
        expect([body.spec.taints, body.metadata.annotations]).toEqual([undefined, undefined]);
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
          `node ${name}: removing taint dedicated=gpu:NoSchedule is not allowed (TaintPolicy "gpu", spec.taints[0], mode Deny). To remove it on purpose, first: ` +
            `kubectl annotate --overwrite node ${name} ${RELEASE}=dedicated=gpu:NoSchedule`,
        );
        await put(developer, name, annotated('dedicated=gpu:NoSchedule'));
        const { status, body } = await put(developer, name, withTaints([]));
        expect([status, body.spec.taints, body.metadata.annotations?.[RELEASE]]).toEqual([200, undefined, undefined]);
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
                ...[...new Set(shared.map(({ key }) => key))].map((key) => ({ key, restrict: ['Removal'] as const })),
                { key: `example.com/${index}`, restrict: ['Removal'] },
              ],
              exempt: { users: index === 0 ? [developer.name] : [`*:controller-of-${index}`] },
            },
          ]),
        );

      it('20 policies put back 64 taints, and refuse nothing for their cost', async () => {
        await native.enforce(translated(policies()));
        const { metadata } = await createNode(shared);
        const { status, body } = await put(developer, metadata.name, withTaints([]));
        expect([status, body.spec.taints]).toEqual([200, expect.arrayContaining([...shared])]);
      });

      describe('whatever stands in the annotation', () => {
        const FILLINGS = [',', 'a:b,', 'x'].map((filling) => filling.repeat(240_000 / filling.length));

        it('a taint is put back', async () => {
          await native.enforce(translated({ gpu: GPU_SPEC }, { purpose: 'Backstop' }));
          const { metadata } = await createNode([GPU]);
          for (const text of FILLINGS) {
            expect((await put(admin, metadata.name, annotated(text))).status).toBe(200);
            const { status, body } = await put(developer, metadata.name, withTaints([]));
            expect([status, body.spec.taints]).toEqual([200, [GPU]]);
            expect(body.metadata.annotations?.[RELEASE]).toBe(text);
          }
        });

        it('a removal by an exempt user leaves a notice behind it', async () => {
          const exempting = { ...GPU_SPEC, exempt: { users: [developer.name] } };
          await native.enforce(translated({ gpu: exempting }, { purpose: 'Backstop' }));
          for (const text of FILLINGS) {
            const { metadata } = await createNode([GPU]);
            await put(admin, metadata.name, annotated(text));
            const { status, body } = await put(developer, metadata.name, withTaints([]));
            expect([status, body.spec.taints]).toEqual([200, undefined]);
            expect(body.metadata.annotations?.[RELEASE]).toMatch(/(^|, )dedicated=gpu:NoSchedule-$/);
          }
        });
      });

      it('as many taints as they say are put back; with far more, the failure policy decides', async () => {
        const spec: TaintPolicySpec = {
          mode: 'Restore',
          taints: manyTaints(64).map(({ key }) => ({ key, restrict: ['Removal'] })),
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
        // Each of them gets another value, and is put back in its place.
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

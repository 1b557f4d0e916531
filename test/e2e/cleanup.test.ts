import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Cleaned, clean } from '../../src/cleanup/cleaning.ts';
import { findLeftovers } from '../../src/cleanup/leftovers.ts';
import { NATIVE_RESOURCES } from '../../src/cluster/admission-registration/native-policies.ts';
import { connect } from '../../src/cluster/client/api-client.ts';
import { FIELD_MANAGER } from '../../src/objects/managed-fields.ts';
import { grantRules } from '../control-plane/cluster-admin.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { succeeded } from '../control-plane/rest.ts';
import { admin, type User } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { MASTER } from '../unit/judge/request/daemon-set-cases.ts';
import {
  createFakeNode,
  type DaemonSet,
  daemonSetManifest,
  daemonSetPath,
  getDaemonSet,
  isAvailable,
  nodesWithPods,
  waitForDaemonSet,
} from './daemon-sets.ts';
import { getNode, path as nodePath } from './nodes.ts';
import { runAs } from './run-taintkeeper.ts';

const NAMESPACE = 'cleanup';
const OWN = { key: 'example.com/own', operator: 'Exists' };
const ON_NODES = { 'taintkeeper.dev/allow-removal': 'dedicated:NoSchedule' };
const ADDED = 'taintkeeper.dev/tolerations-added';
const MARK = { [ADDED]: `${MASTER.key}:${MASTER.effect}` };
const CONFIGURATION = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
const TIMEOUT_MS = 90_000;

/** The cluster has none of the definitions, as after `kubectl delete -f manifests/install.yaml`. */
const NO_DEFINITION = expect.stringMatching(
  /^taintkeeper: note: CustomResourceDefinition taintpolicies\.taintkeeper\.dev does not exist: startup taints .+\n$/,
);

const looker: User = { name: 'looker@example.com', groups: [] };
const stranger: User = { name: 'stranger@example.com', groups: [] };

describeWithControlPlane(
  'what an installation leaves behind',
  { components: ['kube-controller-manager', 'kube-scheduler', 'kubelets'], nodeMonitorGraceSeconds: 600 },
  (cp) => {
    const run = (user: User, ...args: string[]) => runAs(user, cp(), ['cleanup', ...args]);

    const createAs = (manager: string, body: object) =>
      succeeded(cp().request(admin, 'POST', `${daemonSetPath(NAMESPACE)}?fieldManager=${manager}`, { body }));
    const apply = async (body: object, ...args: string[]) => {
      const { code, stderr } = await cp().kubectl(['apply', ...args, '-f', '-'], { input: JSON.stringify(body) });
      expect([code, stderr]).toEqual([0, '']);
    };
    /** Adds a toleration as the leader does. */
    const patchAsLeader = (name: string) =>
      succeeded(
        cp().request(admin, 'PATCH', `${daemonSetPath(NAMESPACE, name)}?fieldManager=${FIELD_MANAGER}`, {
          body: { metadata: { annotations: MARK }, spec: { template: { spec: { tolerations: [OWN, MASTER] } } } },
          contentType: MERGE_PATCH,
        }),
      );

    beforeAll(async () => {
      await cp().request(admin, 'POST', '/api/v1/namespaces', { body: { metadata: { name: NAMESPACE } } });
      await createFakeNode(cp(), 'master', [{ key: MASTER.key, effect: 'NoSchedule' }]);
      await createFakeNode(cp(), 'worker', []);
      for (const name of ['a', 'b']) {
        await apply(daemonSetManifest(NAMESPACE, name, { tolerations: [OWN] }));
        await patchAsLeader(name);
        await waitForDaemonSet(cp(), NAMESPACE, name, isAvailable);
      }
      const rules = [
        { apiGroups: ['', 'apps'], resources: ['nodes', 'daemonsets'], verbs: ['get', 'list'] },
        {
          apiGroups: ['admissionregistration.k8s.io'],
          resources: ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'],
          verbs: ['get'],
        },
        { apiGroups: ['admissionregistration.k8s.io'], resources: Object.values(NATIVE_RESOURCES), verbs: ['list'] },
      ];
      const subject = { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: looker.name };
      await grantRules(cp(), 'looker', subject, rules);
    });

    const annotate = (path: string, annotations: object) =>
      cp().request(admin, 'PATCH', path, { body: { metadata: { annotations } }, contentType: MERGE_PATCH });

    beforeEach(async () => {
      await annotate(nodePath('worker'), ON_NODES);
      await annotate(nodePath('master'), { 'example.com/theirs': 'stays' });
      for (const name of ['a', 'b']) await annotate(daemonSetPath(NAMESPACE, name), MARK);
    });

    const left = async () => ({
      node: Object.keys((await getNode(cp(), 'worker')).metadata.annotations ?? {})
        .filter((name) => name in ON_NODES)
        .sort(),
      daemonSets: await Promise.all(
        ['a', 'b'].map(async (name) => (await getDaemonSet(cp(), NAMESPACE, name)).metadata.annotations?.[ADDED]),
      ),
    });
    const ALL = { node: Object.keys(ON_NODES).sort(), daemonSets: [MARK[ADDED], MARK[ADDED]] };
    const NOTHING = { node: [], daemonSets: [undefined, undefined] };

    it.each([
      { args: ['--dry-run'], suffix: 'dry run' },
      { args: ['--dry-run=server', '--tolerations'], suffix: 'server dry run' },
    ])('is shown by $args, and stays', async ({ args, suffix }) => {
      const { code, stdout, stderr } = await run(admin, ...args);

      expect([code, stderr]).toEqual([0, NO_DEFINITION]);
      expect(stdout).toMatch(
        new RegExp(
          `^nodes/worker +annotation taintkeeper\\.dev/allow-removal: dedicated:NoSchedule +removed \\(${suffix}\\)$`,
          'm',
        ),
      );
      expect(stdout).not.toContain('nodes/master');
      expect(await left()).toEqual(ALL);
    });

    it('is not taken away while taintkeeper is there, and would write it again', async () => {
      await cp().request(admin, 'POST', CONFIGURATION, { body: { metadata: { name: 'taintkeeper' }, webhooks: [] } });
      try {
        const refused = await run(admin);
        expect([refused.code, refused.stdout]).toEqual([2, '']);
        expect(refused.stderr).toMatch(/^taintkeeper: ValidatingWebhookConfiguration taintkeeper exists: .*Uninstall/);

        const looked = await run(admin, '--dry-run');
        expect([looked.code, looked.stdout.match(/\(dry run\)$/gm)?.length]).toEqual([0, 3]);
        expect(looked.stderr).toMatch(/^taintkeeper: note: ValidatingWebhookConfiguration taintkeeper exists/);
        expect(await left()).toEqual(ALL);
      } finally {
        await cp().request(admin, 'DELETE', `${CONFIGURATION}/taintkeeper`);
      }
    });

    it('is named with the right that is missing to take it away', async () => {
      const blind = await run(stranger);
      expect([blind.code, blind.stdout]).toEqual([2, '']);
      expect(blind.stderr).toMatch(/"stranger@example\.com" cannot get resource "mutatingwebhookconfigurations"/);

      const looking = await run(looker, '-o', 'json');
      expect([looking.code, looking.stderr]).toEqual([1, NO_DEFINITION]);
      const { objects } = JSON.parse(looking.stdout) as {
        objects: { resource: string; result: string; problem: string }[];
      };
      expect(objects.map(({ resource, result }) => [resource, result])).toEqual([
        ['nodes', 'failed'],
        ['daemonsets', 'failed'],
        ['daemonsets', 'failed'],
      ]);
      expect(objects[0]?.problem).toContain('cannot patch resource "nodes"');
      expect(await left()).toEqual(ALL);
    });

    it('goes, and no pod is replaced for it', async () => {
      const before = await getDaemonSet(cp(), NAMESPACE, 'a');
      const { code, stdout, stderr } = await run(admin);

      expect([code, stderr]).toEqual([0, NO_DEFINITION]);
      expect(stdout.match(/ removed$/gm)).toHaveLength(3);
      expect(stdout).toMatch(
        /^daemonsets\/cleanup\/a +toleration node-role\.kubernetes\.io\/master:NoSchedule +kept$/m,
      );
      expect(await left()).toEqual(NOTHING);
      expect((await getNode(cp(), 'master')).metadata.annotations).toMatchObject({ 'example.com/theirs': 'stays' });
      const after = await getDaemonSet(cp(), NAMESPACE, 'a');
      expect([after.metadata.generation, after.spec]).toEqual([before.metadata.generation, before.spec]);
      expect((await run(admin)).stdout).toBe(
        'no annotations of taintkeeper are left on nodes and DaemonSets; startup taints are unknown\n',
      );
    });

    it('is removed although another writer changes the same objects meanwhile', async () => {
      const client = await connect({ kubeconfig: await cp().kubeconfigFile(admin), userAgent: 'cleanup.test' });
      const found = await findLeftovers(client);
      await annotate(nodePath('worker'), { 'taintkeeper.dev/allow-removal': 'other:NoSchedule' });
      await annotate(daemonSetPath(NAMESPACE, 'a'), { [ADDED]: null });
      const options = { removesTolerations: false, dryRun: 'none', rolloutTimeoutMs: 0, onProgress() {} } as const;
      const cleaned: Cleaned[] = await clean(client, found, options);
      client.close();

      expect(cleaned.map(({ result, problem }) => [result, problem])).toEqual(Array(3).fill(['removed', undefined]));
      expect(await left()).toEqual(NOTHING);
    });

    it('goes with the tolerations where that is asked for, one DaemonSet after the other', {
      timeout: TIMEOUT_MS,
    }, async () => {
      expect(await nodesWithPods(cp(), NAMESPACE, 'a')).toEqual(['master', 'worker']);
      const { code, stdout, stderr } = await run(admin, '--tolerations');

      expect([code, stderr]).toEqual([
        0,
        expect.stringContaining(
          'taintkeeper: note: the pods of 2 DaemonSets are replaced, one DaemonSet after the other\n',
        ),
      ]);
      expect(stdout).toMatch(
        /^daemonsets\/cleanup\/b +toleration node-role\.kubernetes\.io\/master:NoSchedule +removed$/m,
      );
      expect(await left()).toEqual(NOTHING);
      for (const name of ['a', 'b']) {
        const daemonSet = await getDaemonSet(cp(), NAMESPACE, name);
        expect(daemonSet.spec.template.spec.tolerations).toEqual([OWN]);
        expect(isAvailable(daemonSet)).toBe(true);
        expect(await nodesWithPods(cp(), NAMESPACE, name)).toEqual(['worker']);
      }
      // What the first one's rollout takes is over before the next one is changed.
      const changes = cp()
        .auditLog()
        .filter(({ objectRef, verb }) => objectRef?.namespace === NAMESPACE && (verb === 'delete' || verb === 'patch'))
        .map(({ verb, objectRef }) => `${verb} ${objectRef?.resource} ${objectRef?.name?.slice(0, 1)}`);
      const rollout = (name: string) => [`patch daemonsets ${name}`, `delete pods ${name}`];
      expect(dense(changes).slice(-4)).toEqual([...rollout('a'), ...rollout('b')]);
    });

    describe('a toleration that the source may have by now', () => {
      const manifest = (name: string, tolerations: readonly object[], image = 'example.com/main:1') =>
        daemonSetManifest(NAMESPACE, name, {
          nodeSelector: { none: 'here' },
          tolerations,
          containers: [{ name: 'main', image }],
        });
      it.each<{ name: string; changes: () => Promise<void>; because: RegExp }>([
        {
          name: 'applied',
          async changes() {
            await apply(manifest('applied', [OWN]));
            await patchAsLeader('applied');
            await apply(manifest('applied', [OWN, MASTER]));
          },
          because: /^the manifest that kubectl apply applied last has it$/,
        },
        {
          name: 'server-side',
          async changes() {
            await apply(manifest('server-side', [OWN]), '--server-side');
            await patchAsLeader('server-side');
            await apply(manifest('server-side', [OWN, MASTER]), '--server-side');
          },
          because: /^its list of tolerations was written since by field manager "kubectl" \(Apply at /,
        },
        {
          name: 'tool',
          async changes() {
            await createAs('helm', manifest('tool', [OWN]));
            await patchAsLeader('tool');
          },
          because: /^field manager "helm" \(Update at .*\) writes it, and its source may have the toleration$/,
        },
        {
          // `kubectl patch` with the list that is there already would leave no trace.
          name: 'created',
          async changes() {
            await createAs('kubectl-create', manifest('created', [OWN]));
            await patchAsLeader('created');
          },
          because: /^kubectl apply has not applied it, so its manifest is not known$/,
        },
        {
          // The API server records the owner before admission plugins change the list.
          name: 'mutated',
          async changes() {
            await apply(manifest('mutated', [OWN]));
            await patchAsLeader('mutated');
            await addAtAdmission('mutated');
            await apply(manifest('mutated', [OWN], 'example.com/main:2'));
          },
          because:
            /^its list of tolerations was written since by field manager "kubectl-client-side-apply" \(Update at /,
        },
        {
          name: 'mutated-without-list',
          async changes() {
            await apply(manifest('mutated-without-list', []));
            await patchAsLeader('mutated-without-list');
            await addAtAdmission('mutated-without-list');
            await replaceWithoutList('mutated-without-list');
          },
          because: /^taintkeeper does not own its list of tolerations any more$/,
        },
      ])('stays, and the reason is given: $name', async ({ name, changes, because }) => {
        await changes();
        const before = await getDaemonSet(cp(), NAMESPACE, name);
        expect(before.spec.template.spec.tolerations).toContainEqual(MASTER);
        const { code, stdout } = await run(admin, '--tolerations', '-o', 'json');
        const { objects } = JSON.parse(stdout) as { objects: { name: string }[] };

        expect(code).toBe(0);
        expect(objects.find((one) => one.name === name)).toMatchObject({
          annotations: MARK,
          tolerations: [],
          keptTolerations: [MASTER],
          keptBecause: expect.stringMatching(because),
          result: 'removed',
        });
        const after = await getDaemonSet(cp(), NAMESPACE, name);
        expect([after.spec, after.metadata.generation]).toEqual([before.spec, before.metadata.generation]);
        expect(after.metadata.annotations).not.toHaveProperty([ADDED]);
      });

      /** A user's update that leaves out the list. */
      const replaceWithoutList = (name: string) =>
        succeeded(
          cp().request(admin, 'PATCH', `${daemonSetPath(NAMESPACE, name)}?fieldManager=kubectl-edit`, {
            body: { spec: { template: { spec: { tolerations: null } } } },
            contentType: MERGE_PATCH,
          }),
        );

      /** Has admission add the toleration to the DaemonSet, as the webhook does. */
      async function addAtAdmission(name: string): Promise<void> {
        const api = '/apis/admissionregistration.k8s.io/v1';
        const metadata = { name: `adds-toleration-${name}` };
        const list = 'object.spec.template.spec.?tolerations.orValue([])';
        const value = JSON.stringify(MASTER);
        const body = {
          apiVersion: 'admissionregistration.k8s.io/v1',
          kind: 'MutatingAdmissionPolicy',
          metadata,
          spec: {
            matchConstraints: {
              resourceRules: [
                { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['daemonsets'] },
              ],
            },
            matchConditions: [
              {
                name: 'lacks-it',
                expression: `object.metadata.name == '${name}' && !${list}.exists(t, t.?key.orValue('') == '${MASTER.key}')`,
              },
            ],
            failurePolicy: 'Fail',
            reinvocationPolicy: 'Never',
            mutations: [
              {
                patchType: 'JSONPatch',
                jsonPatch: {
                  expression: `has(object.spec.template.spec.tolerations) ?
                    [JSONPatch{op: "add", path: "/spec/template/spec/tolerations/-", value: ${value}}] :
                    [JSONPatch{op: "add", path: "/spec/template/spec/tolerations", value: [${value}]}]`,
                },
              },
            ],
          },
        };
        await succeeded(cp().request(admin, 'POST', `${api}/mutatingadmissionpolicies`, { body }));
        const binding = { ...body, kind: 'MutatingAdmissionPolicyBinding', spec: { policyName: metadata.name } };
        await succeeded(cp().request(admin, 'POST', `${api}/mutatingadmissionpolicybindings`, { body: binding }));
        await waitUntil(
          async () => {
            const { body } = await cp().request<DaemonSet>(
              admin,
              'PATCH',
              `${daemonSetPath(NAMESPACE, name)}?dryRun=All`,
              { body: { spec: { template: { spec: { tolerations: [] } } } }, contentType: MERGE_PATCH },
            );
            return body.spec.template.spec.tolerations?.length === 1 || undefined;
          },
          { timeoutMs: 30_000, otherwise: () => 'the policy does not add the toleration' },
        );
      }
    });
  },
);

/** Of those that follow each other and are the same, one. */
function dense(texts: readonly string[]): string[] {
  return texts.filter((text, index) => text !== texts[index - 1]);
}

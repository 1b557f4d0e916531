import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INSTALL } from '../../scripts/chart.ts';
import type { PolicyKind } from '../../src/policy/policy.ts';
import type { PolicyStatus } from '../../src/policy/reporting/policy-status.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer, node } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { patchNode, waitForTaints } from './drift.ts';
import { guideCommands } from './guide-commands.ts';
import { type Installation, install } from './installation.ts';
import { attempt, getNode, kubectl, path, RELEASE, taintsOf } from './nodes.ts';
import { policyObject } from './policy-objects.ts';
import { createPolicy, POLICIES_PATH } from './policy-resources.ts';

const TIMEOUT_MS = 30_000;
/** The garbage collector looks every 30 s whether there are new kinds of owners. */
const COLLECTED_TIMEOUT_MS = 60_000;
const TEST_TIMEOUT_MS = 120_000;
/** Set once the leader has compared all nodes with the policies. */
const SWEEP = /^taintkeeper_sweep_timestamp_seconds\{controller="node-repair"\} (\S+)$/m;
const NATIVE_BINDINGS =
  'mutatingadmissionpolicybindings.admissionregistration.k8s.io,validatingadmissionpolicybindings.admissionregistration.k8s.io';
const NATIVE_POLICIES =
  'mutatingadmissionpolicies.admissionregistration.k8s.io,validatingadmissionpolicies.admissionregistration.k8s.io';
const FLANNEL = readFileSync(new URL('../../demo/kube-flannel.yaml', import.meta.url), 'utf8');
const STORAGE = { key: 'storage', effect: 'NoSchedule' };
const GPU = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };

const POLICIES = [
  policyObject('TaintPolicy', 'storage', {
    mode: 'Deny',
    nodeSelector: { matchLabels: { pool: 'storage' } },
    taints: [{ key: 'storage' }],
    // What refuses without taintkeeper is the native policy, and nothing else.
    failurePolicy: 'Ignore',
    backstop: 'Native',
  }),
  policyObject('TaintPolicy', 'gpu', {
    mode: 'Restore',
    nodeSelector: { matchLabels: { pool: 'gpu' } },
    taints: [{ ...GPU, ensure: 'Always' }],
    backstop: 'Native',
  }),
  policyObject('TaintPolicy', 'reserved', {
    mode: 'Restore',
    nodeSelector: { matchLabels: { pool: 'reserved' } },
    taints: [{ key: 'reserved', effect: 'NoSchedule', ensure: 'Always' }],
    backstop: 'Native',
  }),
  policyObject('TolerationPolicy', 'flannel', {
    mode: 'Mutate',
    daemonSets: { namespaces: ['kube-flannel'] },
    tolerations: [{ key: 'dedicated', operator: 'Exists' }],
    backstop: 'Native',
  }),
];

describeWithControlPlane('native policies under the webhook', { components: ['kube-controller-manager'] }, (cp) => {
  let installation: Installation;
  const startLeader = (name: string) => installation.start([name], { args: ['--owner-cluster-role', 'taintkeeper'] });

  beforeAll(async () => {
    installation = await install(cp(), ['nativePolicies']);
    await startLeader('a');
    for (const policy of POLICIES) expect((await createPolicy(cp(), policy)).status).toBe(201);
    await register('storage-1', 'storage', [STORAGE]);
    await register('storage-2', 'storage', [STORAGE]);
    await register('gpu-1', 'gpu', [GPU]);
    await cp().kubectl(['create', 'namespace', 'kube-flannel']);
  });
  afterAll(() => installation.stop());

  async function register(name: string, pool: string, taints: object[]): Promise<void> {
    const body = { metadata: { name, labels: { pool } }, spec: { taints } };
    expect((await cp().request(node(name), 'POST', '/api/v1/nodes', { body })).status).toBe(201);
  }

  const removal = (name: string) =>
    attempt(cp(), developer, 'PATCH', path(name), { spec: { taints: null } }, MERGE_PATCH);
  const entriesOf = async (name: string) => (await getNode(cp(), name)).metadata.annotations?.[RELEASE];

  /** Their names, as `RESOURCE/NAME`. */
  async function objects(resources: string): Promise<string[]> {
    const { stdout } = await cp().kubectl(['get', resources, '-o', 'name']);
    return stdout.trim().split('\n').filter(Boolean);
  }

  /** Creates Flannel's DaemonSet under a name, and gives the keys of what its pods tolerate. */
  async function createFlannel(name: string): Promise<(string | undefined)[]> {
    const created = await kubectl(cp(), admin, ['apply', '-f', '-'], FLANNEL.replaceAll('kube-flannel-ds', name));
    expect(created).toMatchObject({ passed: true });
    const url = `/apis/apps/v1/namespaces/kube-flannel/daemonsets/${name}`;
    const { body } = await cp().request<DaemonSet>(admin, 'GET', url);
    return body.spec.template.spec.tolerations.map(({ key }) => key);
  }

  async function backstopOf(kind: PolicyKind, name: string) {
    const { body } = await cp().request<{ status?: PolicyStatus }>(admin, 'GET', `${POLICIES_PATH[kind]}/${name}`);
    return body.status?.conditions?.find(({ type }) => type === 'Backstop');
  }

  describe('while both are there', () => {
    it('they are in force, and the API server has nothing against their types', async () => {
      for (const { kind, metadata } of POLICIES) {
        let last: unknown;
        const condition = await waitUntil(
          async () => {
            const found = await backstopOf(kind, metadata.name);
            last = found;
            return found && !found.message.includes('not yet') ? found : undefined;
          },
          { timeoutMs: TIMEOUT_MS, otherwise: () => `${metadata.name}: ${JSON.stringify(last)}` },
        );
        expect(condition).toMatchObject({ status: 'True', reason: 'InForce' });
      }
    });

    it('a taint is restored once, and a native policy does so before the webhook is called, which has nothing to say then', async () => {
      // The API server takes native policies up a moment after they were written. Until then the webhook restores, and warns.
      await waitUntil(
        async () => {
          const { passed, warnings } = await removal('gpu-1');
          expect(passed).toBe(true);
          expect(await taintsOf(cp(), 'gpu-1')).toEqual(['dedicated=gpu:NoSchedule']);
          return warnings.length === 0 || undefined;
        },
        { timeoutMs: TIMEOUT_MS, otherwise: () => 'no native policy acts' },
      );
    });

    it('an update is refused once, in the words of the policy', async () => {
      await waitUntil(
        async () => {
          const { passed, error } = await removal('storage-1');
          expect(passed).toBe(false);
          expect(error.match(/removing taint storage:NoSchedule/g)).toHaveLength(1);
          return error.includes('ValidatingAdmissionPolicy') || undefined;
        },
        { timeoutMs: TIMEOUT_MS, otherwise: () => 'no native policy refuses' },
      );
    });

    it('an entry of the annotation that cannot be read keeps no taint off', async () => {
      await register('reserved-1', 'none', []);
      const metadata = { labels: { pool: 'reserved' }, annotations: { [RELEASE]: 'reserved=:::NoSchedule' } };
      expect(await patchNode(cp(), developer, 'reserved-1', { metadata })).toMatchObject({ passed: true });
      await waitForTaints(cp(), 'reserved-1', 'reserved:NoSchedule');
      expect(await entriesOf('reserved-1')).toBe('reserved=:::NoSchedule');
    });

    it('a DaemonSet gets one toleration', async () => {
      expect((await createFlannel('first')).filter((key) => key === 'dedicated')).toHaveLength(1);
    });

    it(
      'the leader restores a binding that a user changed',
      async () => {
        const binding = 'validatingadmissionpolicybinding/storage.protect.taintkeeper.dev';
        const patch = JSON.stringify({ spec: { validationActions: ['Audit'] } });
        expect(await kubectl(cp(), admin, ['patch', binding, '--type=merge', '-p', patch])).toMatchObject({
          passed: true,
        });
        const actions = async () =>
          (await cp().kubectl(['get', binding, '-o', 'jsonpath={.spec.validationActions}'])).stdout;
        await expect.poll(actions, { timeout: TIMEOUT_MS }).toBe('["Deny"]');
        const error = async () => (await removal('storage-1')).error;
        await expect.poll(error, { timeout: TIMEOUT_MS }).toContain('ValidatingAdmissionPolicy');
      },
      TEST_TIMEOUT_MS,
    );
  });

  describe('while taintkeeper is down', () => {
    beforeAll(async () => {
      await installation.replica('a').kill();
    });

    it('Deny still denies, and says the same', async () => {
      const { passed, error } = await removal('storage-1');
      expect(passed).toBe(false);
      expect(error).toContain("ValidatingAdmissionPolicy 'storage.protect.taintkeeper.dev'");
      expect(error).toContain('removing taint storage:NoSchedule');
    });

    it('a taint with an entry may be removed, and the entry stays', async () => {
      const annotate = ['annotate', 'node', 'storage-2', `${RELEASE}=storage:NoSchedule`];
      expect(await kubectl(cp(), developer, annotate)).toMatchObject({ passed: true });
      expect(await removal('storage-2')).toMatchObject({ passed: true });
      expect(await taintsOf(cp(), 'storage-2')).toEqual([]);
      expect(await entriesOf('storage-2')).toBe('storage:NoSchedule');
    });

    it('a node that a changed label puts under a policy gets its taints', async () => {
      await register('reserved-2', 'none', []);
      const metadata = { labels: { pool: 'reserved' } };
      expect(await patchNode(cp(), developer, 'reserved-2', { metadata })).toMatchObject({ passed: true });
      expect(await taintsOf(cp(), 'reserved-2')).toEqual(['reserved:NoSchedule']);
    });

    it('Restore still restores', async () => {
      expect(await removal('gpu-1')).toMatchObject({ passed: true });
      expect(await taintsOf(cp(), 'gpu-1')).toEqual(['dedicated=gpu:NoSchedule']);
    });

    it('a node that registers gets its taints', async () => {
      await register('gpu-2', 'gpu', []);
      expect(await taintsOf(cp(), 'gpu-2')).toEqual(['dedicated=gpu:NoSchedule']);
    });

    it('a required taint with an entry may be removed as well', async () => {
      const annotate = ['annotate', 'node', 'gpu-2', `${RELEASE}=dedicated=gpu:NoSchedule`];
      expect(await kubectl(cp(), developer, annotate)).toMatchObject({ passed: true });
      expect(await removal('gpu-2')).toMatchObject({ passed: true });
      expect(await taintsOf(cp(), 'gpu-2')).toEqual([]);
    });

    it('Flannel gets its toleration', async () => {
      expect((await createFlannel('second')).filter((key) => key === 'dedicated')).toHaveLength(1);
    });

    it(
      'with a policy goes what stands for it',
      async () => {
        await cp().kubectl(['delete', 'taintpolicy', 'storage']);
        const left = async () => (await objects(NATIVE_POLICIES)).filter((name) => name.includes('/storage.'));
        await expect.poll(left, { timeout: COLLECTED_TIMEOUT_MS }).toEqual([]);
        // What put it in force is left to the leader, and does nothing.
        await expect.poll(() => removal('storage-1'), { timeout: TIMEOUT_MS }).toMatchObject({ passed: true });
      },
      TEST_TIMEOUT_MS,
    );
  });

  describe('when taintkeeper is back', () => {
    beforeAll(async () => {
      await startLeader('b');
    });

    it('what is left of the deleted policy is removed', async () => {
      const left = async () => (await objects(NATIVE_BINDINGS)).filter((name) => name.includes('/storage.'));
      await expect.poll(left, { timeout: TIMEOUT_MS }).toEqual([]);
    });

    it('a required taint that was removed with an entry meanwhile stays off', async () => {
      const checked = async () => Number(SWEEP.exec(await installation.replica('b').metrics())?.[1] ?? 0);
      await expect.poll(checked, { timeout: TIMEOUT_MS }).toBeGreaterThan(0);
      expect(await taintsOf(cp(), 'gpu-2')).toEqual([]);
      expect(await entriesOf('gpu-2')).toBe('dedicated=gpu:NoSchedule');
    });
  });

  it(
    'uninstalled, it leaves nothing in force, and then nothing at all',
    async () => {
      const [first = '', second = ''] = guideCommands('uninstall.md', 'Uninstall').map(({ command }) =>
        command.replace(/^kubectl /, '').replace('manifests/install.yaml', INSTALL),
      );
      // The manifest brings another one, which protects an annotation of nodes and is in force until the manifest is deleted.
      const ofLeader = async () => (await objects(NATIVE_BINDINGS)).filter((name) => name.endsWith('.taintkeeper.dev'));
      expect(await ofLeader()).not.toEqual([]);
      expect(await kubectl(cp(), admin, first.split(' '))).toMatchObject({ passed: true });
      await expect.poll(ofLeader, { timeout: TIMEOUT_MS }).toEqual([]);
      const denials = async () => {
        await removal('gpu-1');
        return taintsOf(cp(), 'gpu-1');
      };
      await expect.poll(denials, { timeout: TIMEOUT_MS }).toEqual([]);
      expect(await kubectl(cp(), admin, [...second.split(' '), '--wait=false'])).toMatchObject({ passed: true });
      const natives = () => objects(`${NATIVE_POLICIES},${NATIVE_BINDINGS}`);
      await expect.poll(natives, { timeout: COLLECTED_TIMEOUT_MS }).toEqual([]);
    },
    TEST_TIMEOUT_MS,
  );
});

interface DaemonSet {
  readonly spec: { readonly template: { readonly spec: { readonly tolerations: { readonly key?: string }[] } } };
}

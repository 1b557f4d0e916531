import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PolicyStatus } from '../../src/policy/reporting/policy-status.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { defineNodePools, obstacleToKarpenter, startKarpenter, stopKarpenter } from '../control-plane/karpenter.ts';
import { WITH_KUBELET } from '../control-plane/kubelets/with-kubelet.ts';
import { lastLines, type Supervised } from '../control-plane/process.ts';
import { NAMESPACE } from '../control-plane/replicas.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { skipFor } from '../skip-for.ts';
import { createTaintPolicy, waitForEvent, waitForStatus } from './drift.ts';
import { type Installation, install } from './installation.ts';
import { attempt } from './nodes.ts';
import { pasteRemedy } from './paste-remedy.ts';
import { runTaintkeeper } from './run-taintkeeper.ts';

const GPU = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const COMPONENTS = ['kube-controller-manager', 'kube-scheduler', 'kubelets'] as const;
const NODE_CLAIMS = '/apis/karpenter.sh/v1/nodeclaims';
const PODS = '/api/v1/namespaces/default/pods';
const WATCHED_MS = 25_000;
const TIMEOUT_MS = 60_000;

/** Its nodes are the policy's, and nothing of it says that they come with a taint. No node is taken away for being empty. */
const NODE_POOL = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'gpu' },
  spec: {
    template: {
      metadata: { labels: { pool: 'gpu' }, annotations: WITH_KUBELET },
      spec: {
        nodeClassRef: { group: 'karpenter.kwok.sh', kind: 'KWOKNodeClass', name: 'default' },
        requirements: [
          { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] },
          { key: 'kubernetes.io/os', operator: 'In', values: ['linux'] },
        ],
      },
    },
    disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' },
  },
};

/** Its nodes register with the taint of a CSI driver, by the configuration of their kubelet for example, and the NodePool does not know it. */
const CSI = { key: 'ebs.csi.aws.com/agent-not-ready', effect: 'NoExecute' };
const CSI_TEXT = `${CSI.key}:${CSI.effect}`;
const CSI_POOL = {
  ...NODE_POOL,
  metadata: { name: 'csi' },
  spec: {
    ...NODE_POOL.spec,
    template: { ...NODE_POOL.spec.template, metadata: { labels: { pool: 'csi' }, annotations: WITH_KUBELET } },
  },
};
const CSI_DRIVER = [
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingAdmissionPolicy',
    metadata: { name: 'csi' },
    spec: {
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nodes'] }],
      },
      matchConditions: [
        { name: 'pool', expression: "object.?metadata.?labels['pool'].orValue('') == 'csi'" },
        { name: 'new', expression: `!object.spec.taints.exists(taint, taint.key == '${CSI.key}')` },
      ],
      failurePolicy: 'Fail',
      reinvocationPolicy: 'Never',
      mutations: [
        {
          patchType: 'JSONPatch',
          jsonPatch: {
            expression: `[JSONPatch{op: "add", path: "/spec/taints/-", value: Object.spec.taints{key: "${CSI.key}", effect: "${CSI.effect}"}}]`,
          },
        },
      ],
    },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingAdmissionPolicyBinding',
    metadata: { name: 'csi' },
    spec: { policyName: 'csi' },
  },
];
const NODE_CLASS = { apiVersion: 'karpenter.kwok.sh/v1alpha1', kind: 'KWOKNodeClass', metadata: { name: 'default' } };

const lackOf = ({ conditions = [] }: PolicyStatus) =>
  conditions.find(({ type, reason }) => type === 'Ready' && reason === 'PoolLacksTaint');

describe('Karpenter', skipFor(obstacleToKarpenter()), () => {
  describeWithControlPlane(
    'and a required taint that its NodePool does not declare',
    { components: COMPONENTS },
    (cp) => {
      let installation: Installation;
      let karpenter: Supervised | undefined;
      const figures: string[] = [];

      beforeAll(async () => {
        installation = await install(cp(), ['listNodePools', 'listPods']);
        await defineNodePools(cp());
        await apply(NODE_CLASS, NODE_POOL);
        await installation.start(['a']);
        // A process stands in for its pods, and Karpenter would start nodes for them.
        const none = ['scale', '--namespace', NAMESPACE, 'deployment/taintkeeper', '--replicas=0'];
        expect(await cp().kubectl(none)).toMatchObject({ code: 0 });
        await waitFor('without pods', async () => {
          const { stdout } = await cp().kubectl(['get', 'pods', '--all-namespaces', '--output=name']);
          return stdout === '';
        });
      });
      afterAll(async () => {
        await stopKarpenter(karpenter);
        await installation?.stop();
        process.stderr.write(`${figures.join('\n')}\n`);
      });

      async function apply(...objects: object[]): Promise<void> {
        const input = objects.map((object) => JSON.stringify(object)).join('\n---\n');
        expect(await cp().kubectl(['apply', '-f', '-'], { input })).toMatchObject({ code: 0 });
      }

      const nodeClaims = async () =>
        (await cp().request<{ items: object[] }>(admin, 'GET', NODE_CLAIMS)).body.items.length;

      async function createPod(name: string, more: object = {}): Promise<void> {
        const container = { name: 'c', image: 'c', resources: { requests: { cpu: '500m' } } };
        const body = { metadata: { name }, spec: { containers: [container], nodeSelector: { pool: 'gpu' }, ...more } };
        expect((await attempt(cp(), admin, 'POST', PODS, body)).error).toBe('');
      }

      const phaseOf = async (pod: string) =>
        (await cp().request<{ status?: { phase?: string } }>(admin, 'GET', `${PODS}/${pod}`)).body.status?.phase;

      const waitFor = (what: string, isSo: () => Promise<boolean>) =>
        waitUntil(async () => (await isSo()) || undefined, {
          timeoutMs: TIMEOUT_MS,
          otherwise: () => `not ${what}: ${lastLines(karpenter?.log() ?? '', 20)}`,
        });

      /** Removes all pods and machines. A pod of the DaemonSet that came to a machine as it went has no kubelet that would end it. */
      async function clear(): Promise<void> {
        for (const args of [['pods', '--grace-period=0', '--force'], ['nodeclaims']]) {
          const { code, stdout, stderr } = await cp().kubectl(['delete', ...args, '--all', '--timeout=25s']);
          expect(code, stdout + stderr).toBe(0);
        }
        await waitFor('empty', async () => (await nodeClaims()) === 0);
      }

      it('is not there without the policy: one pod is one machine', async () => {
        karpenter = await startKarpenter(cp());
        await createPod('first');
        await waitFor('running', async () => (await phaseOf('first')) === 'Running');
        await delay(WATCHED_MS);
        expect(await nodeClaims()).toBe(1);
        await clear();
      });

      it('is told in the status of the policy and in an Event, before there is any node', async () => {
        const started = performance.now();
        await createTaintPolicy(cp(), 'gpu', { taints: [{ ...GPU, ensure: 'Always' }] });
        const status = await waitForStatus(cp(), 'gpu', (one) => lackOf(one) !== undefined);
        figures.push(`told ${Math.round(performance.now() - started)} ms after the policy was created`);
        expect(lackOf(status)).toMatchObject({ status: 'True' });
        expect(lackOf(status)?.message).toContain('NodePool gpu does not declare taint dedicated=gpu:NoSchedule');
        expect((await waitForEvent(cp(), 'gpu', 'PoolLacksTaint')).note).toContain(
          'kubectl patch nodepools.karpenter.sh gpu',
        );
      });

      it('is a problem for doctor, which prints the same command', async () => {
        const { stdout } = await runTaintkeeper(cp(), ['doctor', '--output', 'json']);
        const { checks } = JSON.parse(stdout) as { checks: { name: string; state: string; remedy?: string }[] };
        expect(checks.filter(({ name }) => name === 'node pools')).toMatchObject([
          {
            state: 'problem',
            remedy: expect.stringMatching(/: kubectl patch nodepools.karpenter.sh gpu --type=json -p '/),
          },
        ]);
      });

      it('has Karpenter start one node after the other for one pod, which runs on none', async () => {
        await createPod('unaware');
        await waitFor('a third machine', async () => (await nodeClaims()) >= 3);
        const begun = performance.now();
        const before = await nodeClaims();
        await delay(WATCHED_MS);
        const after = await nodeClaims();
        figures.push(
          `one pod: ${after} NodeClaims, the last ${after - before} of them in ${Math.round((performance.now() - begun) / 1000)} s`,
        );
        expect(after).toBeGreaterThan(3);
        expect(await phaseOf('unaware')).toBe('Pending');
      });

      it('is declared by the command that is printed, and the condition goes', async () => {
        await clear();
        const message = lackOf(await waitForStatus(cp(), 'gpu', (one) => lackOf(one) !== undefined))?.message;
        const started = performance.now();
        await pasteRemedy(cp(), message);
        await waitForStatus(cp(), 'gpu', (one) => lackOf(one) === undefined);
        figures.push(`the condition went ${Math.round(performance.now() - started)} ms after the command`);
      });

      it('then costs one machine for a pod that tolerates it, and none for one that does not', async () => {
        await createPod('unaware');
        await createPod('aware', {
          tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'gpu', effect: 'NoSchedule' }],
        });
        await waitFor('running', async () => (await phaseOf('aware')) === 'Running');
        await delay(WATCHED_MS);
        expect(await nodeClaims()).toBe(1);
        expect(await phaseOf('unaware')).toBe('Pending');
      });

      it('until DaemonSets are ready belongs in startupTaints, and the command puts it there', async () => {
        await clear();
        expect(await cp().kubectl(['delete', 'taintpolicy', 'gpu'])).toMatchObject({ code: 0 });
        const bare = [
          'patch',
          'nodepool',
          'gpu',
          '--type=json',
          '-p',
          '[{"op":"remove","path":"/spec/template/spec/taints"}]',
        ];
        expect(await cp().kubectl(bare)).toMatchObject({ code: 0 });
        const labels = { app: 'network' };
        const spec = {
          containers: [{ name: 'c', image: 'c' }],
          nodeSelector: { pool: 'gpu' },
          tolerations: [{ operator: 'Exists' }],
        };
        await apply({
          apiVersion: 'apps/v1',
          kind: 'DaemonSet',
          metadata: { name: 'network', namespace: 'default' },
          spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
        });
        const readyWhen = { daemonSets: [{ namespace: 'default', name: 'network' }] };
        const taints = [{ key: 'example.com/network', effect: 'NoSchedule', ensure: 'UntilReady', readyWhen }];
        await createTaintPolicy(cp(), 'gpu', { taints });
        const message = lackOf(await waitForStatus(cp(), 'gpu', (one) => lackOf(one) !== undefined))?.message;
        expect(message).toContain(
          'NodePool gpu does not declare in startupTaints taint example.com/network:NoSchedule',
        );
        await pasteRemedy(cp(), message);
        await waitForStatus(cp(), 'gpu', (one) => lackOf(one) === undefined);
      });

      it('then costs one machine for a pod that does not tolerate it', async () => {
        await createPod('plain');
        await waitFor('running', async () => (await phaseOf('plain')) === 'Running');
        await delay(WATCHED_MS);
        expect(await nodeClaims()).toBe(1);
        const { stdout } = await cp().kubectl([
          'get',
          'events',
          '--all-namespaces',
          '--output=jsonpath={.items[*].reason}',
        ]);
        expect(stdout).toContain('StartupTaintRemoved');
      });

      it('at registration only belongs in taints, and one that an agent removes into startupTaints', async () => {
        await clear();
        expect(await cp().kubectl(['delete', 'taintpolicy', 'gpu'])).toMatchObject({ code: 0 });
        await apply(CSI_POOL);
        const nodeSelector = { matchLabels: { pool: 'csi' } };
        const preparing = { key: 'example.com/preparing', effect: 'NoSchedule', ensure: 'AtRegistration' };
        const taints = [preparing, { ...CSI, ensure: 'AtRegistration' }];
        await createTaintPolicy(cp(), 'new', { nodeSelector, taints });
        const message = lackOf(await waitForStatus(cp(), 'new', (one) => lackOf(one) !== undefined))?.message;
        expect(message).toContain('NodePool csi does not declare taint example.com/preparing:NoSchedule');
        expect(message).toContain(`It does not declare in startupTaints taint ${CSI_TEXT}`);
        expect(await cp().kubectl(['delete', 'taintpolicy', 'new'])).toMatchObject({ code: 0 });
      });

      it('at startup that no policy requires costs one machine after the other, and is told on the NodePool', async () => {
        await apply(...CSI_DRIVER);
        const probe = { metadata: { name: 'probe', labels: { pool: 'csi' } }, spec: { taints: [GPU] } };
        await waitFor('set by the driver', async () => {
          const path = '/api/v1/nodes?dryRun=All';
          const { body } = await cp().request<{ spec: { taints: object[] } }>(admin, 'POST', path, { body: probe });
          return body.spec.taints.length === 2;
        });
        await createPod('stateful', { nodeSelector: { pool: 'csi' } });
        const event = await waitForEvent(cp(), 'csi', 'PoolLacksTaint');
        expect(event.note).toContain(`NodePool csi does not declare in startupTaints taint ${CSI_TEXT}, which node `);
        const { stdout } = await runTaintkeeper(cp(), ['doctor', '--output', 'json']);
        const { checks } = JSON.parse(stdout) as { checks: { name: string; state: string; remedy?: string }[] };
        const [remedy] = checks.flatMap((one) =>
          one.state === 'problem' && one.remedy?.includes('nodepools.karpenter.sh csi') ? [one.remedy] : [],
        );
        expect(remedy).toBeDefined();
        expect(event.note.endsWith(remedy ?? '?')).toBe(true);
        await waitFor('a third machine', async () => (await nodeClaims()) >= 3);
        expect(await phaseOf('stateful')).toBe('Pending');

        await clear();
        await pasteRemedy(cp(), event.note);
      });

      it('then costs one machine for a pod, which runs once the driver has removed the taint', async () => {
        await createPod('stateful', { nodeSelector: { pool: 'csi' } });
        await waitFor('a machine', async () => (await nodeClaims()) > 0);
        await delay(WATCHED_MS);
        expect(await nodeClaims()).toBe(1);
        expect(await phaseOf('stateful')).toBe('Pending');
        const removed = await cp().kubectl(['taint', 'nodes', '--selector=pool=csi', `${CSI_TEXT}-`]);
        expect(removed).toMatchObject({ code: 0 });
        await waitFor('running', async () => (await phaseOf('stateful')) === 'Running');
        expect(await nodeClaims()).toBe(1);
      });
    },
  );
});

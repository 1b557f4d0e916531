import { readdirSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { PolicyStatus } from '../../src/policy/reporting/policy-status.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, node } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { setReady } from './daemon-sets.ts';
import { createTaintPolicy, patchNode, waitForEvent, waitForStatus, waitForTaints } from './drift.ts';
import { type Installation, install, leaderOf } from './installation.ts';
import { watchNodeVersions } from './node-versions.ts';
import { type Attempt, allTaintsOf, attempt, path, taintsOf } from './nodes.ts';
import { policyObject } from './policy-objects.ts';
import { POLICIES_PATH } from './policy-resources.ts';
import { runAs } from './run-taintkeeper.ts';

const TAINT = { key: 'example.com/network', effect: 'NoSchedule' };
const TEXT = 'example.com/network:NoSchedule';
const NOT_READY = 'node.kubernetes.io/not-ready:NoSchedule';
const TIMEOUT_MS = 40_000;
const NAMESPACE = 'kube-system';
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1';

interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName?: string };
}

describeWithControlPlane(
  'a taint with ensure: UntilReady',
  { components: ['kube-controller-manager', 'kube-scheduler'], nodeMonitorGraceSeconds: 600 },
  (cp) => {
    let installation: Installation;

    beforeAll(async () => {
      installation = await install(cp(), ['listPods']);
      await installation.start(['a', 'b']);
      await createDaemonSet('network', 'ready');
      await createTaintPolicy(cp(), 'ready', { taints: [rule('network')] });
      await register('probe', 'ready', `TaintPolicy ready added taint ${TEXT}`);
      await cp().request(admin, 'DELETE', path('probe'));
    });
    afterAll(() => installation?.stop());

    const rule = (daemonSet: string, more: object = {}, key = TAINT.key) => ({
      key,
      effect: 'NoSchedule',
      ensure: 'UntilReady',
      readyWhen: { daemonSets: [{ namespace: NAMESPACE, name: daemonSet }], ...more },
    });

    async function create(url: string, body: object) {
      expect((await attempt(cp(), admin, 'POST', url, body)).error).toBe('');
    }

    const podSpec = (pool: string, more: object = {}) => ({
      containers: [{ name: 'c', image: 'c' }],
      nodeSelector: { pool },
      terminationGracePeriodSeconds: 0,
      ...more,
    });

    const createDaemonSet = (name: string, pool: string) =>
      create(`/apis/apps/v1/namespaces/${NAMESPACE}/daemonsets`, {
        metadata: { name },
        spec: {
          selector: { matchLabels: { app: name } },
          template: {
            metadata: { labels: { app: name } },
            spec: podSpec(pool, { tolerations: [{ operator: 'Exists' }] }),
          },
        },
      });

    /** As a kubelet does, until the answer has that warning: the webhook may not be registered yet. */
    async function register(name: string, pool: string, warning?: string): Promise<void> {
      let last: Attempt | undefined;
      await waitUntil(
        async () => {
          await cp().request(admin, 'DELETE', path(name));
          last = await attempt(cp(), node(name), 'POST', '/api/v1/nodes', { metadata: { name, labels: { pool } } });
          return (last.passed && (warning === undefined || last.warnings.includes(warning))) || undefined;
        },
        { timeoutMs: 60_000, otherwise: () => `the node registered with ${JSON.stringify(last)}` },
      );
    }

    async function podsOf(app: string): Promise<Pod[]> {
      const { body } = await cp().request<{ items: Pod[] }>(admin, 'GET', `${PODS}?labelSelector=app=${app}`);
      return body.items.filter(({ metadata }) => !metadata.deletionTimestamp);
    }

    const waitForPod = (app: string, on: string, otherThan?: string) =>
      waitUntil(
        async () =>
          (await podsOf(app)).find(({ spec, metadata }) => spec.nodeName === on && metadata.uid !== otherThan),
        { timeoutMs: TIMEOUT_MS, otherwise: () => `there is no pod of ${app} on ${on}` },
      );

    async function setPodReady({ metadata: { name } }: Pod, ready: 'True' | 'False' = 'True') {
      const { status } = await cp().request(admin, 'PATCH', `${PODS}/${name}/status`, {
        body: { status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready }] } },
        contentType: MERGE_PATCH,
      });
      expect(status).toBe(200);
    }

    let later = 0;

    /** The leader has come to all earlier nodes once it has removed the taint of a node that registered later. */
    async function leaderCaughtUp(): Promise<void> {
      const name = `later-${++later}`;
      await register(name, 'ready', `TaintPolicy ready added taint ${TEXT}`);
      await setReady(cp(), name);
      await setPodReady(await waitForPod('network', name));
      await waitForTaints(cp(), name);
    }

    async function taintkeeper(...args: string[]): Promise<string> {
      return (await runAs(admin, cp(), args)).stdout;
    }

    let restarts = 0;

    /** And starts another replica in its place. */
    async function killLeader(): Promise<void> {
      await installation.kill(await leaderOf(cp()));
      await installation.start([`k${++restarts}`]);
    }

    const stalledOf = ({ conditions = [] }: PolicyStatus) => conditions.find(({ type }) => type === 'Stalled');

    it('keeps pods off until the pod of the DaemonSet is Ready', async () => {
      await register('n1', 'ready');
      expect(await taintsOf(cp(), 'n1')).toEqual([TEXT]);
      await create(`/apis/apps/v1/namespaces/${NAMESPACE}/deployments`, {
        metadata: { name: 'workload' },
        spec: {
          replicas: 1,
          selector: { matchLabels: { app: 'workload' } },
          template: { metadata: { labels: { app: 'workload' } }, spec: podSpec('ready') },
        },
      });
      await setReady(cp(), 'n1');
      const daemon = await waitForPod('network', 'n1');
      await setPodReady(daemon, 'False');
      expect(await taintkeeper('explain', 'node', 'n1')).toContain(
        `startup taint ${TEXT} waits for DaemonSet kube-system/network: its pod is not Ready`,
      );
      expect((await podsOf('workload')).map(({ spec }) => spec.nodeName)).toEqual([undefined]);

      await setPodReady(daemon);
      await waitForTaints(cp(), 'n1');
      expect((await waitForEvent(cp(), 'n1', 'StartupTaintRemoved')).note).toBe(
        `removed startup taint ${TEXT}: DaemonSet kube-system/network is ready`,
      );
      await waitForPod('workload', 'n1');
    });

    it('is removed again when another writer brings it back, also by the next leader', async () => {
      expect(await patchNode(cp(), admin, 'n1', { spec: { taints: [TAINT] } })).toMatchObject({ passed: true });
      await waitForTaints(cp(), 'n1');
      await installation.kill();
      expect(await patchNode(cp(), admin, 'n1', { spec: { taints: [TAINT] } })).toMatchObject({ passed: true });
      await installation.start(['c', 'd']);
      await waitForTaints(cp(), 'n1');
    });

    it('is not set again on a node that stops being Ready while the DaemonSet is ready there', async () => {
      await setReady(cp(), 'n1', 'False');
      await expect.poll(() => allTaintsOf(cp(), 'n1'), { timeout: TIMEOUT_MS }).toContain(NOT_READY);
      await leaderCaughtUp();
      expect(await taintsOf(cp(), 'n1')).toEqual([]);
      await setReady(cp(), 'n1');
    });

    it('does not count a pod that is older than the Node', async () => {
      const pod = await waitForPod('network', 'n1');
      await cp().request(admin, 'DELETE', path('n1'));
      await register('n1', 'ready', `TaintPolicy ready added taint ${TEXT}`);
      await setReady(cp(), 'n1');
      await leaderCaughtUp();
      expect(await taintsOf(cp(), 'n1')).toEqual([TEXT]);
      await cp().request(admin, 'DELETE', `${PODS}/${pod.metadata.name}`);
      await setPodReady(await waitForPod('network', 'n1', pod.metadata.uid));
      await waitForTaints(cp(), 'n1');
    });

    it('is set late while a node is not ready, and not otherwise', async () => {
      await installation.kill();
      await register('late', 'ready');
      // As kubelets report it: the node lifecycle controller removes not-ready from a node without the condition Ready.
      await setReady(cp(), 'late', 'False');
      await register('missed', 'ready');
      await setReady(cp(), 'missed');
      await waitUntil(async () => (await allTaintsOf(cp(), 'missed')).length === 0 || undefined, {
        timeoutMs: TIMEOUT_MS,
        otherwise: () => 'the node is not ready',
      });
      await waitUntil(async () => (await allTaintsOf(cp(), 'late')).includes(NOT_READY) || undefined, {
        timeoutMs: TIMEOUT_MS,
        otherwise: () => 'the node is not marked as not ready',
      });
      expect(await taintsOf(cp(), 'late')).toEqual([]);
      await installation.start(['e', 'f']);

      await waitForTaints(cp(), 'late', TEXT);
      await waitForEvent(cp(), 'late', 'TaintAdded');
      await setPodReady(await waitForPod('network', 'late'));
      await waitForTaints(cp(), 'late');
      await leaderCaughtUp();
      expect(await taintsOf(cp(), 'missed')).toEqual([]);
    });

    it.each([
      { step: 'while the node waits', afterReady: false, isThere: async () => true },
      { step: 'when the pod becomes Ready', afterReady: true, isThere: async () => true },
      {
        step: 'after the removal',
        afterReady: true,
        isThere: async (name: string) => !(await taintsOf(cp(), name)).includes(TEXT),
      },
    ])('is removed once, and not too early, if the leader is killed $step', async ({ step, isThere, afterReady }) => {
      const name = `killed-${step.replaceAll(' ', '-')}`.toLowerCase();
      const nodes = await watchNodeVersions(cp());
      try {
        await register(name, 'ready', `TaintPolicy ready added taint ${TEXT}`);
        await setReady(cp(), name);
        const daemon = await waitForPod('network', name);
        if (afterReady) await setPodReady(daemon);
        await waitUntil(async () => (await isThere(name)) || undefined, {
          timeoutMs: TIMEOUT_MS,
          otherwise: () => `${name} did not come ${step}`,
        });
        await killLeader();
        if (!afterReady) {
          await leaderCaughtUp();
          expect(await taintsOf(cp(), name)).toEqual([TEXT]);
          await setPodReady(daemon);
        }
        await waitForTaints(cp(), name);
        await setReady(cp(), name, 'False');
        await leaderCaughtUp();
        await nodes.caughtUp();
        const had = nodes.of(name).map(({ taints }) => taints.includes(TEXT));
        expect(had.filter((has, index) => has !== had[index - 1])).toEqual([true, false]);
      } finally {
        await nodes.stop();
      }
    });

    it('that another policy protects stays, which kubectl apply and both policies report', async () => {
      const protecting = policyObject('TaintPolicy', 'protecting', {
        mode: 'Restore',
        taints: [{ ...TAINT }],
      });
      const apply = (object: object, ...args: string[]) =>
        cp().kubectl(['apply', '-f', '-', ...args], { input: JSON.stringify(object) });
      await expect
        .poll(async () => (await apply(protecting, '--dry-run=server')).stderr, {
          timeout: TIMEOUT_MS,
          interval: 1_000,
        })
        .toContain(`Warning: spec.taints[0] protects startup taint ${TEXT} of TaintPolicy ready, which stays\n`);
      expect((await apply(protecting)).code).toBe(0);
      const conflict =
        `spec.taints[0] of TaintPolicy protecting protects startup taint ${TEXT} ` +
        '(spec.taints[0] of TaintPolicy ready), so the taint stays: remove the key from spec.taints[0]';
      const own =
        `the pods of taintkeeper do not tolerate taint ${TEXT} (spec.taints[0]): in a cluster with only new nodes, ` +
        'taintkeeper could not run to remove it. Add the toleration to its Deployment';
      const stalledBy = (name: string, message: string) =>
        waitForStatus(cp(), name, (one) => stalledOf(one)?.message === message);
      await stalledBy('protecting', conflict);
      await stalledBy('ready', `${own}; ${conflict}`);
      const waiting = policyObject('TaintPolicy', 'other', { mode: 'Restore', taints: [rule('nowhere')] });
      expect((await apply(waiting, '--dry-run=server')).stderr).toBe(
        `Warning: DaemonSet kube-system/nowhere does not exist: new nodes wait with taint ${TEXT}\n` +
          `Warning: the pods of taintkeeper do not tolerate taint ${TEXT}\n` +
          `Warning: TaintPolicy protecting (spec.taints[0]) protects startup taint ${TEXT}, which stays\n`,
      );
      await register('conflict', 'ready', `TaintPolicy ready added taint ${TEXT}`);
      await setReady(cp(), 'conflict');
      await setPodReady(await waitForPod('network', 'conflict'));
      expect(await taintsOf(cp(), 'conflict')).toEqual([TEXT]);
      await cp().request(admin, 'DELETE', `${POLICIES_PATH.TaintPolicy}/protecting`);
      await stalledBy('ready', own);
      await waitForTaints(cp(), 'conflict');
    });

    const OTHER_TEXT = 'example.com/other:NoSchedule';

    it('that waits for a DaemonSet that does not exist is reported', async () => {
      const taints = [rule('nowhere', { progressDeadlineSeconds: 1 }, 'example.com/other')];
      await createTaintPolicy(cp(), 'nowhere', { taints });
      await register('n3', 'nowhere', `TaintPolicy nowhere added taint ${OTHER_TEXT}`);
      const status = await waitForStatus(cp(), 'nowhere', (one) => stalledOf(one)?.reason === 'DaemonSetNotFound');
      expect(stalledOf(status)?.message).toContain('DaemonSet kube-system/nowhere does not exist');
      expect((await waitForEvent(cp(), 'n3', 'StartupTaintRemains')).note).toBe(
        `startup taint ${OTHER_TEXT} waits for DaemonSet kube-system/nowhere: it does not exist; the progress deadline of 1 s has passed`,
      );
      const overdue = `the progress deadline of startup taints has passed: on node n3, startup taint ${OTHER_TEXT} waits for DaemonSet kube-system/nowhere: it does not exist`;
      await waitForStatus(cp(), 'nowhere', (one) => stalledOf(one)?.message.endsWith(`; ${overdue}`) ?? false);
      await deletePolicy('nowhere');
    });

    const deletePolicy = (name: string) => cp().request(admin, 'DELETE', `${POLICIES_PATH.TaintPolicy}/${name}`);

    /** Registers a node with a startup taint of a policy of the same name, and waits until the leader reports that the node still waits. */
    async function registerOverdue(name: string): Promise<void> {
      const taints = [rule('nowhere', { progressDeadlineSeconds: 1 }, 'example.com/other')];
      await createTaintPolicy(cp(), name, { taints });
      await register(name, name, `TaintPolicy ${name} added taint ${OTHER_TEXT}`);
      await waitForEvent(cp(), name, 'StartupTaintRemains');
    }

    it('is removed ten seconds after a label change if its policy no longer selects the node, while the same leader runs', async () => {
      await registerOverdue('relabelled');
      const relabelledAt = performance.now();
      const change = { metadata: { labels: { pool: 'elsewhere' } } };
      expect(await patchNode(cp(), admin, 'relabelled', change)).toMatchObject({ passed: true });
      await waitForTaints(cp(), 'relabelled');
      expect(performance.now() - relabelledAt).toBeGreaterThan(10_000);
      await deletePolicy('relabelled');
    });

    it('is removed ten seconds after the deletion of its policy, while the same leader runs', async () => {
      await registerOverdue('abandoned');
      const deletedAt = performance.now();
      await deletePolicy('abandoned');
      await waitForTaints(cp(), 'abandoned');
      expect(performance.now() - deletedAt).toBeGreaterThan(10_000);
      expect((await waitForEvent(cp(), 'abandoned', 'StartupTaintRemoved')).note).toBe(
        `removed startup taint ${OTHER_TEXT}: no policy has it on the node any more`,
      );
    });

    it('that waits for a DaemonSet that selects no node of the policy is reported before a node waits', async () => {
      await register('old', 'old');
      await setReady(cp(), 'old');
      // Older than the progress deadline.
      await setTimeout(2_000);
      await createTaintPolicy(cp(), 'old', {
        taints: [rule('network', { progressDeadlineSeconds: 1 }, 'example.com/old')],
      });
      const told =
        "DaemonSet kube-system/network selects none of the policy's nodes: new nodes with the same labels wait with taint example.com/old:NoSchedule";
      await waitForStatus(cp(), 'old', (one) => stalledOf(one)?.message.includes(told) ?? false);
      expect(await taintsOf(cp(), 'old')).toEqual([]);
      await cp().request(admin, 'DELETE', `${POLICIES_PATH.TaintPolicy}/old`);
    });

    it('of a policy that is deleted while taintkeeper is down stays: the next leader does not know the taint', async () => {
      await createTaintPolicy(cp(), 'nowhere', { taints: [rule('nowhere', {}, 'example.com/other')] });
      await register('n5', 'nowhere', `TaintPolicy nowhere added taint ${OTHER_TEXT}`);
      await installation.kill();
      await cp().request(admin, 'DELETE', `${POLICIES_PATH.TaintPolicy}/nowhere`);
      await installation.start(['g']);
      await leaderCaughtUp();
      expect(await taintsOf(cp(), 'n5')).toEqual([OTHER_TEXT]);
    });

    it('is removed by a leader with --audit once the node is ready, and is set on no node', async () => {
      await register('n7', 'ready', `TaintPolicy ready added taint ${TEXT}`);
      await setReady(cp(), 'n7');
      const daemon = await waitForPod('network', 'n7');
      await setPodReady(daemon, 'False');
      await installation.kill();
      await installation.start(['audit'], { args: ['--audit'] });
      expect(await taintkeeper('explain', 'node', 'n7')).toContain(
        `startup taint ${TEXT} waits for DaemonSet kube-system/network: its pod is not Ready`,
      );
      await register('n8', 'ready', `TaintPolicy ready would add taint ${TEXT} (--audit)`);
      await setReady(cp(), 'n8', 'False');
      await setPodReady(await waitForPod('network', 'n8'), 'False');
      await expect.poll(() => allTaintsOf(cp(), 'n8'), { timeout: TIMEOUT_MS }).toContain(NOT_READY);
      await setPodReady(daemon);
      await waitForTaints(cp(), 'n7');
      expect(await taintsOf(cp(), 'n8')).toEqual([]);
      await installation.kill();
      await installation.start(['h']);
      await waitForTaints(cp(), 'n8', TEXT);
    });

    it('is removed by the command cleanup after taintkeeper', async () => {
      await register('n6', 'ready', `TaintPolicy ready added taint ${TEXT}`);
      await installation.kill();
      for (const kind of ['validating', 'mutating']) {
        await cp().request(admin, 'DELETE', `${CONFIGURATIONS}/${kind}webhookconfigurations/taintkeeper`);
      }
      expect(await taintkeeper('cleanup')).toMatch(new RegExp(`nodes/n6 +startup taint ${TEXT} +removed`));
      expect(await taintsOf(cp(), 'n6')).toEqual([]);
    });

    it('is in examples that the API server takes', async () => {
      const examples = new URL('../../examples/startup', import.meta.url).pathname;
      const { code, stdout } = await cp().kubectl(['apply', '--dry-run=server', '-f', examples]);
      expect(code).toBe(0);
      // Each file has one policy.
      expect(stdout.trim().split('\n')).toHaveLength(readdirSync(examples).length);
    });
  },
);

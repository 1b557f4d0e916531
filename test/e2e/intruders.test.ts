import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { PolicyStatus } from '../../src/policy/policy-status.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { WITH_KUBELET } from '../control-plane/kubelets/with-kubelet.ts';
import { PROGRAM } from '../control-plane/program.ts';
import { runTool } from '../control-plane/run-tool.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import {
  createTaintPolicy,
  patchNode,
  REMEMBERED,
  type StoredEvent,
  waitForAnnotation,
  waitForEvent,
  waitForStatus,
  waitForTaints,
} from './drift.ts';
import { type Installation, install } from './installation.ts';
import { attempt, GPU } from './nodes.ts';

const GPU_TEXT = 'dedicated=gpu:NoSchedule';
const NAMESPACE = '/api/v1/namespaces/default';
const APPS = '/apis/apps/v1/namespaces/default';
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const TIMEOUT_MS = 30_000;
/** After that much, a pod is later than what was before for certain (`CERTAIN_MS`), its time cut off to whole seconds. */
const LATER_MS = 3_000;

interface Pod {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly phase?: string };
}

describeWithControlPlane(
  'pods that land while a taint is missing',
  { components: ['kube-controller-manager', 'kube-scheduler', 'kubelets'], nodeMonitorGraceSeconds: 600 },
  (cp) => {
    let installation: Installation;

    beforeAll(async () => {
      installation = await install(cp(), ['listPods', 'evictPods']);
      await installation.start(['a']);
      await createTaintPolicy(cp(), 'by-hand', { mode: 'Deny', failurePolicy: 'Ignore', taints: [{ key: GPU.key }] });
      await createTaintPolicy(cp(), 'gpu-pool', { taints: [{ ...GPU, ensure: 'Present' }], intruders: 'Evict' });
      await createNode('hand', 'by-hand', { taints: [GPU] });
      await createNode('gpu', 'gpu-pool', { taints: [GPU] });
      await createNode('free', 'free', { unschedulable: true });
      for (const name of ['hand', 'gpu']) await waitForAnnotation(cp(), name, REMEMBERED, GPU_TEXT);
      await delay(LATER_MS);
    });
    afterAll(() => installation?.stop());

    async function create(url: string, body: object) {
      expect((await attempt(cp(), admin, 'POST', url, body)).error).toBe('');
    }

    async function createNode(name: string, pool: string, spec: object) {
      const metadata = { name, labels: { pool, name }, annotations: WITH_KUBELET };
      await create('/api/v1/nodes', { metadata, spec });
    }

    async function loseTaint(name: string) {
      expect(await patchNode(cp(), admin, name, { spec: { taints: null } })).toMatchObject({ passed: true });
      await waitForTaints(cp(), name);
    }

    const template = (app: string, nodes: readonly string[]) => ({
      metadata: { labels: { app } },
      spec: {
        containers: [{ name: 'c', image: 'c' }],
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: 'name', operator: 'In', values: nodes }] }],
            },
          },
        },
        terminationGracePeriodSeconds: 0,
      },
    });
    const workload = (app: string, nodes: readonly string[], more: object = {}) => ({
      metadata: { name: app },
      spec: { ...more, selector: { matchLabels: { app } }, template: template(app, nodes) },
    });

    async function podsOn(node: string, app: string): Promise<string[]> {
      const { body } = await cp().request<{ items: Pod[] }>(admin, 'GET', `${NAMESPACE}/pods?labelSelector=app=${app}`);
      const there = body.items.filter(
        ({ metadata, spec, status }) =>
          spec.nodeName === node && status.phase === 'Running' && !metadata.deletionTimestamp,
      );
      return there.map(({ metadata }) => metadata.name).sort();
    }

    const waitForPods = (node: string, app: string, count: number) =>
      waitUntil(
        async () => {
          const found = await podsOn(node, app);
          return found.length === count ? found : undefined;
        },
        { timeoutMs: TIMEOUT_MS, otherwise: () => `there are not ${count} pods of ${app} on ${node}` },
      );

    const conditionOf = ({ conditions = [] }: PolicyStatus) => conditions.find(({ type }) => type === 'Intruders');

    /** The pods of which taintkeeper says that it has evicted them. */
    async function evicted(): Promise<string[]> {
      const events = '/apis/events.k8s.io/v1/namespaces/default/events';
      const { body } = await cp().request<{ items: StoredEvent[] }>(admin, 'GET', events);
      const told = body.items.filter(
        ({ regarding, reason }) => regarding.kind === 'Pod' && reason === 'IntruderEvicted',
      );
      return told.map(({ regarding }) => regarding.name).sort();
    }

    it('are named once somebody has put it back by hand', async () => {
      const replica = installation.replica('a');
      installation.proxy.remove('a');
      await loseTaint('hand');
      await create(`${APPS}/deployments`, workload('lone', ['hand'], { replicas: 1 }));
      const [pod = ''] = await waitForPods('hand', 'lone', 1);
      installation.proxy.add(replica);
      await installation.proxy.waitForReady('a');
      expect(await patchNode(cp(), admin, 'hand', { spec: { taints: [GPU] } })).toMatchObject({ passed: true });

      const text = `1 pod landed while ${GPU_TEXT} was missing: default/${pod}`;
      expect((await waitForEvent(cp(), 'hand', 'IntruderFound')).note).toBe(`${text}, and do not tolerate it`);
      expect((await waitForEvent(cp(), pod, 'IntruderFound')).note).toContain('landed on Node hand');
      const status = await waitForStatus(cp(), 'by-hand', (one) => conditionOf(one) !== undefined);
      expect(conditionOf(status)).toMatchObject({
        status: 'True',
        reason: 'PodsLanded',
        message: `1 pod landed on 1 node while a taint was missing, and do not tolerate it: default/${pod} on hand`,
      });
      expect(await evicted()).toEqual([]);

      const kubeconfig = await cp().kubeconfigFile(admin);
      const args = [PROGRAM, 'explain', 'node', 'hand', '--kubeconfig', kubeconfig];
      const { stdout } = await runTool(process.execPath, args, { env: process.env });
      expect(stdout).toContain('TaintPolicy by-hand, condition Intruders (PodsLanded): 1 pod landed');
      expect(stdout).toContain(text);
    });

    it('are evicted as their PodDisruptionBudget allows: one at once, the other one when its replacement runs', async () => {
      await installation.replica('a').stop();
      installation.replicas.delete('a');
      await delay(LATER_MS);
      await loseTaint('gpu');
      await create(BUDGETS, {
        metadata: { name: 'web' },
        spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
      });
      await create(`${APPS}/deployments`, workload('web', ['gpu', 'free'], { replicas: 2 }));
      await create(`${APPS}/daemonsets`, workload('daemon', ['gpu']));
      const intruders = await waitForPods('gpu', 'web', 2);
      const [daemon = ''] = await waitForPods('gpu', 'daemon', 1);
      await waitUntil(
        async () => {
          const { body } = await cp().request<{ status?: { disruptionsAllowed?: number } }>(
            admin,
            'GET',
            `${BUDGETS}/web`,
          );
          return body.status?.disruptionsAllowed === 1 || undefined;
        },
        { timeoutMs: TIMEOUT_MS, otherwise: () => 'the PodDisruptionBudget allows nothing' },
      );

      await installation.start(['b']);
      await waitForTaints(cp(), 'gpu', GPU_TEXT);
      const [left = ''] = await waitForPods('gpu', 'web', 1);
      const held = await waitForStatus(cp(), 'gpu-pool', (one) => conditionOf(one)?.reason === 'EvictionHeldBack');
      expect(conditionOf(held)?.message).toMatch(
        /; they are being evicted; 1 held back for now, as their Events say; 1 of DaemonSets stay$/,
      );
      expect((await waitForEvent(cp(), left, 'IntruderHeldBack')).note).toContain('disruption budget');
      expect(await podsOn('gpu', 'web')).toEqual([left]);

      await attempt(cp(), admin, 'PATCH', '/api/v1/nodes/free', { spec: { unschedulable: null } }, MERGE_PATCH);
      await waitForPods('gpu', 'web', 0);
      await waitForPods('free', 'web', 2);
      await waitForEvent(cp(), left, 'IntruderEvicted');
      expect(await evicted()).toEqual(intruders);

      // Named, and left where it is.
      const { message = '' } =
        conditionOf(await waitForStatus(cp(), 'gpu-pool', (one) => conditionOf(one)?.reason === 'PodsLanded')) ?? {};
      expect(message).toContain(`default/${daemon} on gpu`);
      expect(await podsOn('gpu', 'daemon')).toEqual([daemon]);
    });
  },
);

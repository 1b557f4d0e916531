import { afterAll, beforeAll, expect, it } from 'vitest';
import { CERTAIN_MS } from '../../src/evictions/misplaced-pods.ts';
import type { PolicyStatus } from '../../src/policy/policy-status.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { WITH_KUBELET } from '../control-plane/kubelets/with-kubelet.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createTaintPolicy, patchNode, waitForEvent, waitForRecord, waitForStatus, waitForTaints } from './drift.ts';
import { type Installation, install } from './installation.ts';
import { attempt, GPU } from './nodes.ts';
import { runAs } from './run-taintkeeper.ts';

const GPU_TEXT = 'dedicated=gpu:NoSchedule';
const NAMESPACE = '/api/v1/namespaces/default';
const APPS = '/apis/apps/v1/namespaces/default';
const TIMEOUT_MS = 30_000;

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
      installation = await install(cp(), ['listPods']);
      await installation.start(['a']);
      await createTaintPolicy(cp(), 'by-hand', {
        mode: 'Deny',
        failurePolicy: 'Ignore',
        taints: [{ key: GPU.key, restrict: ['Removal'] }],
      });
      await createNode('hand', 'by-hand', { taints: [GPU] });
      await waitForRecord(cp(), 'hand', GPU_TEXT);
      await waitUntilCertain();
    });
    afterAll(() => installation?.stop());

    /** Waits until the time of a new pod, which the API server gives in whole seconds, is certainly later than the record of the taint. */
    async function waitUntilCertain() {
      const recordedAt = Date.now();
      await waitUntil(() => 1_000 * Math.floor(Date.now() / 1_000) >= recordedAt + CERTAIN_MS || undefined, {
        timeoutMs: TIMEOUT_MS,
        otherwise: () => 'the clock did not advance',
      });
    }

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

    const conditionOf = ({ conditions = [] }: PolicyStatus) => conditions.find(({ type }) => type === 'MisplacedPods');

    it('are named once a user has restored the taint by hand', async () => {
      const replica = installation.replica('a');
      installation.proxy.remove('a');
      await loseTaint('hand');
      await create(`${APPS}/deployments`, workload('lone', ['hand'], { replicas: 1 }));
      const [pod = ''] = await waitForPods('hand', 'lone', 1);
      installation.proxy.add(replica);
      await installation.proxy.waitForReady('a');
      expect(await patchNode(cp(), admin, 'hand', { spec: { taints: [GPU] } })).toMatchObject({ passed: true });

      const text = `1 pod landed while ${GPU_TEXT} was missing: default/${pod}`;
      expect((await waitForEvent(cp(), 'hand', 'PodMisplaced')).note).toBe(`${text}, and do not tolerate it`);
      expect((await waitForEvent(cp(), pod, 'PodMisplaced')).note).toContain('landed on Node hand');
      const status = await waitForStatus(cp(), 'by-hand', (one) => conditionOf(one) !== undefined);
      expect(conditionOf(status)).toMatchObject({
        status: 'True',
        reason: 'PodsLanded',
        message: `1 pod landed on 1 node while a taint was missing, and do not tolerate it: default/${pod} on hand`,
      });
      expect(await podsOn('hand', 'lone')).toEqual([pod]);

      const { stdout } = await runAs(admin, cp(), ['explain', 'node', 'hand']);
      expect(stdout).toContain('TaintPolicy by-hand, condition MisplacedPods (PodsLanded): 1 pod landed');
      expect(stdout).toContain(text);
    });
  },
);

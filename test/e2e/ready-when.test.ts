import { afterAll, beforeAll, expect, it } from 'vitest';
import { RIGHTS } from '../../scripts/chart.ts';
import type { PolicyStatus } from '../../src/policy/reporting/policy-status.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, node } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { setReady } from './daemon-sets.ts';
import { createTaintPolicy, patchNode, waitForEvent, waitForStatus, waitForTaints } from './drift.ts';
import { type Installation, install, leaderOf } from './installation.ts';
import { type Attempt, attempt, getNode, path, taintsOf } from './nodes.ts';
import { policyObject } from './policy-objects.ts';
import { POLICIES_PATH } from './policy-resources.ts';
import { runAs } from './run-taintkeeper.ts';
import { addReadyWhenField } from './spoiled-definitions.ts';

const TIMEOUT_MS = 40_000;
const CSI_NODES = '/apis/storage.k8s.io/v1/csinodes';
const GPU = 'example.com/gpu';

interface Pod {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName?: string };
}

describeWithControlPlane(
  'the parts of readyWhen',
  { components: ['kube-controller-manager', 'kube-scheduler'], nodeMonitorGraceSeconds: 600 },
  (cp) => {
    let installation: Installation;

    beforeAll(async () => {
      // Without the right to list CSINodes, at first.
      installation = await install(cp(), ['listPods']);
      await installation.start(['a', 'b']);
      for (const namespace of ['agents', 'tenant']) {
        await create('/api/v1/namespaces', { metadata: { name: namespace } });
      }
    });
    afterAll(() => installation?.stop());

    async function create(url: string, body: object) {
      expect((await attempt(cp(), admin, 'POST', url, body)).error).toBe('');
    }

    const textOf = (name: string) => `example.com/${name}:NoSchedule`;

    /** A policy that sets a taint of its name on the nodes of a pool of its name. */
    const policy = (name: string, readyWhen: object) =>
      createTaintPolicy(cp(), name, {
        nodeSelector: { matchLabels: { pool: name } },
        taints: [{ key: `example.com/${name}`, effect: 'NoSchedule', ensure: 'UntilReady', readyWhen }],
      });

    /**
     * As a kubelet does, once the webhook adds the taint of the policy, which another Node shows. The node itself registers once: the pod of a DaemonSet on an
     * earlier Node of its name would not count.
     */
    async function register(name: string, pool: string, taints: readonly object[] = [], added = pool): Promise<void> {
      const post = (as: string) =>
        attempt(cp(), node(as), 'POST', '/api/v1/nodes', {
          metadata: { name: as, labels: { pool } },
          spec: { taints },
        });
      const isTainted = ({ warnings }: Attempt) =>
        warnings.some((text) => text.includes(`added taint ${textOf(added)}`));
      const probe = `${name}-probe`;
      let last: Attempt | undefined;
      await waitUntil(
        async () => {
          last = await post(probe);
          await cp().request(admin, 'DELETE', path(probe));
          return isTainted(last) || undefined;
        },
        { timeoutMs: 60_000, otherwise: () => `the node registered with ${JSON.stringify(last)}` },
      );
      last = await post(name);
      expect(isTainted(last), JSON.stringify(last)).toBe(true);
    }

    async function patchStatus(name: string, status: object) {
      const answer = await cp().request(admin, 'PATCH', `${path(name)}/status`, {
        body: { status },
        contentType: MERGE_PATCH,
      });
      expect(answer.status).toBe(200);
    }

    const createDaemonSet = (
      namespace: string,
      name: string,
      pool: string,
      tolerations: readonly object[],
      more: object = {},
    ) =>
      create(`/apis/apps/v1/namespaces/${namespace}/daemonsets`, {
        metadata: { name },
        spec: {
          ...more,
          selector: { matchLabels: { app: name } },
          template: {
            metadata: { labels: { app: name } },
            spec: {
              containers: [{ name: 'c', image: 'c' }],
              nodeSelector: { pool },
              terminationGracePeriodSeconds: 0,
              tolerations,
            },
          },
        },
      });

    const podsIn = (namespace: string) => `/api/v1/namespaces/${namespace}/pods`;

    const waitForPod = (namespace: string, app: string, on: string, otherThan?: string) =>
      waitUntil(
        async () => {
          const query = `labelSelector=app=${app}`;
          const { body } = await cp().request<{ items: Pod[] }>(admin, 'GET', `${podsIn(namespace)}?${query}`);
          const here = body.items.filter(({ spec, metadata }) => spec.nodeName === on && !metadata.deletionTimestamp);
          return here.find(({ metadata }) => metadata.name !== otherThan)?.metadata.name;
        },
        { timeoutMs: TIMEOUT_MS, otherwise: () => `there is no such pod of ${app} on ${on}` },
      );

    /** @param pod by default, any of the DaemonSet */
    async function setPodReady(namespace: string, app: string, on: string, pod?: string) {
      const name = pod ?? (await waitForPod(namespace, app, on));
      const { status } = await cp().request(admin, 'PATCH', `${podsIn(namespace)}/${name}/status`, {
        body: { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } },
        contentType: MERGE_PATCH,
      });
      expect(status).toBe(200);
    }

    /** Until `explain node` says that the node waits for this: the leader decides by the same rules. */
    const waitsFor = (name: string, text: string) =>
      expect
        .poll(async () => (await runAs(admin, cp(), ['explain', 'node', name])).stdout, { timeout: TIMEOUT_MS })
        .toContain(text);

    let restarts = 0;

    async function killLeader(): Promise<void> {
      await installation.kill(await leaderOf(cp()));
      await installation.start([`k${++restarts}`]);
    }

    const stalledOf = ({ conditions = [] }: PolicyStatus) => conditions.find(({ type }) => type === 'Stalled');

    it('allocatable and conditions: the node itself says when it is ready, also to the next leader', async () => {
      await policy('gpu', { allocatable: [{ resource: GPU }], conditions: [{ type: 'DriverReady' }] });
      await register('gpu-1', 'gpu');
      await waitsFor(
        'gpu-1',
        `condition DriverReady=True: the node does not have it, and resource ${GPU}: the node has none that is allocatable`,
      );
      const ready = { type: 'Ready', status: 'True' };
      await patchStatus('gpu-1', {
        allocatable: { [GPU]: '0' },
        conditions: [ready, { type: 'DriverReady', status: 'False' }],
      });
      await waitsFor('gpu-1', `condition DriverReady=True: it is False, and resource ${GPU}`);
      await killLeader();
      await patchStatus('gpu-1', { allocatable: { [GPU]: '8' } });
      await waitsFor('gpu-1', 'waits for condition DriverReady=True: it is False\n');
      expect(await taintsOf(cp(), 'gpu-1')).toEqual([textOf('gpu')]);
      await patchStatus('gpu-1', { conditions: [ready, { type: 'DriverReady', status: 'True' }] });
      await waitForTaints(cp(), 'gpu-1');
      expect((await waitForEvent(cp(), 'gpu-1', 'StartupTaintRemoved')).note).toBe(
        `removed startup taint ${textOf('gpu')}: condition DriverReady is True, resource ${GPU} is allocatable`,
      );
    });

    it('csiDrivers: a missing right keeps the taint, and a CSINode of another Node does not count', async () => {
      await policy('csi', { csiDrivers: [{ name: 'csi.example.com' }] });
      await register('csi-1', 'csi');
      const status = await waitForStatus(cp(), 'csi', (one) => stalledOf(one)?.reason === 'NotPermitted');
      expect(stalledOf(status)?.message).toContain(
        'readyWhen.csiDrivers needs permission to list and watch CSINodes, which taintkeeper does not have: set listCsiNodes: true',
      );
      const uidOf = async (name: string) => (await getNode(cp(), name)).metadata.uid ?? '';
      const csiNode = (owner: string, uid: string) => ({
        metadata: { name: 'csi-1', ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: owner, uid }] },
        spec: { drivers: [{ name: 'csi.example.com', nodeID: 'i', topologyKeys: null }] },
      });
      // The garbage collector deletes one whose owner does not exist.
      await create(CSI_NODES, csiNode('gpu-1', await uidOf('gpu-1')));
      expect((await cp().kubectl(['apply', '-f', RIGHTS.listCsiNodes])).code).toBe(0);
      await waitForStatus(cp(), 'csi', (one) => stalledOf(one)?.reason !== 'NotPermitted');
      await waitsFor('csi-1', 'CSI driver csi.example.com: the CSINode belongs to another Node of this name');
      await killLeader();
      await cp().request(admin, 'DELETE', `${CSI_NODES}/csi-1`);
      await waitsFor('csi-1', 'the node has no CSINode; if that stays so, restart the kubelet of the node');
      // The leader has come to this node, too.
      await register('gpu-3', 'gpu');
      await patchStatus('gpu-3', {
        allocatable: { [GPU]: '1' },
        conditions: [{ type: 'DriverReady', status: 'True' }],
      });
      await waitForTaints(cp(), 'gpu-3');
      expect(await taintsOf(cp(), 'csi-1')).toEqual([textOf('csi')]);
      await create(CSI_NODES, csiNode('csi-1', await uidOf('csi-1')));
      await waitForTaints(cp(), 'csi-1');
    });

    it('afterDeadline: Remove removes the taint, again if it is brought back, and Keep of another policy keeps it', async () => {
      const daemonSets = [{ namespace: 'agents', name: 'nowhere' }];
      await policy('late', { daemonSets, progressDeadlineSeconds: 1, afterDeadline: 'Remove' });
      await register('late-1', 'late');
      await waitForTaints(cp(), 'late-1');
      expect((await waitForEvent(cp(), 'late-1', 'StartupTaintRemoved')).note).toBe(
        `removed startup taint ${textOf('late')}: the deadline of 1 s has passed, though it waits for DaemonSet agents/nowhere: it does not exist`,
      );
      const taints = [{ key: 'example.com/late', effect: 'NoSchedule' }];
      await killLeader();
      expect(await patchNode(cp(), admin, 'late-1', { spec: { taints } })).toMatchObject({ passed: true });
      await waitForTaints(cp(), 'late-1');

      await createTaintPolicy(cp(), 'keep', {
        nodeSelector: { matchLabels: { pool: 'late' } },
        taints: [{ ...taints[0], ensure: 'UntilReady', readyWhen: { daemonSets, progressDeadlineSeconds: 1 } }],
      });
      await register('late-2', 'late');
      await waitForStatus(cp(), 'keep', (one) => stalledOf(one)?.message.includes('on node late-2') ?? false);
      expect(await taintsOf(cp(), 'late-2')).toEqual([textOf('late')]);
      await cp().request(admin, 'DELETE', `${POLICIES_PATH.TaintPolicy}/keep`);
      await waitForTaints(cp(), 'late-2');
    });

    it('allDaemonSets: created while the node waits, broken elsewhere, intolerant, and not before labels are there', async () => {
      const tolerant = [{ operator: 'Exists' }];
      await createDaemonSet('agents', 'cni', 'all', tolerant);
      await createDaemonSet('tenant', 'broken', 'all', tolerant);
      await createDaemonSet('agents', 'intolerant', 'all', []);
      await policy('all', { allDaemonSets: { namespaces: ['agents'] } });
      const uninitialized = { key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule' };
      await register('all-1', 'all', [uninitialized]);
      await setReady(cp(), 'all-1');
      await setPodReady('agents', 'cni', 'all-1');
      await waitsFor('all-1', 'all DaemonSets: the cloud provider has not initialized the node, so labels are missing');
      await createDaemonSet('agents', 'proxy', 'all', tolerant);
      await killLeader();
      const mine = { key: 'example.com/all', effect: 'NoSchedule' };
      expect(await patchNode(cp(), admin, 'all-1', { spec: { taints: [mine] } })).toMatchObject({ passed: true });
      await waitsFor('all-1', 'DaemonSet agents/proxy: its pod is not Ready');
      await waitsFor(
        'all-1',
        `startup taints do not wait for DaemonSet agents/intolerant: taint ${textOf('all')} is not tolerated`,
      );
      expect(await taintsOf(cp(), 'all-1')).toEqual([textOf('all')]);
      await setPodReady('agents', 'proxy', 'all-1');
      await waitForTaints(cp(), 'all-1').catch(async (error: Error) => {
        const { stdout } = await runAs(admin, cp(), ['explain', 'node', 'all-1']);
        throw new Error(`the leader is ${await leaderOf(cp())}; ${stdout}`, { cause: error });
      });
      const status = await waitForStatus(cp(), 'all', ({ conditions = [] }) =>
        conditions.some(({ type, message }) => type === 'Ready' && message.includes('agents/intolerant')),
      );
      expect(stalledOf(status)?.message ?? '').not.toContain('intolerant');
      const object = policyObject('TaintPolicy', 'other', {
        mode: 'Restore',
        taints: [{ ...mine, ensure: 'UntilReady', readyWhen: { allDaemonSets: {} } }],
      });
      const { stderr } = await cp().kubectl(['apply', '--dry-run=server', '-f', '-'], {
        input: JSON.stringify(object),
      });
      expect(stderr).toContain(
        'Warning: spec.taints[0]: without namespaces, every user who may create a DaemonSet can keep new nodes tainted\n',
      );
    });

    it.each([
      { how: 'on-delete', what: 'the pod of an earlier revision', strategy: { type: 'OnDelete' } },
      {
        how: 'surge',
        what: 'the pod of the surge, beside an earlier one that is not Ready',
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      },
    ])('daemonSets: one Ready pod is enough, of any revision: $what', async ({ how, strategy }) => {
      const on = `${how}-1`;
      await createDaemonSet('agents', how, how, [{ operator: 'Exists' }], { updateStrategy: strategy });
      await policy(how, { daemonSets: [{ namespace: 'agents', name: how }] });
      await register(on, how);
      await setReady(cp(), on);
      const earlier = await waitForPod('agents', how, on);
      await cp().request(admin, 'PATCH', `/apis/apps/v1/namespaces/agents/daemonsets/${how}`, {
        body: { spec: { template: { metadata: { annotations: { revision: '2' } } } } },
        contentType: MERGE_PATCH,
      });
      const ready = how === 'surge' ? await waitForPod('agents', how, on, earlier) : earlier;
      await waitsFor(on, 'its pod is not Ready');
      await setPodReady('agents', how, on, ready);
      await waitForTaints(cp(), on);
    });

    it('startup taints that keep off the DaemonSets of each other, on a node: both policies are stalled before the deadline', async () => {
      const tolerates = (key: string) => [{ key: `example.com/${key}`, operator: 'Exists' }];
      const waitsForAgent = (key: string) => ({
        key: `example.com/${key}`,
        effect: 'NoSchedule',
        ensure: 'UntilReady',
        readyWhen: { daemonSets: [{ namespace: 'agents', name: key }] },
      });
      for (const key of ['left', 'right']) {
        await createDaemonSet('agents', key, 'circle', tolerates(key));
        await createTaintPolicy(cp(), key, {
          nodeSelector: { matchLabels: { pool: 'circle' } },
          taints: [waitsForAgent(key)],
        });
      }
      const told = (policy: string) =>
        `on node circle-1, startup taint example.com/${policy}:NoSchedule waits for DaemonSet`;
      const isTold = (policy: string, by: string) => {
        const text = `${told(policy)} agents/${policy}, which does not tolerate example.com/${by}:NoSchedule`;
        return waitForStatus(cp(), policy, (one) => stalledOf(one)?.message.includes(text) ?? false);
      };
      const isToldNoMore = (policy: string) =>
        waitForStatus(cp(), policy, (one) => !stalledOf(one)?.message.includes(told(policy)));
      await register('circle-1', 'circle', [], 'right');
      await isTold('left', 'right');
      await isTold('right', 'left');
      await setReady(cp(), 'circle-1');
      await cp().request(admin, 'PATCH', '/apis/apps/v1/namespaces/agents/daemonsets/left', {
        body: { spec: { template: { spec: { tolerations: [...tolerates('left'), ...tolerates('right')] } } } },
        contentType: MERGE_PATCH,
      });
      await setPodReady('agents', 'left', 'circle-1');
      await setPodReady('agents', 'right', 'circle-1');
      await waitForTaints(cp(), 'circle-1');
      await isToldNoMore('left');
      await isToldNoMore('right');
    });

    it('a part that this version does not know: the taint stays, and the policy is stalled', async () => {
      await addReadyWhenField(cp(), 'future');
      await policy('new', { conditions: [{ type: 'A' }], future: true });
      const told = `spec.taints[0].readyWhen.future is not known to this version of taintkeeper: nodes keep taint ${textOf('new')}`;
      await waitForStatus(cp(), 'new', (one) => stalledOf(one)?.message.includes(told) ?? false);
      await register('new-1', 'new');
      await patchStatus('new-1', { conditions: [{ type: 'A', status: 'True' }] });
      await waitsFor(
        'new-1',
        'waits for what this version of taintkeeper does not know: TaintPolicy new (spec.taints[0].readyWhen.future)',
      );
      // The leader has come to this node, too.
      await register('gpu-2', 'gpu');
      await patchStatus('gpu-2', {
        allocatable: { [GPU]: '1' },
        conditions: [{ type: 'DriverReady', status: 'True' }],
      });
      await waitForTaints(cp(), 'gpu-2');
      expect(await taintsOf(cp(), 'new-1')).toEqual([textOf('new')]);
    });
  },
);

import type { V1Lease, V1Node, V1Pod } from '@kubernetes/client-node';
import { expect, it } from 'vitest';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { WITH_KUBELET } from '../control-plane/kubelets/with-kubelet.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';

const NODES = '/api/v1/nodes';
const PODS = '/api/v1/namespaces/default/pods';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const GRACE_SECONDS = 4;
const TIMEOUT_MS = 30_000;

describeWithControlPlane(
  'rig: kubelets',
  { components: ['kube-controller-manager', 'kubelets'], nodeMonitorGraceSeconds: GRACE_SECONDS },
  (cp) => {
    const create = async (path: string, body: object) => {
      const answer = await cp().request(admin, 'POST', path, { body });
      expect(answer).toMatchObject({ status: 201 });
    };
    const patch = async (path: string, body: object) =>
      expect(await cp().request(admin, 'PATCH', path, { body, contentType: MERGE_PATCH })).toMatchObject({
        status: 200,
      });
    const createNode = (name: string, { annotations = WITH_KUBELET, status = {} } = {}) =>
      create(NODES, { metadata: { name, annotations }, status });
    const createPod = (name: string, nodeName: string, metadata = {}) =>
      create(PODS, {
        metadata: { name, ...metadata },
        spec: {
          nodeName,
          tolerations: [{ operator: 'Exists' }],
          containers: [{ name: 'c', image: 'example.com/c:1' }],
        },
      });

    /** What is at the path, once it is as expected. Nothing there is `undefined`. */
    const waitFor = async <T>(path: string, expected: (found: T | undefined) => boolean): Promise<T | undefined> => {
      let last: unknown;
      const found = await waitUntil(
        async () => {
          const { status, body } = await cp().request<T>(admin, 'GET', path);
          last = body;
          const object = status === 200 ? body : undefined;
          return expected(object) ? { object } : undefined;
        },
        { timeoutMs: TIMEOUT_MS, otherwise: () => `${path} is ${JSON.stringify(last)}` },
      );
      return found.object;
    };
    const readiness = ({ status }: V1Node) => status?.conditions?.find(({ type }) => type === 'Ready')?.status;
    const waitForNode = (name: string, ready: 'True' | 'Unknown') =>
      waitFor<V1Node>(`${NODES}/${name}`, (node) => node !== undefined && readiness(node) === ready);
    const waitForPod = (name: string, phase: string) =>
      waitFor<V1Pod>(`${PODS}/${name}`, (pod) => pod?.status?.phase === phase);
    const renewTime = async (node: string) =>
      String((await waitFor<V1Lease>(`${LEASES}/${node}`, (lease) => lease !== undefined))?.spec?.renewTime);
    const waitForRenewal = async (node: string) => {
      const before = await renewTime(node);
      return waitFor<V1Lease>(`${LEASES}/${node}`, (lease) => String(lease?.spec?.renewTime) > before);
    };

    it('make their nodes Ready, and leave what others have reported', async () => {
      await createNode('bare');
      await createNode('reported', {
        status: {
          addresses: [{ type: 'InternalIP', address: '192.0.2.1' }],
          capacity: { cpu: '2' },
          nodeInfo: { kubeletVersion: 'v1.2.3' },
          conditions: [
            { type: 'Ready', status: 'False' },
            { type: 'DiskPressure', status: 'True' },
            { type: 'PIDPressure', status: 'Unknown' },
          ],
        },
      });
      const bare = (await waitForNode('bare', 'True'))?.status;
      expect(bare).toMatchObject({
        addresses: [{ type: 'Hostname', address: 'bare' }],
        capacity: { cpu: '32', memory: '256Gi', pods: '110' },
        allocatable: { cpu: '32', memory: '256Gi', pods: '110' },
        nodeInfo: { operatingSystem: 'linux' },
      });
      expect(bare?.conditions?.map(({ type, status }) => `${type} ${status}`).toSorted()).toEqual([
        'DiskPressure False',
        'MemoryPressure False',
        'NetworkUnavailable False',
        'PIDPressure False',
        'Ready True',
      ]);
      const reported = (await waitForNode('reported', 'True'))?.status;
      expect(reported).toMatchObject({
        addresses: [{ type: 'InternalIP', address: '192.0.2.1' }],
        capacity: { cpu: '2' },
        // What the API server makes of a capacity alone.
        allocatable: { cpu: '2' },
        nodeInfo: { kubeletVersion: 'v1.2.3' },
      });
      expect(reported?.conditions?.map(({ type, status }) => `${type} ${status}`).toSorted()).toEqual([
        'DiskPressure True',
        'MemoryPressure False',
        'NetworkUnavailable False',
        'PIDPressure False',
        'Ready True',
      ]);
    });

    it('renew the Leases of their nodes, each under its name', async () => {
      await createNode('alive');
      await waitForRenewal('alive');
      const lease = await waitForRenewal('alive');
      const { body } = await cp().request<V1Node>(admin, 'GET', `${NODES}/alive`);
      expect(lease).toMatchObject({
        metadata: { ownerReferences: [{ kind: 'Node', name: 'alive', uid: body.metadata?.uid }] },
        spec: { holderIdentity: 'alive', leaseDurationSeconds: GRACE_SECONDS },
      });
    });

    it('run pods, and remove those that are deleted', async () => {
      await createNode('busy');
      await createPod('short', 'busy', { finalizers: ['example.com/seen'] });
      const { status } = (await waitForPod('short', 'Running')) ?? {};
      expect(status?.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }));
      expect(status?.containerStatuses).toMatchObject([{ name: 'c', image: 'example.com/c:1', ready: true }]);

      expect(await cp().request(admin, 'DELETE', `${PODS}/short`)).toMatchObject({ status: 200 });
      await waitFor<V1Pod>(`${PODS}/short`, (pod) => pod?.metadata?.deletionGracePeriodSeconds === 0);
      await patch(`${PODS}/short`, { metadata: { finalizers: null } });
      await waitFor<V1Pod>(`${PODS}/short`, (pod) => pod === undefined);
    });

    it('do nothing to pods that have failed, nor to nodes that are not theirs, nor to pods there', async () => {
      await createNode('mixed');
      await createPod('failed', 'mixed');
      await waitForPod('failed', 'Running');
      await patch(`${PODS}/failed/status`, { status: { phase: 'Failed' } });
      await createNode('foreign', { annotations: { 'example.com/kubelet': 'true' } });
      await createPod('waiting', 'foreign');
      await createPod('going', 'foreign');
      expect(await cp().request(admin, 'DELETE', `${PODS}/going`)).toMatchObject({ status: 200 });

      // All that came before has been seen when this one runs.
      await createPod('later', 'mixed');
      await waitForPod('later', 'Running');
      await waitForRenewal('mixed');
      await waitForPod('failed', 'Failed');
      await waitForPod('waiting', 'Pending');
      await waitFor<V1Pod>(`${PODS}/going`, (pod) => pod?.metadata?.deletionTimestamp !== undefined);
      expect((await cp().request<V1Node>(admin, 'GET', `${NODES}/foreign`)).body.status?.conditions).toBeUndefined();
      expect(await cp().request(admin, 'GET', `${LEASES}/foreign`)).toMatchObject({ status: 404 });
    });

    it('take up a node that becomes theirs, with its pods', async () => {
      await createNode('adopted', { annotations: {} });
      await createPod('early', 'adopted');
      await patch(`${NODES}/adopted`, { metadata: { annotations: WITH_KUBELET } });
      await waitForNode('adopted', 'True');
      await waitForPod('early', 'Running');
    });

    it('go on after a restart of the API server', async () => {
      await createNode('lasting');
      await waitForNode('lasting', 'True');
      await createPod('before', 'lasting');
      await waitForPod('before', 'Running');
      await cp().restartComponent('kube-apiserver', 'SIGKILL');
      await waitForRenewal('lasting');
      await waitForNode('lasting', 'True');
      await createPod('after', 'lasting');
      await waitForPod('after', 'Running');
      expect(await cp().request(admin, 'DELETE', `${PODS}/before`)).toMatchObject({ status: 200 });
      await waitFor<V1Pod>(`${PODS}/before`, (pod) => pod === undefined);
    });

    it('make a node Ready again that was given up while they were away', async () => {
      await createNode('abandoned');
      await waitForNode('abandoned', 'True');
      await cp().stopComponent('kubelets');
      await waitForNode('abandoned', 'Unknown');
      await cp().startComponent('kubelets');
      const node = await waitForNode('abandoned', 'True');
      expect(node?.status?.conditions?.filter(({ status }) => status === 'Unknown')).toEqual([]);
    });
  },
);

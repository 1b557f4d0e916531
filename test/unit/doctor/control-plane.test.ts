import { expect, it } from 'vitest';
import { checkControlPlane } from '../../../src/doctor/checks/control-plane.ts';
import { gatherCluster } from '../../../src/doctor/facts/cluster-facts.ts';
import { readingOf } from '../../../src/doctor/facts/reading.ts';
import { answer, clientFor, startFakeApi } from '../cluster/client/fake-api.ts';
import { healthyFacts, INSTALLATION, node, unseen } from './facts.ts';

const ROLE = { 'node-role.kubernetes.io/control-plane': '' };
const OLD_ROLE = { 'node-role.kubernetes.io/master': '' };

const check = (nodes: readonly ReturnType<typeof node>[], pods: readonly { node: string; kubeadm: boolean }[]) =>
  checkControlPlane(healthyFacts({ nodes: readingOf(nodes), apiServerPods: readingOf(pods) }));

it('is well where each node with an API server has the role, under either name', () => {
  const pods = ['cp-1', 'cp-2'].map((name) => ({ node: name, kubeadm: true }));
  expect(check([node('cp-1', ROLE), node('cp-2', OLD_ROLE), node('w-1')], pods)).toEqual([
    { state: 'ok', evidence: '2 nodes run an API server, and have the role of the control plane' },
  ]);
});

it('is well where no node shows an API server, as in managed clusters', () => {
  expect(check([node('w-1')], [])).toEqual([{ state: 'ok', evidence: 'no node runs an API server as a static pod' }]);
});

it('has a problem where a Node of kubeadm came back as a worker', () => {
  const pods = ['cp-1', 'cp-2'].map((name) => ({ node: name, kubeadm: true }));
  expect(check([node('cp-1', ROLE), node('cp-2')], pods)).toEqual([
    {
      state: 'problem',
      evidence:
        'cp-2 runs an API server and lacks label node-role.kubernetes.io/control-plane, so other pods can be scheduled there: its Node may have been deleted',
      remedy: 'on a control-plane node: kubeadm init phase mark-control-plane --node-name cp-2',
    },
  ]);
});

it('has only something to know where another program set the node up: it may not use the label', () => {
  const nodes = [node('cp-1'), node('cp-2')];
  expect(check(nodes, [{ node: 'cp-1', kubeadm: false }])).toEqual([
    {
      state: 'note',
      evidence:
        'cp-1 runs an API server and lacks label node-role.kubernetes.io/control-plane: its Node may have been deleted',
      remedy:
        'if the other control-plane nodes have it: kubectl label node cp-1 node-role.kubernetes.io/control-plane=',
    },
  ]);
});

it('is not judged by a pod of a node that is deleted', () => {
  expect(check([], [{ node: 'cp-2', kubeadm: true }])).toEqual([
    { state: 'ok', evidence: 'no node runs an API server as a static pod' },
  ]);
});

it('is not judged without the right to list pods', () => {
  const apiServerPods = unseen('you may not list resource "pods"', 403);
  expect(checkControlPlane(healthyFacts({ apiServerPods }))).toEqual([
    { state: 'skipped', evidence: 'you may not list resource "pods"' },
  ]);
});

it('is known by the mirrors of static pods that are API servers', async () => {
  const pod = (name: string, labels: object, annotations: object) => ({
    metadata: { name, namespace: 'kube-system', labels: { tier: 'control-plane', ...labels }, annotations },
    spec: { nodeName: name, containers: [] },
  });
  const mirror = { 'kubernetes.io/config.mirror': 'x' };
  const kubeadm = { 'kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint': '10.0.0.1:6443' };
  const items = [
    pod('kubeadm', { component: 'kube-apiserver' }, { ...mirror, ...kubeadm }),
    pod('talos', { 'k8s-app': 'kube-apiserver' }, mirror),
    pod('other-component', { component: 'kube-scheduler' }, mirror),
    pod('no-mirror', { component: 'kube-apiserver' }, kubeadm),
  ];
  const api = await startFakeApi(({ path, query }, response) => {
    const isAsked = path === '/api/v1/namespaces/kube-system/pods' && query.labelSelector === 'tier=control-plane';
    answer(response, { metadata: { resourceVersion: '1' }, items: isAsked ? items : [] });
  });
  const { apiServerPods } = await gatherCluster((await clientFor(api.url)).client, INSTALLATION);
  expect(apiServerPods).toEqual(
    readingOf([
      { node: 'kubeadm', kubeadm: true },
      { node: 'talos', kubeadm: false },
    ]),
  );
});

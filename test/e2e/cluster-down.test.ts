import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { STRATEGIC_MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer, node, nodeController, type User } from '../control-plane/users.ts';
import {
  CONTROL_PLANE_TAINT,
  type Installation,
  install,
  registerControlPlaneNode,
  removeTaints,
  waitUntilProtected,
} from './installation.ts';
import { attempt, kubectl, path, taintsOf } from './nodes.ts';

const NOT_READY = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
const FLANNEL = readFileSync(new URL('../../demo/kube-flannel.yaml', import.meta.url), 'utf8');

/** A certificate signing request as a kubelet makes it; what is in it does not matter here. */
const SIGNING_REQUEST = {
  metadata: { name: 'kubelet' },
  spec: {
    request: Buffer.from(readFileSync(new URL('kubelet.csr', import.meta.url))).toString('base64'),
    signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
    usages: ['digital signature', 'client auth'],
  },
};

describeWithControlPlane('with taintkeeper down and a Deny policy that fails closed', {}, (cp) => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await install(cp());
    const [replica] = await installation.start(['a']);
    await registerControlPlaneNode(cp(), 'cp-1');
    await waitUntilProtected(cp(), 'cp-1');
    await cp().kubectl(['create', 'namespace', 'kube-flannel']);
    await replica?.kill();
  });
  afterAll(() => installation.stop());

  const patch = (url: string, body: object, user: User) =>
    attempt(cp(), user, 'PATCH', url, body, STRATEGIC_MERGE_PATCH);
  const create = (url: string, body: object, user: User) => attempt(cp(), user, 'POST', url, body);

  function allWorks(prefix: string) {
    it('a protected taint cannot be removed', async () => {
      expect((await removeTaints(cp(), 'cp-1')).error).toContain('failed calling webhook "protect.taintkeeper.dev"');
      expect(await taintsOf(cp(), 'cp-1')).toEqual(['node-role.kubernetes.io/control-plane:NoSchedule']);
    });

    it.each<{ what: string; attempt: () => Promise<{ passed: boolean; error: string }> }>([
      {
        what: 'a node registers',
        attempt: () =>
          create(
            '/api/v1/nodes',
            { metadata: { name: `${prefix}-1` }, spec: { taints: [CONTROL_PLANE_TAINT] } },
            node(`${prefix}-1`),
          ),
      },
      {
        what: 'a node reports its status',
        attempt: () =>
          patch(
            `${path('cp-1')}/status`,
            { status: { conditions: [{ type: 'Ready', status: 'True', reason: prefix }] } },
            node('cp-1'),
          ),
      },
      {
        what: 'a node renews its lease',
        attempt: () =>
          create(
            '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases',
            { metadata: { name: `${prefix}-1` }, spec: { holderIdentity: `${prefix}-1` } },
            node(`${prefix}-1`),
          ),
      },
      {
        what: 'a kubelet asks for a certificate',
        attempt: () =>
          create(
            '/apis/certificates.k8s.io/v1/certificatesigningrequests',
            { ...SIGNING_REQUEST, metadata: { name: prefix } },
            admin,
          ),
      },
      {
        what: 'a node gets a label',
        attempt: () => patch(path('cp-1'), { metadata: { labels: { [prefix]: 'x' } } }, developer),
      },
      {
        what: 'a kubelet labels its node',
        attempt: () => patch(path('cp-1'), { metadata: { labels: { 'kubernetes.io/arch': prefix } } }, node('cp-1')),
      },
      { what: 'a node is cordoned', attempt: () => kubectl(cp(), developer, ['cordon', 'cp-1']) },
      { what: 'a node is uncordoned', attempt: () => kubectl(cp(), developer, ['uncordon', 'cp-1']) },
      {
        what: 'the node controller adds not-ready',
        attempt: () => patch(path('cp-1'), { spec: { taints: [CONTROL_PLANE_TAINT, NOT_READY] } }, nodeController),
      },
      {
        what: 'the node controller takes it away again',
        attempt: () =>
          patch(
            path('cp-1'),
            { spec: { taints: [CONTROL_PLANE_TAINT, { ...NOT_READY, $patch: 'delete' }] } },
            nodeController,
          ),
      },
      {
        what: 'a user adds a taint of their own',
        attempt: () => kubectl(cp(), developer, ['taint', 'node', 'cp-1', `${prefix}=x:NoSchedule`]),
      },
      {
        what: 'and takes it away again',
        attempt: () => kubectl(cp(), developer, ['taint', 'node', 'cp-1', `${prefix}-`]),
      },
      {
        what: 'a CNI plugin is installed',
        attempt: () =>
          kubectl(cp(), admin, ['apply', '-f', '-'], FLANNEL.replaceAll('kube-flannel-ds', `${prefix}-flannel`)),
      },
    ])('$what', async ({ attempt: made }) => {
      expect(await made()).toMatchObject({ passed: true, error: '' });
    });
  }

  describe('everything else goes on:', () => {
    allWorks('down');
  });

  describe('after a cold start of the control plane, too:', () => {
    beforeAll(async () => {
      await cp().stopComponent('kube-apiserver');
      await cp().restartComponent('etcd');
      await cp().startComponent('kube-apiserver');
    });
    allWorks('cold');
  });
});

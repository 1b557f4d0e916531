import { expect, it } from 'vitest';
import { findAssets, obstacleTo } from '../control-plane/assets.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { refuseConfigMap } from '../control-plane/refuse-config-map.ts';
import { borrowControlPlane } from '../control-plane/shared-control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { skipFor } from '../skip-for.ts';
import { policyObject } from './policy-objects.ts';
import { createPolicy, installCrds, POLICIES_PATH } from './policy-resources.ts';

const NAMESPACES = '/api/v1/namespaces';
const NODES = '/api/v1/nodes';
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';

async function create(cp: ControlPlane, path: string, body: object): Promise<void> {
  const { status } = await cp.request(admin, 'POST', path, { body });
  expect(status).toBe(201);
}

const statusOf = async (cp: ControlPlane, path: string) => (await cp.request(admin, 'GET', path)).status;

it(
  'a control plane that a test file returns keeps nothing that the file created',
  skipFor(obstacleTo([], findAssets())),
  async () => {
    const first = await borrowControlPlane();
    const { cp } = first;
    await installCrds(cp);
    const taints = [{ key: 'dedicated' }];
    expect(await createPolicy(cp, policyObject('TaintPolicy', 'left', { mode: 'Audit', taints }))).toMatchObject({
      status: 201,
    });
    await create(cp, NAMESPACES, { metadata: { name: 'left' } });
    await create(cp, `${NAMESPACES}/left/configmaps`, { metadata: { name: 'left' } });
    await create(cp, NODES, { metadata: { name: 'left' } });
    await create(cp, WEBHOOKS, { metadata: { name: 'left' }, webhooks: [] });
    await refuseConfigMap(cp, 'left');
    expect(cp.auditLog()).not.toEqual([]);
    await first.giveBack(false);

    const second = await borrowControlPlane();
    expect(second.cp.url).toBe(cp.url);
    expect(second.cp.auditLog()).toEqual([]);
    for (const path of [`${NAMESPACES}/left`, `${NODES}/left`, `${WEBHOOKS}/left`, POLICIES_PATH.TaintPolicy]) {
      expect(await statusOf(second.cp, path), path).toBe(404);
    }
    await create(second.cp, `${NAMESPACES}/default/configmaps`, { metadata: { name: 'left' } });
    await second.giveBack(true);
  },
);

it.each([
  { why: 'after a failure', failed: true, spoil: async () => {} },
  {
    why: 'after a change of what every control plane has',
    failed: false,
    spoil: async (cp: ControlPlane) => {
      const { body } = await cp.request<{ metadata: object }>(admin, 'GET', `${NAMESPACES}/default`);
      const labels = { changed: 'yes' };
      await cp.request(admin, 'PUT', `${NAMESPACES}/default`, {
        body: { ...body, metadata: { ...body.metadata, labels } },
      });
    },
  },
  {
    why: 'after a fault that was made on purpose',
    failed: false,
    spoil: (cp: ControlPlane) => cp.restartComponent('kube-apiserver'),
  },
])('no other file gets it $why', skipFor(obstacleTo([], findAssets())), async ({ failed, spoil }) => {
  const first = await borrowControlPlane();
  await spoil(first.cp);
  await first.giveBack(failed);
  const second = await borrowControlPlane();
  expect(second.cp.url).not.toBe(first.cp.url);
  await second.giveBack(true);
});

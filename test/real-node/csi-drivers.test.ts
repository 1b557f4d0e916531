import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { RIGHTS } from '../../scripts/chart.ts';
import type { Version } from '../control-plane/follow.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { skipFor } from '../skip-for.ts';
import { killLeader } from './measure/health.ts';
import { obstacleToRealNode } from './obstacle.ts';
import { kubectl } from './product.ts';
import type { Service } from './service.ts';
import { startWaitingNode, type WaitingNode } from './waiting-node.ts';

const TIMEOUT_MS = 60_000;
const TAINT = 'example.com/csi';
const DRIVER = 'csi.example.com';
const CSI_NODES = '/apis/storage.k8s.io/v1/csinodes';

interface CsiNode {
  readonly metadata: { readonly ownerReferences?: readonly { readonly uid: string }[] };
  /** The kubelet writes null for none. */
  readonly spec: { readonly drivers: readonly { readonly name: string }[] | null };
}

vi.setConfig({ testTimeout: 240_000 });

describe('a real node that registers with a taint of readyWhen.csiDrivers', skipFor(obstacleToRealNode()), () => {
  let node: WaitingNode;
  let driver: Service;
  let csiNodes: readonly Version<CsiNode>[];

  beforeAll(async () => {
    node = await startWaitingNode({
      rights: [RIGHTS.listCsiNodes],
      readyWhen: { [TAINT]: { csiDrivers: [{ name: DRIVER }] } },
    });
    const { cluster, machine } = node;
    driver = machine.startCsiDriver(DRIVER);
    await kubectl(cluster, ['wait', `csinode/${machine.name}`, `--for=jsonpath={.spec.drivers[0].name}=${DRIVER}`]);
    await driver.stop();
    await node.deregister();
    csiNodes = await node.follow<CsiNode>(CSI_NODES, machine.name);
    await node.register();
  }, 300_000);
  afterAll(() => node?.stop());

  const waitsFor = (text: string) => node.waitsFor(`CSI driver ${DRIVER}: ${text}`);

  it('keeps it while the driver does not run: under the next leader, and without a CSINode', async () => {
    const { cluster, machine } = node;
    await waitsFor('it has not registered on the node');
    const killed = await killLeader(cluster);
    await killed.nextLeads();
    await kubectl(cluster, ['delete', 'csinode', machine.name]);
    await waitsFor('the node has no CSINode; if that stays so, restart the kubelet of the node');
    await machine.service('kubelet').stop();
    machine.service('kubelet').start();
    await waitsFor('it has not registered on the node');
  });

  it('loses it when the driver registers, though no replica leads at that time, and not earlier', async () => {
    const uid = node.versions[0]?.value.metadata.uid;
    const killed = await killLeader(node.cluster);
    driver.start();
    const isRegistered = ({ metadata, spec }: CsiNode) =>
      metadata.ownerReferences?.some((owner) => owner.uid === uid) && spec.drivers?.some(({ name }) => name === DRIVER);
    const registered = await waitUntil(() => csiNodes.find(({ value }) => isRegistered(value)), {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => `the CSINode of ${node.machine.name} does not have the driver:\n${driver.log()}`,
    });
    expect(await killed.isLast()).toBe(true);
    const untainted = await node.untainted(TAINT);
    expect(untainted.value.metadata.uid).toBe(uid);
    expect(registered.resourceVersion).toBeLessThan(untainted.resourceVersion);
  });
});

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { RIGHTS } from '../../scripts/chart.ts';
import { type ApiClient, connect } from '../../src/cluster/client/api-client.ts';
import { follow } from '../control-plane/follow.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { policyObject } from '../e2e/policy-objects.ts';
import { runOffline } from '../e2e/run-taintkeeper.ts';
import { skipFor } from '../skip-for.ts';
import { killLeader } from './measure/health.ts';
import { obstacleToRealNode } from './obstacle.ts';
import { installProduct, kubectl, setAtRegistration } from './product.ts';
import { type RealCluster, startRealCluster } from './real-cluster.ts';
import type { RealNode } from './real-node.ts';
import type { Service } from './service.ts';

const TIMEOUT_MS = 60_000;
const TAINT = { key: 'example.com/csi', effect: 'NoSchedule' };
const DRIVER = 'csi.example.com';
const CSI_NODES = '/apis/storage.k8s.io/v1/csinodes';
const SPEC = {
  mode: 'Restore',
  nodeSelector: { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'NotIn', values: ['n1'] }] },
  taints: [{ ...TAINT, ensure: 'UntilReady', readyWhen: { csiDrivers: [{ name: DRIVER }] } }],
};

interface Node {
  readonly metadata: { readonly uid: string };
  readonly spec: { readonly taints?: readonly { readonly key: string }[] };
}

interface CsiNode {
  readonly metadata: { readonly ownerReferences?: readonly { readonly uid: string }[] };
  /** The kubelet writes null for none. */
  readonly spec: { readonly drivers: readonly { readonly name: string }[] | null };
}

const isTainted = ({ spec }: Node) => (spec.taints ?? []).some(({ key }) => key === TAINT.key);

vi.setConfig({ testTimeout: 240_000 });

describe('a real node that registers with a taint of readyWhen.csiDrivers', skipFor(obstacleToRealNode()), () => {
  let cluster: RealCluster;
  let machine: RealNode;
  let driver: Service;
  let client: ApiClient | undefined;
  const stopping = new AbortController();
  /** All versions of n2 since it registered again, and of its CSINode, each with its resourceVersion. */
  const nodes: [Node, number][] = [];
  const csiNodes: [CsiNode, number][] = [];

  beforeAll(async () => {
    cluster = await startRealCluster({ nodes: 2 });
    machine = cluster.nodes[1] as RealNode;
    // Until its Node is deleted: the replicas stay on n1.
    await kubectl(cluster, ['cordon', machine.name]);
    await installProduct(cluster);
    await kubectl(cluster, ['apply', '-f', RIGHTS.listCsiNodes]);
    await kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(policyObject('TaintPolicy', 'csi', SPEC)));
    await setAtRegistration(cluster, TAINT.key);
    driver = machine.startCsiDriver(DRIVER);
    await kubectl(cluster, ['wait', `csinode/${machine.name}`, `--for=jsonpath={.spec.drivers[0].name}=${DRIVER}`]);
    await driver.stop();

    await machine.service('kubelet').stop();
    await kubectl(cluster, ['delete', 'node', machine.name]);
    client = await connect({ kubeconfig: await cluster.kubeconfigFile(admin), userAgent: 'csi-drivers' });
    const watchedNodes = follow<Node>(client, '/api/v1/nodes', stopping.signal, (node, version, name) => {
      if (name === machine.name) nodes.push([node, version]);
    });
    const watchedCsiNodes = follow<CsiNode>(client, CSI_NODES, stopping.signal, (csiNode, version, name) => {
      if (name === machine.name) csiNodes.push([csiNode, version]);
    });
    await Promise.all([watchedNodes.synced, watchedCsiNodes.synced]);
    machine.service('kubelet').start();
    await cluster.nodeReady(machine.name);
  }, 300_000);
  afterAll(async () => {
    stopping.abort();
    client?.close();
    await cluster?.stop();
  });

  /** Waits until `explain node` says that the node waits for this: the leader decides by the same rules. */
  async function waitsFor(text: string): Promise<void> {
    const env = { KUBECONFIG: await cluster.kubeconfigFile(admin) };
    const explain = async () => (await runOffline(['explain', 'node', machine.name], env)).stdout;
    await expect.poll(explain, { timeout: TIMEOUT_MS }).toContain(`waits for CSI driver ${DRIVER}: ${text}`);
  }

  it('keeps it while the driver does not run: under the next leader, and without a CSINode', async () => {
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
    const uid = nodes[0]?.[0].metadata.uid;
    const killed = await killLeader(cluster);
    driver.start();
    const isRegistered = ({ metadata, spec }: CsiNode) =>
      metadata.ownerReferences?.some((owner) => owner.uid === uid) && spec.drivers?.some(({ name }) => name === DRIVER);
    const [, registered] = await waitUntil(() => csiNodes.find(([csiNode]) => isRegistered(csiNode)), {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => `the CSINode of ${machine.name} does not have the driver:\n${driver.log()}`,
    });
    expect(await killed.isLast()).toBe(true);
    const [untainted, version] = await waitUntil(() => nodes.find(([node]) => !isTainted(node)), {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => `${machine.name} keeps its taint:\n${driver.log()}`,
    });
    expect(untainted.metadata.uid).toBe(uid);
    expect(registered).toBeLessThan(version);
  });
});

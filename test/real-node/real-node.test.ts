import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NAMESPACE } from '../../scripts/chart.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { skipFor } from '../skip-for.ts';
import { obstacleToRealNode } from './obstacle.ts';
import {
  installProduct,
  kubectl,
  policiesReady,
  productPods,
  productReady,
  readyPods,
  removeTaints,
} from './product.ts';
import { type RealCluster, startRealCluster } from './real-cluster.ts';

const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';
const TIMEOUT_MS = 60_000;

describe('on two real nodes', skipFor(obstacleToRealNode()), () => {
  let cluster: RealCluster;
  beforeAll(async () => {
    cluster = await startRealCluster({ nodes: 2 });
    await kubectl(cluster, ['label', 'node', 'n1', `${CONTROL_PLANE}=`]);
    await kubectl(cluster, ['taint', 'node', 'n1', `${CONTROL_PLANE}:NoSchedule`]);
    await installProduct(cluster);
  });
  afterAll(() => cluster?.stop());

  it('refuses kubectl taint what a policy protects', async () => {
    const { code, stderr } = await cluster.kubectl(['taint', 'node', 'n1', `${CONTROL_PLANE}:NoSchedule-`]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('removing taint') });
  });

  it('gives a CNI the tolerations that it lacks, and its pods run on both nodes', async () => {
    const template = {
      metadata: { labels: { app: 'kube-flannel' } },
      spec: { containers: [{ name: 'sleep', image: 'localhost/busybox:1' }] },
    };
    const daemonSet = {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'kube-flannel', namespace: 'kube-system' },
      spec: { selector: { matchLabels: { app: 'kube-flannel' } }, template },
    };
    await kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(daemonSet));
    await waitUntil(
      async () => {
        const { body } = await cluster.request<{ status: { numberReady: number } }>(
          admin,
          'GET',
          '/apis/apps/v1/namespaces/kube-system/daemonsets/kube-flannel',
        );
        return body.status.numberReady === 2 ? true : undefined;
      },
      { timeoutMs: TIMEOUT_MS, otherwise: () => 'its pods do not run on both nodes' },
    );
  });

  it('answers every request while the Deployment rolls', async () => {
    const before = (await productPods(cluster)).map(({ metadata }) => metadata.name);
    await kubectl(cluster, ['rollout', 'restart', 'deployment/taintkeeper', '-n', NAMESPACE]);
    const wrong: unknown[] = [];
    await waitUntil(
      async () => {
        const { status, body } = await removeTaints(cluster, 'n1');
        if (status !== 403) wrong.push(body);
        const ready = readyPods(await productPods(cluster)).map(({ metadata }) => metadata.name);
        return ready.length === 2 && !ready.some((name) => before.includes(name)) ? true : undefined;
      },
      { timeoutMs: TIMEOUT_MS, otherwise: () => 'it did not end' },
    );
    expect(wrong).toEqual([]);
  });

  it('lets a node be drained, and goes on protecting', async () => {
    await kubectl(cluster, ['drain', 'n2', '--ignore-daemonsets', '--timeout=60s']);
    expect(await removeTaints(cluster, 'n1')).toMatchObject({ status: 403 });
    await kubectl(cluster, ['uncordon', 'n2']);
    await productReady(cluster, 2);
    await policiesReady(cluster);
  });

  it('leaves nothing that refuses when its namespace is deleted, and comes back', async () => {
    await kubectl(cluster, ['delete', 'namespace', NAMESPACE, '--wait=false']);
    await waitUntil(async () => ((await removeTaints(cluster, 'n1')).status === 200 ? true : undefined), {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => 'the taint is still held',
    });
    await waitUntil(
      async () => {
        const { code } = await cluster.kubectl(['get', 'namespace', NAMESPACE]);
        return code === 0 ? undefined : true;
      },
      { timeoutMs: TIMEOUT_MS, otherwise: () => 'the namespace is still there' },
    );
    // Policies have outlived it, and what their status says.
    await installProduct(cluster);
    await waitUntil(async () => ((await removeTaints(cluster, 'n1')).status === 403 ? true : undefined), {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => 'the taint is not protected again',
    });
  });

  it('protects again after a power cut of all nodes, without help', async () => {
    await Promise.all(cluster.nodes.map((node) => node.cutPower()));
    await Promise.all(cluster.nodes.map((node) => node.powerOn()));
    await waitUntil(
      async () => ((await removeTaints(cluster, 'n1').catch(() => undefined))?.status === 403 ? true : undefined),
      {
        timeoutMs: 120_000,
        otherwise: () => 'the taint is not protected',
      },
    );
  }, 200_000);
});

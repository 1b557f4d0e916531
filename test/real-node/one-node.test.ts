import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RIGHTS } from '../../scripts/chart.ts';
import { serviceAccount } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { policyObject } from '../e2e/policy-objects.ts';
import { runOffline } from '../e2e/run-taintkeeper.ts';
import { skipFor } from '../skip-for.ts';
import { temporaryFile } from '../unit/temporary-directory.ts';
import { obstacleToRealNode } from './obstacle.ts';
import { describePods, installProduct, kubectl, policiesReady, productPods, productReady } from './product.ts';
import { type RealCluster, startRealCluster } from './real-cluster.ts';

const TIMEOUT_MS = 60_000;

describe('on one real node', skipFor(obstacleToRealNode()), () => {
  let cluster: RealCluster;
  beforeAll(async () => {
    cluster = await startRealCluster();
    await kubectl(cluster, ['apply', '-f', RIGHTS.nativePolicies]);
    await installProduct(cluster);
  });
  afterAll(() => cluster?.stop());

  it('runs a static pod that tolerates everything, and shows it, where only the authorized may', async () => {
    const policy = policyObject('TolerationRestriction', 'gpu', { mode: 'Deny', taints: [{ key: 'gpu' }] });
    await kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(policy));
    await kubectl(cluster, ['wait', '--for=condition=Ready', 'tolerationrestriction/gpu', '--timeout=60s']);
    const spec = {
      containers: [{ name: 'sleep', image: 'localhost/busybox:1' }],
      tolerations: [{ operator: 'Exists' }],
    };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'static', namespace: 'default' }, spec };
    const jobController = serviceAccount('kube-system', 'job-controller');
    const create = () =>
      cluster.request(jobController, 'POST', '/api/v1/namespaces/default/pods?dryRun=All', { body: pod });
    // The API server takes native policies up a moment after they were written.
    await waitUntil(async () => (await create()).status === 403 || undefined, {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => 'no pod is refused',
    });
    const { body } = await create();
    expect(body).toMatchObject({
      message: expect.stringContaining('TolerationRestriction gpu (spec.taints[0]): the pod tolerates *'),
    });
    cluster.nodes[0]?.addStaticPod(pod);
    await waitUntil(
      async () => {
        const { code, stdout } = await cluster.kubectl(['get', 'pod', 'static-n1', '-o', 'jsonpath={.status.phase}']);
        return (code === 0 && stdout === 'Running') || undefined;
      },
      { timeoutMs: TIMEOUT_MS, otherwise: () => 'the static pod is not shown' },
    );
  });

  it('lets its node be drained with two replicas and a PodDisruptionBudget, and is ready again when it is uncordoned', async () => {
    // The static pod of the test before is nobody's: drain asks to be told of such pods.
    await kubectl(cluster, ['drain', 'n1', '--ignore-daemonsets', '--force', '--timeout=120s']);
    const bound = (await productPods(cluster)).filter(({ spec }) => spec.nodeName !== undefined);
    expect(describePods(bound)).toBe('');

    await kubectl(cluster, ['uncordon', 'n1']);
    await productReady(cluster, 2);
    await policiesReady(cluster);
  }, 240_000);

  it('has the taints of a Node that is deleted set again by a policy of export, when its kubelet registers', async () => {
    await kubectl(cluster, ['taint', 'node', 'n1', 'example.com/quarantine=yes:PreferNoSchedule']);
    const file = temporaryFile('n1.yaml', await kubectl(cluster, ['get', 'node', 'n1', '-o', 'yaml']));
    const { stdout: policy } = await runOffline(['export', '--nodes', file]);
    await kubectl(cluster, ['apply', '-f', '-'], policy);
    await kubectl(cluster, ['wait', '--for=condition=Ready', 'taintpolicy/node-n1', '--timeout=60s']);

    const kubelet = cluster.nodes[0]?.service('kubelet');
    const uid = () => kubectl(cluster, ['get', 'node', 'n1', '-o', 'jsonpath={.metadata.uid}']);
    const before = await uid();
    await kubelet?.stop();
    await kubectl(cluster, ['delete', 'node', 'n1']);
    kubelet?.start();
    await cluster.nodeReady('n1');
    expect(await uid()).not.toBe(before);
    const taints = await kubectl(cluster, ['get', 'node', 'n1', '-o', 'jsonpath={.spec.taints}']);
    expect(JSON.parse(taints)).toContainEqual({
      ...{ key: 'example.com/quarantine', value: 'yes' },
      effect: 'PreferNoSchedule',
    });
  }, 120_000);
});

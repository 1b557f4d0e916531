import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import type { PolicyObject } from '../e2e/policy-objects.ts';
import { type Recovery, startRecovery } from '../e2e/start-recovery.ts';
import { skipFor } from '../skip-for.ts';
import { obstacleToRealNode } from './obstacle.ts';
import { kubectl, type Pod } from './product.ts';
import { type RealCluster, startRealCluster } from './real-cluster.ts';

const TIMEOUT_MS = 120_000;
const PODS = '/api/v1/namespaces/default/pods';
const POLICY: PolicyObject = {
  apiVersion: 'taintkeeper.dev/v1alpha1',
  kind: 'RecoveryPolicy',
  metadata: { name: 'daemons' },
  spec: { daemonSets: { namespaces: ['default'] }, mode: 'Recover' },
};
const DAEMON_SET = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'daemon', namespace: 'default' },
  spec: {
    selector: { matchLabels: { app: 'daemon' } },
    template: {
      metadata: { labels: { app: 'daemon' } },
      spec: {
        containers: [{ name: 'sleep', image: 'localhost/busybox:1' }],
        terminationGracePeriodSeconds: 1,
      },
    },
  },
};

vi.setConfig({ testTimeout: 3 * TIMEOUT_MS });

describe('on a real node whose disk is full', skipFor(obstacleToRealNode()), () => {
  let cluster: RealCluster;
  let recovery: Recovery;
  beforeAll(async () => {
    cluster = await startRealCluster({
      diskMiB: 256,
      kubeletConfig: {
        evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '30%' },
        evictionPressureTransitionPeriod: '3s',
      },
    });
    await kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(DAEMON_SET));
    await someReach(({ phase }) => phase === 'Running', 'no pod runs');
    recovery = await startRecovery(cluster, admin, [POLICY], { stuckMs: 1_000 });
  });
  afterAll(async () => {
    await recovery?.stop();
    await cluster?.stop();
  });

  it('frees no daemon pod that the kubelet would evict again, and the last one when that is over', async () => {
    const [node] = cluster.nodes;
    await node?.fillDisk(200);
    // From the second one on they are rejected at once, and the DaemonSet controller waits twice as long each time: half a minute after the sixth.
    const evicted = new Set<string>();
    await waitUntil(
      async () => {
        for (const { metadata } of (await pods()).filter(({ status }) => status.reason === 'Evicted')) {
          evicted.add(`default/${metadata.name}`);
        }
        return evicted.size >= 6 ? true : undefined;
      },
      { timeoutMs: TIMEOUT_MS, otherwise: () => `evicted are only ${[...evicted]}` },
    );
    const freedUnderPressure = recovery.seen();
    await node?.fillDisk(0);
    // The last one: the DaemonSet controller has deleted those before it.
    await waitUntil(() => recovery.seen().some((name) => evicted.has(name)) || undefined, {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => `freed are [${recovery.seen()}], none of ${[...evicted]}`,
    });
    await someReach(({ phase }) => phase === 'Running', 'no pod runs again');
    expect(freedUnderPressure).toEqual([]);
  });

  async function someReach(isReached: (status: Pod['status']) => boolean, otherwise: string): Promise<void> {
    await waitUntil(async () => (await pods()).some(({ status }) => isReached(status)) || undefined, {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => otherwise,
    });
  }

  async function pods(): Promise<readonly Pod[]> {
    return (await cluster.request<{ items: Pod[] }>(admin, 'GET', PODS)).body.items;
  }
});

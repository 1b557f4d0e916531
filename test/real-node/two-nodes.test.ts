import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { NAMESPACE } from '../../scripts/chart.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { skipFor } from '../skip-for.ts';
import { obstacleToRealNode } from './obstacle.ts';
import { describePods, installProduct, kubectl, type Pod, productPods, productReady, readyPods } from './product.ts';
import { type RealCluster, startRealCluster } from './real-cluster.ts';

/** Until a node without power is not ready, its pods are evicted, and it is back. */
const TIMEOUT_MS = 240_000;

vi.setConfig({ testTimeout: TIMEOUT_MS });

describe('two replicas and two nodes', skipFor(obstacleToRealNode()), () => {
  let cluster: RealCluster;
  beforeAll(async () => {
    cluster = await startRealCluster({ nodes: 2 });
    await installProduct(cluster);
    await oneOnEach();
  });
  afterAll(() => cluster?.stop());

  it.each([1, 2, 3])('have one on each after rollout %i', async () => {
    const before = await productPods(cluster);
    await kubectl(cluster, ['rollout', 'restart', 'deployment/taintkeeper', '-n', NAMESPACE]);
    await oneOnEach(before);
  });

  it('have one on each after both were deleted', async () => {
    const before = await productPods(cluster);
    await kubectl(cluster, ['delete', 'pods', '--all', '-n', NAMESPACE, '--wait=false']);
    await oneOnEach(before);
  });

  it('have one on each after a drain that put both on the other node', async () => {
    await kubectl(cluster, ['drain', 'n2', '--ignore-daemonsets', '--timeout=60s']);
    await waitUntil(async () => (readyPods(await productPods(cluster)).length === 2 ? true : undefined), {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => 'there are no two replicas on the node that is left',
    });
    await kubectl(cluster, ['uncordon', 'n2']);
    await oneOnEach();
  });

  it('let both nodes be drained one after the other, and have one on each when both are uncordoned', async () => {
    for (const node of ['n2', 'n1']) await kubectl(cluster, ['drain', node, '--ignore-daemonsets', '--timeout=60s']);
    const bound = (await productPods(cluster)).filter(({ spec }) => spec.nodeName !== undefined);
    expect(describePods(bound)).toBe('');
    for (const node of ['n1', 'n2']) await kubectl(cluster, ['uncordon', node]);
    await oneOnEach();
  });

  it('have one on each after the second node joins a cluster of one', async () => {
    const [, second] = cluster.nodes;
    await kubectl(cluster, ['drain', 'n2', '--ignore-daemonsets', '--timeout=60s']);
    await second?.cutPower();
    await kubectl(cluster, ['delete', 'node', 'n2']);
    await productReady(cluster, 2);
    await second?.powerOn();
    await cluster.nodeReady('n2');
    await oneOnEach();
  });

  it('lose nothing but a moment to the shutdown of a node: no replacement is sent there, and rejected', async () => {
    const [, second] = cluster.nodes;
    await second?.announceShutdown();
    await waitUntil(
      async () => {
        const ready = readyPods(await productPods(cluster)).filter(({ spec }) => spec.nodeName === 'n1');
        return ready.length === 2 ? true : undefined;
      },
      { timeoutMs: TIMEOUT_MS, otherwise: () => 'n1 does not have two ready replicas while n2 shuts down' },
    );
    const rejected = (await productPods(cluster)).filter(({ status }) => status.reason === 'NodeShutdown');
    expect(rejected).toEqual([]);
    await second?.cutPower();
    await second?.powerOn();
    await cluster.nodeReady('n2');
    // The one that has ended in good order stays, as Succeeded.
    await kubectl(cluster, ['delete', 'pods', '-n', NAMESPACE, '--field-selector=status.phase=Succeeded']);
    await oneOnEach();
  });

  it(
    'have one on each after a node had no power for long',
    async () => {
      const [, second] = cluster.nodes;
      await second?.cutPower();
      await waitUntil(
        async () => {
          const left = readyPods(await productPods(cluster)).filter(({ spec }) => spec.nodeName === 'n1');
          return left.length === 2 ? true : undefined;
        },
        { timeoutMs: TIMEOUT_MS, otherwise: () => 'n1 does not have two ready replicas while n2 has no power' },
      );
      await second?.powerOn();
      await oneOnEach();
    },
    2 * TIMEOUT_MS,
  );

  /** All of them others than before. */
  async function oneOnEach(before: readonly Pod[] = []): Promise<void> {
    const old = new Set(before.map(({ metadata }) => metadata.name));
    let last: readonly Pod[] = [];
    await waitUntil(
      async () => {
        last = await productPods(cluster);
        const ready = readyPods(last);
        const isSettled =
          last.length === 2 && ready.length === 2 && !ready.some(({ metadata }) => old.has(metadata.name));
        return isSettled && new Set(ready.map(({ spec }) => spec.nodeName)).size === 2 ? true : undefined;
      },
      { timeoutMs: TIMEOUT_MS, otherwise: () => `not one on each node: ${describePods(last)}` },
    );
  }
});

import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { INSTALL, NAMESPACE } from '../../scripts/chart.ts';
import { obstacleToHelm } from '../control-plane/helm.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { guideCommands } from '../e2e/guide-commands.ts';
import { skipFor } from '../skip-for.ts';
import { helm, installByHelm } from './helm.ts';
import { startLoad } from './load.ts';
import { obstacleToRealNode } from './obstacle.ts';
import { installProduct, kubectl, removeTaints } from './product.ts';
import { type RealCluster, startRealCluster } from './real-cluster.ts';

const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';
const GONE_TIMEOUT_MS = 60_000;
/** A replica that still runs, and could register the webhook again, has this long to end. */
const ENDS_WITHIN_MS = 10_000;
const LEFT = 'mutatingwebhookconfiguration,validatingwebhookconfiguration';

type Step = (cluster: RealCluster) => Promise<unknown>;

const run =
  (...args: string[]): Step =>
  (cluster) =>
    kubectl(cluster, args);
const manifest = run('delete', '--ignore-not-found', '-f', INSTALL);
const namespace = run('delete', 'namespace', NAMESPACE);
const byManifest: Step = installProduct;
const byHelm: Step = (cluster) => installByHelm(cluster);

vi.setConfig({ testTimeout: 180_000 });

describe('on a real node, uninstalling', skipFor(obstacleToRealNode() ?? obstacleToHelm()), () => {
  let cluster: RealCluster;
  beforeAll(async () => {
    cluster = await startRealCluster();
    await kubectl(cluster, ['taint', 'node', 'n1', `${CONTROL_PLANE}:NoSchedule`]);
  });
  afterAll(() => cluster?.stop());

  it.each<{ order: string; install: Step; steps: readonly Step[] }>([
    { order: 'kubectl delete -f', install: byManifest, steps: [manifest] },
    {
      order: "the guide's commands",
      install: byManifest,
      steps: guideCommands('uninstall.md', 'Uninstall').map(({ command }) =>
        run(...command.replace('manifests/install.yaml', INSTALL).split(' ').slice(1)),
      ),
    },
    { order: 'the namespace, then the rest', install: byManifest, steps: [namespace, manifest] },
    {
      order: 'the Deployment, then the rest',
      install: byManifest,
      steps: [run('delete', 'deployment', 'taintkeeper', '-n', NAMESPACE), manifest],
    },
    {
      order: 'its rights, then the rest',
      install: byManifest,
      steps: [run('delete', 'clusterrolebinding', 'taintkeeper'), manifest],
    },
    {
      order: 'the definitions, then the rest',
      install: byManifest,
      steps: [run('delete', 'crd', '-l', 'app.kubernetes.io/name=taintkeeper'), manifest],
    },
    {
      order: 'helm uninstall, then the namespace',
      install: byHelm,
      steps: [(one) => helm(one, 'uninstall', 'taintkeeper'), namespace],
    },
    { order: 'the namespace of a release, then the rest', install: byHelm, steps: [namespace, manifest] },
  ])('leaves nothing that refuses: $order', async ({ install, steps }) => {
    await install(cluster);
    await waitUntil(async () => ((await removeTaints(cluster, 'n1')).status === 403 ? true : undefined), {
      timeoutMs: GONE_TIMEOUT_MS,
      otherwise: () => 'the taint is not protected',
    });
    const load = startLoad(cluster);
    for (const step of steps) await step(cluster);
    await waitUntil(async () => ((await kubectl(cluster, ['get', LEFT, '-o', 'name'])) === '' ? true : undefined), {
      timeoutMs: GONE_TIMEOUT_MS,
      otherwise: () => 'a webhook is still registered',
    });
    await delay(ENDS_WITHIN_MS);
    const sent = await load.stop();
    expect(await kubectl(cluster, ['get', LEFT, '-o', 'name'])).toBe('');
    // What no policy is about never failed, nor a DaemonSet; and in the end nothing is refused.
    expect(
      sent.filter(({ what, outcome }) => outcome === 'wrong' || (what !== 'removal' && outcome === 'failed')),
    ).toEqual([]);
    expect((await removeTaints(cluster, 'n1')).status).toBe(200);
    await kubectl(cluster, ['delete', '--ignore-not-found', '-f', INSTALL]);
  });
});

import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { INSTALL, NAMESPACE } from '../scripts/chart.ts';
import { admin } from '../test/control-plane/users.ts';
import { waitUntil } from '../test/control-plane/wait-until.ts';
import { startLoad, summarize } from '../test/real-node/load.ts';
import { SANDBOX_IMAGE } from '../test/real-node/node-files.ts';
import { kubectl, policiesReady, productReady } from '../test/real-node/product.ts';
import { provideRealNodeOrExit } from '../test/real-node/provide.ts';
import { type RealCluster, startRealCluster } from '../test/real-node/real-cluster.ts';
import { chapter, say, secondsSince, showKubectl } from './printing.ts';

const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';
const MASTER = 'node-role.kubernetes.io/master';
const DEPLOYMENT = 'deployment/taintkeeper';
const IN_NAMESPACE = ['-n', NAMESPACE];
const BY_NODE = [
  '-o',
  'custom-columns=POD:.metadata.name,NODE:.spec.nodeName,PHASE:.status.phase',
  '--sort-by=.spec.nodeName',
];
const TAINTS = 'custom-columns=NODE:.metadata.name,TAINTS:.spec.taints[*].key';
const REPAIR_TIMEOUT_MS = 60_000;

/** The story on nodes with containers, from the manifest that people apply; so it has an installation, rollouts and an end as well. */
export async function playOnRealNodes(): Promise<void> {
  await provideRealNodeOrExit();
  const start = performance.now();
  say('Starting two nodes: kubelet, containerd and kube-proxy, the first one with a control plane …');
  await using cluster = await startRealCluster({ nodes: 2 });
  say(`… which are Ready: ${secondsSince(start)}.`);
  await play(cluster);
  chapter('Stopping everything …');
}

async function play(cluster: RealCluster): Promise<void> {
  const show = (args: string[], input?: string) => showKubectl(cluster, admin, args, input);

  chapter('1. Install: one manifest, on nodes with the two names that the taint of a control plane has');
  await show(['taint', 'node', 'n1', `${CONTROL_PLANE}:NoSchedule`]);
  await show(['taint', 'node', 'n2', `${MASTER}:NoSchedule`]);
  const applied = performance.now();
  await show(['apply', '-f', pathOf(INSTALL)]);
  await productReady(cluster, 2);
  await policiesReady(cluster);
  say(`Two replicas are ready and all policies in force: ${secondsSince(applied)}.`);
  await show(['get', 'pods', ...IN_NAMESPACE, ...BY_NODE]);
  await show(['get', 'taintpolicies,tolerationpolicies']);

  chapter('2. Deny: a user removes the control-plane taint');
  await show(['taint', 'node', 'n1', `${CONTROL_PLANE}-`]);

  chapter("3. Flannel's DaemonSet tolerates control-plane only; n2 is still tainted master");
  await kubectl(cluster, ['create', 'namespace', 'kube-flannel']);
  await show(['apply', '-f', '-'], flannel());
  await kubectl(cluster, ['rollout', 'status', 'daemonset/kube-flannel-ds', '-n', 'kube-flannel', '--timeout=60s']);
  await show(['get', 'pods', '-n', 'kube-flannel', ...BY_NODE]);

  chapter('4. A rollout of taintkeeper, and a node that is drained, under requests');
  await underLoad(cluster, async () => {
    await show(['rollout', 'restart', DEPLOYMENT, ...IN_NAMESPACE]);
    await kubectl(cluster, ['rollout', 'status', DEPLOYMENT, ...IN_NAMESPACE, '--timeout=60s']);
    // The old ones answer for a while yet.
    await productReady(cluster, 2);
  });
  await underLoad(cluster, async () => {
    await show(['drain', 'n2', '--ignore-daemonsets', '--timeout=60s']);
    await productReady(cluster, 2);
    await show(['uncordon', 'n2']);
  });

  chapter('5. Restore: a taint is removed while taintkeeper is down');
  await show(['label', 'node', 'n2', 'pool=gpu']);
  await show(['apply', '-f', pathOf(fileURLToPath(new URL('policies.yaml', import.meta.url)))]);
  await isBack(cluster);
  await show(['scale', DEPLOYMENT, ...IN_NAMESPACE, '--replicas=0']);
  await productReady(cluster, 0);
  await show(['taint', 'node', 'n2', 'dedicated-']);
  await show(['get', 'node', 'n2', '-o', TAINTS]);
  const scaled = performance.now();
  await show(['scale', DEPLOYMENT, ...IN_NAMESPACE, '--replicas=2']);
  await isBack(cluster);
  say(`It is back: ${secondsSince(scaled)}.`);
  await show(['get', 'node', 'n2', '-o', TAINTS]);
  await productReady(cluster, 2);

  chapter('6. Uninstall: nothing is left that refuses');
  const webhooks = 'clusterrole,mutatingwebhookconfiguration,validatingwebhookconfiguration';
  await show(['delete', '--ignore-not-found', webhooks, 'taintkeeper']);
  await show(['delete', '--ignore-not-found', '-f', pathOf(INSTALL)]);
  await show(['taint', 'node', 'n1', `${CONTROL_PLANE}-`]);
}

/** Does something while requests are sent that taintkeeper has to answer, and says what became of those. */
async function underLoad(cluster: RealCluster, step: () => Promise<void>): Promise<void> {
  const load = startLoad(cluster);
  await step();
  const { sent, failed, missed, max } = summarize((await load.stop()).filter(({ what }) => what !== 'label'));
  say(
    `Of ${sent} requests that taintkeeper had to answer, ${failed} failed and ${missed} passed without it; the slowest answer took ${max.toFixed(2)} s.`,
  );
}

/** Waits for the taint that policies.yaml requires on nodes of the GPU pool. */
async function isBack(cluster: RealCluster): Promise<void> {
  const args = ['get', 'node', 'n2', '-o', 'jsonpath={.spec.taints[*].key}'];
  await waitUntil(async () => (await kubectl(cluster, args)).split(' ').includes('dedicated') || undefined, {
    timeoutMs: REPAIR_TIMEOUT_MS,
    otherwise: () => 'the taint of the GPU pool is not on n2',
  });
}

/** With an image that the nodes have: they are connected with nothing. */
function flannel(): string {
  const manifest = readFileSync(new URL('kube-flannel.yaml', import.meta.url), 'utf8');
  return manifest.replace(/image: .*/, `image: ${SANDBOX_IMAGE}`);
}

/** The command as a user would type it. */
function pathOf(file: string): string {
  return relative(process.cwd(), file);
}

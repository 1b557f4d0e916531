import { RIGHTS } from '../../scripts/chart.ts';
import { parseStartupBoot, STARTUP_BOOT_ANNOTATION } from '../../src/judge/node-boot.ts';
import { follow, followVersions, type Version } from '../control-plane/follow.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { daemonSetManifest } from '../e2e/daemon-sets.ts';
import { policyObject } from '../e2e/policy-objects.ts';
import { type Conditioned, isReady } from './conditions.ts';
import { startFollowedCluster } from './followed-cluster.ts';
import { type KilledLeader, killLeader } from './measure/health.ts';
import { installProduct, kubectl } from './product.ts';
import type { RealCluster } from './real-cluster.ts';
import { isTainted } from './waiting-node.ts';

const TAINT = { key: 'example.com/agent', effect: 'NoSchedule' };
const NAMESPACE = 'default';
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const NODE = 'n2';
const TIMEOUT_MS = 180_000;
/** A pod that wants to run on the node is created at this interval, and deleted when it is bound. */
const POD_EVERY_MS = 250;
/** How long the agent takes at least until it is Ready. */
const READY_AFTER_SECONDS = 3;

/** One reboot of the node. Times are in milliseconds since the epoch, by the clock of this machine. */
export interface Reboot {
  readonly powerOffAt: number;
  readonly powerOnAt: number;
  /** The kubelet has reported the boot: a watch shows its first status. */
  readonly reportedAt: number;
  /** The leader has set the taint: a watch shows it. */
  readonly setAt: number;
  readonly removedAt: number;
  /** When the container of the agent started that was the first to be Ready after the leader's write. */
  readonly agentStartedAt: number;
  readonly agentReadyAt: number;
  /** How many pods were bound to the node from its loss of power to the first status, and from then to the leader's write. */
  readonly boundBeforeReport: number;
  readonly boundBeforeWrite: number;
  /** The names of pods that were bound from the write to the removal of the taint. */
  readonly boundWhileTainted: readonly string[];
}

/** A real node with an agent in a DaemonSet, and pods without its toleration that are created all the time. */
export interface RebootingNode {
  /**
   * Cuts the power, switches it on, and waits until the taint has come and gone.
   * @param whileTainted called once the taint has come
   */
  reboot(whileTainted?: () => Promise<void>): Promise<Reboot>;
  /** Of taintkeeper. */
  killLeader(): Promise<KilledLeader>;
  stop(): Promise<void>;
}

interface Node {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly taints?: readonly { readonly key: string }[] };
  readonly status: { readonly nodeInfo: { readonly bootID: string } };
}

interface Pod {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec: { readonly nodeName?: string };
  readonly status?: Conditioned & {
    readonly containerStatuses?: readonly { readonly state?: { readonly running?: { readonly startedAt: string } } }[];
  };
}

/** @param image an archive of the product's image; without it, the Dockerfile is built */
export async function startRebootingNode(image?: string): Promise<RebootingNode> {
  const options = { nodes: 2, productImage: image };
  return startFollowedCluster(options, async ({ cluster, client, signal }) => {
    // The node that reboots has no webhook on it.
    await kubectl(cluster, ['cordon', NODE]);
    await installProduct(cluster);
    await kubectl(cluster, ['uncordon', NODE]);
    await kubectl(cluster, ['apply', '-f', RIGHTS.listPods]);
    const bound = new Map<string, Version<string>>();
    const agents: Version<Pod>[] = [];
    const watchedPods = follow<Pod>(client, PODS, signal, (value, resourceVersion, name) => {
      const seen = { at: Date.now(), resourceVersion };
      if (value.metadata.labels?.app === 'agent') agents.push({ ...seen, value });
      else if (value.spec.nodeName && !bound.has(name)) bound.set(name, { ...seen, value: name });
    });
    const [nodes] = await Promise.all([
      followVersions<Node>(client, '/api/v1/nodes', signal, NODE),
      watchedPods.synced,
    ]);
    await createAgent(cluster);
    await applyPolicy(cluster);
    await waitUntil(() => recordedBoot(nodes.at(-1)?.value) && (agents.some(isReadyAgent) || undefined), {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => `${NODE} is not adopted, or its agent is not Ready`,
    });
    return rebooting(cluster, { nodes, bound, agents });
  });
}

interface History {
  readonly nodes: readonly Version<Node>[];
  readonly bound: ReadonlyMap<string, Version<string>>;
  readonly agents: readonly Version<Pod>[];
}

const isReadyAgent = ({ value }: Version<Pod>) => isReady(value.status);
const recordedBoot = (node: Node | undefined) =>
  parseStartupBoot(node?.metadata.annotations?.[STARTUP_BOOT_ANNOTATION]);

function rebooting(cluster: RealCluster, { nodes, bound, agents }: History): Omit<RebootingNode, 'stop'> {
  const [, machine] = cluster.nodes;
  if (!machine) throw new Error(`there is no ${NODE}`);

  return {
    killLeader: () => killLeader(cluster),
    async reboot(whileTainted = async () => {}) {
      const bootBefore = nodes.at(-1)?.value.status.nodeInfo.bootID;
      const pods = createPods(cluster);
      const powerOffAt = Date.now();
      const off = nodes.at(-1)?.resourceVersion ?? 0;
      await machine.cutPower();
      const powerOnAt = Date.now();
      await machine.powerOn();
      const after = (isSo: (node: Node) => boolean, since: number) =>
        waitUntil(() => nodes.find(({ resourceVersion, value }) => resourceVersion > since && isSo(value)), {
          timeoutMs: TIMEOUT_MS,
          otherwise: () => `${NODE}: ${JSON.stringify(nodes.at(-1)?.value.spec)}`,
        });
      const reported = await after(({ status }) => status.nodeInfo.bootID !== bootBefore, off);
      const set = await after((node) => isTainted(node, TAINT.key), off);
      await whileTainted();
      const removed = await after((node) => !isTainted(node, TAINT.key), set.resourceVersion);
      await pods.stop();
      const ready = agents.find((one) => one.resourceVersion > set.resourceVersion && isReadyAgent(one));
      const startedAt = ready?.value.status?.containerStatuses?.[0]?.state?.running?.startedAt ?? '';
      const boundBetween = (from: number, to: number) =>
        [...bound.values()].filter(({ resourceVersion: at }) => at > from && at < to).map(({ value }) => value);
      return {
        powerOffAt,
        powerOnAt,
        reportedAt: reported.at,
        setAt: set.at,
        removedAt: removed.at,
        agentStartedAt: Date.parse(startedAt),
        agentReadyAt: ready?.at ?? Number.NaN,
        boundBeforeReport: boundBetween(off, reported.resourceVersion).length,
        boundBeforeWrite: boundBetween(reported.resourceVersion, set.resourceVersion).length,
        boundWhileTainted: boundBetween(set.resourceVersion, removed.resourceVersion),
      };
    },
  };
}

/** Pods without the toleration, of which there is always one that waits for the node. */
function createPods(cluster: RealCluster): { stop(): Promise<void> } {
  let number = 0;
  const spec = {
    nodeSelector: { 'kubernetes.io/hostname': NODE },
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'sleep', image: 'localhost/busybox:1' }],
  };
  const pending = new Set<Promise<unknown>>();
  const send = (...request: [method: string, path: string, body: object]) => {
    const [method, path, body] = request;
    const sent: Promise<unknown> = cluster.request(admin, method, path, { body }).finally(() => pending.delete(sent));
    pending.add(sent);
  };
  const timer = setInterval(() => {
    const name = `probe-${Date.now()}-${++number}`;
    send('POST', PODS, { metadata: { name, labels: { app: 'probe' } }, spec });
  }, POD_EVERY_MS);
  const sweep = setInterval(
    () => send('DELETE', `${PODS}?labelSelector=app%3Dprobe`, { gracePeriodSeconds: 0 }),
    20 * POD_EVERY_MS,
  );
  return {
    async stop() {
      clearInterval(timer);
      clearInterval(sweep);
      await Promise.allSettled(pending);
      await kubectl(cluster, ['delete', 'pods', '-n', NAMESPACE, '-l', 'app=probe', '--force', '--grace-period=0']);
    },
  };
}

async function createAgent(cluster: RealCluster): Promise<void> {
  const container = {
    name: 'sleep',
    image: 'localhost/busybox:1',
    readinessProbe: {
      exec: { command: ['/bin/busybox', 'true'] },
      initialDelaySeconds: READY_AFTER_SECONDS,
      periodSeconds: 1,
    },
  };
  const manifest = daemonSetManifest(NAMESPACE, 'agent', {
    nodeSelector: { 'kubernetes.io/hostname': NODE },
    tolerations: [{ operator: 'Exists' }],
    containers: [container],
  });
  await kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(manifest));
}

async function applyPolicy(cluster: RealCluster): Promise<void> {
  const readyWhen = { daemonSets: [{ namespace: NAMESPACE, name: 'agent' }] };
  const spec = {
    mode: 'Restore',
    nodeSelector: { matchLabels: { 'kubernetes.io/hostname': NODE } },
    taints: [{ ...TAINT, ensure: 'UntilReady', readyWhen, afterReboot: 'SetAgain' }],
  };
  await kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(policyObject('TaintPolicy', 'agent', spec)));
}

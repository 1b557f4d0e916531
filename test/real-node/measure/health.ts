import { setTimeout as delay } from 'node:timers/promises';
import { NAMESPACE } from '../../../scripts/chart.ts';
import { admin } from '../../control-plane/users.ts';
import { waitUntil } from '../../control-plane/wait-until.ts';
import { type Conditioned, isReady } from '../conditions.ts';
import { type Pod, productPods, readyPods } from '../product.ts';
import type { RealCluster } from '../real-cluster.ts';

const INTERVAL_MS = 250;
const TIMEOUT_MS = 120_000;
/** A leader renews every 2 s. */
const RENEWED_WITHIN_MS = 5_000;

/** Looks again and again at what is wrong with the replicas, for the duration of an outage. */
export interface HealthWatch {
  /** When something was wrong last, by performance.now(); undefined if never. */
  readonly lastWrongAt: number | undefined;
  /** Waits until nothing was wrong for so long, in milliseconds. @throws Error that says what still is, after 2 minutes */
  rightFor(ms: number): Promise<void>;
  stop(): Promise<void>;
}

export function watchHealth(cluster: RealCluster): HealthWatch {
  let lastWrongAt: number | undefined;
  let last: string | undefined;
  /** When the first and the last of the latest checks began that found nothing. */
  let right: { readonly since: number; readonly until: number } | undefined;
  let isStopped = false;
  const watching = (async () => {
    while (!isStopped) {
      const startedAt = performance.now();
      const trouble = await troubleOf(cluster).catch((error: unknown) => `${error}`);
      if (trouble !== undefined) {
        lastWrongAt = performance.now();
        last = trouble;
        right = undefined;
      } else {
        right = { since: right?.since ?? startedAt, until: startedAt };
      }
      await delay(INTERVAL_MS);
    }
  })();
  return {
    get lastWrongAt() {
      return lastWrongAt;
    },
    async rightFor(ms) {
      const began = performance.now();
      await waitUntil(() => (right && right.until - Math.max(began, right.since) > ms ? true : undefined), {
        timeoutMs: TIMEOUT_MS,
        otherwise: () => `the cluster is not healthy for ${ms} ms: ${last}`,
      });
    },
    stop: async () => {
      isStopped = true;
      await watching;
    },
  };
}

interface Leader {
  /** As the Lease names it. */
  readonly holder: string;
  readonly pod: Pod;
}

/** The replica that leads, if one does. */
async function leader(cluster: RealCluster): Promise<Leader | undefined> {
  const holder = await leaseHolder(cluster);
  const pod = (await productPods(cluster)).find(({ metadata }) => holder?.startsWith(metadata.name));
  return holder !== undefined && pod ? { holder, pod } : undefined;
}

function anyLeader(cluster: RealCluster): Promise<Leader> {
  return waitUntil(() => leader(cluster), { timeoutMs: TIMEOUT_MS, otherwise: () => 'no replica leads' });
}

/** The node of the replica that leads, if one does. */
export async function leaderNode(cluster: RealCluster): Promise<string | undefined> {
  return (await leader(cluster))?.pod.spec.nodeName;
}

export interface KilledLeader {
  /** Whether no other process has led since: the Lease still names this one. */
  isLast(): Promise<boolean>;
  /** Waits until another process leads. */
  nextLeads(): Promise<void>;
}

/** Sends SIGKILL to the process that leads, and to no other. */
export async function killLeader(cluster: RealCluster): Promise<KilledLeader> {
  const { holder: killed, pod } = await anyLeader(cluster);
  const node = cluster.nodes.find(({ name }) => name === pod.spec.nodeName);
  if (!node) throw new Error(`${killed} leads, and its pod is on no node`);
  // Two replicas on one node differ by their host name, which containerd puts into the environment.
  const pids = `grep --files-with-matches --text 'HOSTNAME=${pod.metadata.name}' /proc/[0-9]*/environ | cut --delimiter=/ --fields=3`;
  await node.run(['sh', '-c', `kill -KILL $(${pids})`]);
  return {
    isLast: async () => (await lease(cluster)).holderIdentity === killed,
    async nextLeads() {
      const isAnother = async () => ![undefined, killed].includes(await leaseHolder(cluster)) || undefined;
      await waitUntil(isAnother, { timeoutMs: TIMEOUT_MS, otherwise: () => `no replica leads after ${killed}` });
    },
  };
}

/** Has the replica on this node lead: that of the other node is asked to stop, gives the Lease back, and is started again. */
export async function leadFrom(cluster: RealCluster, node: string): Promise<void> {
  const first = (await anyLeader(cluster)).pod.spec.nodeName;
  if (first === node) return;
  await cluster.nodes.find(({ name }) => name === first)?.run(['pkill', '-TERM', '-f', 'taintkeeper.cjs serve']);
  await waitUntil(async () => ((await leaderNode(cluster)) === node ? true : undefined), {
    timeoutMs: TIMEOUT_MS,
    otherwise: () => `the replica on ${node} does not lead`,
  });
}

/** What is wrong: both nodes are to be Ready, the Deployment to be rolled out, two replicas to be ready, and one of them to lead. */
async function troubleOf(cluster: RealCluster): Promise<string | undefined> {
  const pods = (await productPods(cluster)).filter(({ status }) => !isOver(status));
  const ready = readyPods(pods);
  if (pods.length !== 2 || ready.length !== 2) return `${ready.length} of ${pods.length} pods are ready`;
  if (!(await isRolledOut(cluster))) return 'the rollout is under way';
  const holder = await leaseHolder(cluster);
  if (!pods.some(({ metadata }) => holder?.startsWith(metadata.name))) return `no replica leads: ${holder}`;
  const nodes = await Promise.all(
    cluster.nodes.map(({ name }) => cluster.request<NodeObject>(admin, 'GET', `/api/v1/nodes/${name}`)),
  );
  return nodes.every(({ body }) => isReady(body.status)) ? undefined : 'a node is not Ready';
}

interface NodeObject {
  readonly status?: Conditioned;
}

/** A pod that has ended, and stays to be seen. */
function isOver({ phase }: Pod['status']): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

async function isRolledOut(cluster: RealCluster): Promise<boolean> {
  const { body } = await cluster.request<{
    metadata: { generation: number };
    status: { observedGeneration: number; replicas: number; updatedReplicas: number; availableReplicas: number };
  }>(admin, 'GET', `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/taintkeeper`);
  const { observedGeneration, replicas, updatedReplicas, availableReplicas } = body.status;
  const isSeen = observedGeneration >= body.metadata.generation;
  return isSeen && replicas === 2 && updatedReplicas === 2 && availableReplicas === 2;
}

/** Who holds the Lease, and has renewed it lately. */
async function leaseHolder(cluster: RealCluster): Promise<string | undefined> {
  const { holderIdentity, renewTime } = await lease(cluster);
  const isRecent = renewTime !== undefined && Date.now() - Date.parse(renewTime) < RENEWED_WITHIN_MS;
  return isRecent ? holderIdentity : undefined;
}

async function lease(cluster: RealCluster): Promise<{ holderIdentity?: string; renewTime?: string }> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/taintkeeper`;
  const { body } = await cluster.request<{ spec?: Awaited<ReturnType<typeof lease>> }>(admin, 'GET', path);
  return body.spec ?? {};
}

import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from '../src/cluster/client/api-client.ts';
import type { ReadyWhen } from '../src/policy/ready-when.ts';
import { deployedEnvironment, deployedProbe } from '../test/control-plane/as-deployed.ts';
import type { AuditEvent } from '../test/control-plane/audit-log.ts';
import { MERGE_PATCH } from '../test/control-plane/content-types.ts';
import { type ControlPlane, startControlPlane } from '../test/control-plane/control-plane.ts';
import { follow } from '../test/control-plane/follow.ts';
import { freePorts } from '../test/control-plane/free-ports.ts';
import { chosenBy, provideOrExit } from '../test/control-plane/provide-or-exit.ts';
import { taintkeeperAccount } from '../test/control-plane/replicas.ts';
import { succeeded } from '../test/control-plane/rest.ts';
import { admin, node as nodeUser } from '../test/control-plane/users.ts';
import { waitUntil } from '../test/control-plane/wait-until.ts';
import { createTaintPolicy } from '../test/e2e/drift.ts';
import { install } from '../test/e2e/installation.ts';
import { allTaintsOf, path } from '../test/e2e/nodes.ts';
import { auditedRequests, summaryOf } from './audited-requests.ts';
import { BUNDLE, buildBundle } from './contenders.ts';
import { printHead, printRow } from './markdown-table.ts';
import { cpuSecondsOf } from './process-cpu.ts';
import { forgetPeak, memoryOf } from './process-memory.ts';
import { forEach } from './side-by-side.ts';
import { median, percentile } from './statistics.ts';

/**
 * What a new node with a startup taint costs one replica, beside many other nodes: how soon after the pod of its DaemonSet is Ready the taint is off,
 * CPU, memory, and requests, and whether a pod without the toleration was bound before. How busy the API server is shows in the time that it takes for
 * the write of Ready itself. API server and scheduler are real. The script stands in for kubelets, the controller of the DaemonSet, and the node
 * lifecycle controller. Both ends of a time are seen by watches of this process. Prints a Markdown table, and the requests under it. Linux only.
 *
 *     npx node bench/startup-nodes.ts [SCENARIO ...]
 *
 * A name chooses all scenarios that begin with it. On two idle cores: `every-200`, `once-200` and `own-200` take two minutes each, `-2k` three,
 * `-10k` ten, `thousand` and `shared` ten.
 */
interface Scenario {
  readonly name: string;
  readonly nodes: number;
  /** Between the registrations of two nodes, in milliseconds. */
  readonly everyMs: number;
  /** Nodes that exist already, each with its pod of the DaemonSet and this many further pods. */
  readonly others: number;
  readonly podsOnOthers: number;
  readonly readyWhen: ReadyWhen;
}

const NAMESPACE = 'default';
const DAEMON = 'network';
/** The pods are watched by their DaemonSet, from before the node exists. */
const NAMED: ReadyWhen = { daemonSets: [{ namespace: NAMESPACE, name: DAEMON }] };
/** The pods are watched by their node, and above 128 waiting nodes by the DaemonSets. */
const ALL: ReadyWhen = { allDaemonSets: { namespaces: [NAMESPACE] } };

const SCENARIOS: readonly Scenario[] = [
  { name: 'every-200', nodes: 50, everyMs: 100, others: 200, podsOnOthers: 0, readyWhen: NAMED },
  { name: 'once-200', nodes: 50, everyMs: 0, others: 200, podsOnOthers: 0, readyWhen: NAMED },
  { name: 'every-2k', nodes: 50, everyMs: 100, others: 2_000, podsOnOthers: 0, readyWhen: NAMED },
  { name: 'once-2k', nodes: 50, everyMs: 0, others: 2_000, podsOnOthers: 0, readyWhen: NAMED },
  { name: 'every-10k', nodes: 50, everyMs: 100, others: 10_000, podsOnOthers: 4, readyWhen: NAMED },
  { name: 'once-10k', nodes: 50, everyMs: 0, others: 10_000, podsOnOthers: 4, readyWhen: NAMED },
  { name: 'thousand', nodes: 1_000, everyMs: 10, others: 200, podsOnOthers: 0, readyWhen: NAMED },
  { name: 'own-200', nodes: 50, everyMs: 100, others: 200, podsOnOthers: 0, readyWhen: ALL },
  { name: 'own-10k', nodes: 50, everyMs: 100, others: 10_000, podsOnOthers: 4, readyWhen: ALL },
  { name: 'shared', nodes: 1_000, everyMs: 10, others: 200, podsOnOthers: 0, readyWhen: ALL },
];

const TAINT = { key: 'example.com/network', effect: 'NoSchedule' };
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const POOL = 'measured';
const READY_POD = { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } };
/** From the creation of the DaemonSet's pod until it is Ready. */
const DAEMON_MS = 2_000;
/** The node is Ready this long after its registration. */
const READY_MS = 100;
const PARALLEL_REQUESTS = 20;
const TIMEOUT_MS = 300_000;
/** The watch of the DaemonSet's pods must be older than the nodes by some seconds. */
const SETTLE_MS = 10_000;
/** Two Events for each node, of which one in two seconds follows the first ones. */
const EVENTS_MS = 240_000;

const chosen = chosenBy(process.argv.slice(2), SCENARIOS);
await provideOrExit(['kube-scheduler']);
buildBundle();
printHead(
  'scenario',
  'nodes',
  'others',
  'with a pod too early',
  'taint off after Ready, p50 ms',
  'p95',
  'write of Ready itself, p50 ms',
  'p95',
  'CPU ms a node',
  'peak MiB',
  'requests a node',
  'Events',
);
const summaries: string[] = [];
for (const scenario of chosen) summaries.push(`- ${scenario.name}: ${await measure(scenario)}`);
process.stdout.write(
  `\nRequests of taintkeeper for nodes, pods, CSINodes and Events until the last Event:\n\n${summaries.join('\n')}\n`,
);

interface Seen {
  bound?: number;
  ready?: number;
  readyAt?: number;
  /** How long the API server took for the pod's Ready status, in milliseconds. */
  writeMs?: number;
  freeAt?: number;
  hadTaint?: boolean;
}

interface Node {
  readonly spec: { readonly taints?: readonly { readonly key: string }[] };
}

interface Pod {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec: { readonly nodeName?: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

async function measure({ name, nodes: count, everyMs, others, podsOnOthers, readyWhen }: Scenario): Promise<string> {
  await using cp = await startControlPlane({
    components: ['kube-scheduler'],
    auditPolicy: join(import.meta.dirname, 'scale-audit-policy.yaml'),
  });
  const installation = await install(cp, ['listPods'], { probe: deployedProbe() });
  const client = await connect({ kubeconfig: await cp.kubeconfigFile(admin), userAgent: 'bench' });
  const stopping = new AbortController();
  try {
    await create(cp, `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`, { metadata: { name: 'bench' } });
    const uid = await createDaemonSet(cp);
    await createOthers(cp, uid, others, podsOnOthers);
    // Without a proxy: this process has enough to do, and would delay the reviews.
    const [port = 0] = await freePorts(1);
    const [replica] = await installation.start(['a'], {
      ...{ program: BUNDLE, env: deployedEnvironment() },
      ...{ servicePort: port, args: ['--port', String(port)] },
    });
    if (!replica) throw new Error('no replica');
    await createTaintPolicy(cp, POOL, {
      nodeSelector: { matchLabels: { pool: POOL } },
      taints: [{ ...TAINT, ensure: 'UntilReady', readyWhen }],
    });
    await waitUntilSet(cp);
    const workloads = Array.from({ length: 2 * count }, (_, index) => `work-${index}`);
    await forEach(workloads, PARALLEL_REQUESTS, async (name) => {
      await create(cp, PODS, { metadata: { name, labels: { app: 'work' } }, spec: podSpec('1') });
    });
    const seen = new Map<string, Seen>();
    const of = (node: string) => seen.get(node) ?? seen.set(node, {}).get(node) ?? {};
    const pods = follow<Pod>(client, PODS, stopping.signal, ({ metadata, spec, status }, resourceVersion) => {
      const { nodeName } = spec;
      if (!nodeName?.startsWith(`${POOL}-`)) return;
      const one = of(nodeName);
      if (metadata.labels?.app === 'work') one.bound ??= resourceVersion;
      else if (status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True')) {
        one.ready ??= resourceVersion;
        one.readyAt ??= performance.now();
      }
    });
    const nodes = follow<Node>(client, '/api/v1/nodes', stopping.signal, ({ spec }, _, node) => {
      if (!node.startsWith(`${POOL}-`)) return;
      const one = of(node);
      const hasTaint = spec.taints?.some(({ key }) => key === TAINT.key) ?? false;
      if (one.hadTaint && !hasTaint) one.freeAt ??= performance.now();
      one.hadTaint = hasTaint;
    });
    await Promise.all([pods.synced, nodes.synced]);
    await delay(SETTLE_MS);

    const requests = auditedRequests(cp.auditFile, taintkeeperAccount);
    const began = Date.now();
    forgetPeak(replica.pid);
    const cpuBefore = cpuSecondsOf(replica.pid);
    const names = Array.from({ length: count }, (_, index) => `${POOL}-${index}`);
    await Promise.all(
      names.map(async (node, index) => {
        of(node).writeMs = await live(cp, node, uid, index * everyMs);
      }),
    );
    const isDone = () => names.every((node) => of(node).freeAt !== undefined && of(node).bound !== undefined);
    await waitUntil(async () => isDone() || undefined, {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => `not all nodes are free: ${JSON.stringify([...seen].filter(([, { freeAt }]) => !freeAt))}`,
    });
    const cpuMs = 1_000 * (cpuSecondsOf(replica.pid) - cpuBefore);
    const { peak } = memoryOf(replica.pid);
    const events = await countEvents(cp, count);
    const asked = requests.since(began).filter(isForNodes);
    const all = names.map(of);
    const early = all.filter(({ bound = 0, ready = Infinity }) => bound < ready);
    const waits = all.map(({ freeAt = 0, readyAt = 0 }) => freeAt - readyAt);
    const writes = all.map(({ writeMs = 0 }) => writeMs);
    printRow(
      name,
      String(count),
      others.toLocaleString('en'),
      String(early.length),
      median(waits).toFixed(0),
      percentile(waits, 0.95).toFixed(0),
      median(writes).toFixed(0),
      percentile(writes, 0.95).toFixed(0),
      (cpuMs / count).toFixed(1),
      peak.toFixed(0),
      (asked.length / count).toFixed(2),
      `${events} of ${count}`,
    );
    return summaryOf(asked);
  } finally {
    stopping.abort();
    client.close();
    await installation.stop();
  }
}

/** Not what a leader asks while nothing happens, such as the next watch of all nodes. */
function isForNodes({ verb, objectRef }: AuditEvent): boolean {
  const { resource = '' } = objectRef ?? {};
  return ['nodes', 'pods', 'csinodes', 'events'].includes(resource) && !(verb === 'watch' && resource === 'nodes');
}

/**
 * The life of a node: registered, Ready, with the pod of the DaemonSet, which is Ready later.
 * @returns how long the API server took for the last write, in milliseconds
 */
async function live(cp: ControlPlane, node: string, daemonSet: string, afterMs: number): Promise<number> {
  await delay(afterMs);
  await succeeded(
    cp.request(nodeUser(node), 'POST', '/api/v1/nodes', { body: { metadata: { name: node, labels: { pool: POOL } } } }),
  );
  await delay(READY_MS);
  await patch(cp, `${path(node)}/status`, readyStatus());
  await removeNotReady(cp, node);
  const pod = `${DAEMON}-${node}`;
  await create(cp, PODS, daemonPod(pod, node, daemonSet));
  await delay(DAEMON_MS);
  const began = performance.now();
  await patch(cp, `${PODS}/${pod}/status`, READY_POD);
  return performance.now() - began;
}

/** As the node lifecycle controller does. */
async function removeNotReady(cp: ControlPlane, node: string): Promise<void> {
  for (;;) {
    const { body } = await cp.request<{
      metadata: { resourceVersion: string };
      spec: { taints?: readonly { readonly key: string }[] };
    }>(admin, 'GET', path(node));
    const taints = (body.spec.taints ?? []).filter(({ key }) => key !== 'node.kubernetes.io/not-ready');
    const { resourceVersion } = body.metadata;
    const { status } = await cp.request(admin, 'PATCH', path(node), {
      body: { metadata: { resourceVersion }, spec: { taints } },
      contentType: MERGE_PATCH,
    });
    if (status === 200) return;
    if (status !== 409) throw new Error(`the taints of ${node} cannot be written: HTTP ${status}`);
  }
}

function readyStatus(): object {
  const room = { cpu: '1500m', memory: '16Gi', pods: '110' };
  return {
    status: {
      allocatable: room,
      capacity: room,
      conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }],
    },
  };
}

function podSpec(cpu: string, more: object = {}): object {
  return {
    containers: [{ name: 'c', image: 'c', resources: { requests: { cpu } } }],
    nodeSelector: { pool: POOL },
    serviceAccountName: 'bench',
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 0,
    ...more,
  };
}

function daemonPod(name: string, nodeName: string, uid: string): object {
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: DAEMON, uid, controller: true };
  return {
    metadata: { name, labels: { app: DAEMON }, ownerReferences: [owner] },
    spec: podSpec('10m', { nodeName, nodeSelector: {}, tolerations: [{ operator: 'Exists' }] }),
  };
}

async function createDaemonSet(cp: ControlPlane): Promise<string> {
  const labels = { app: DAEMON };
  const { metadata } = await create<{ metadata: { uid: string } }>(
    cp,
    `/apis/apps/v1/namespaces/${NAMESPACE}/daemonsets`,
    {
      metadata: { name: DAEMON },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: podSpec('10m', { nodeSelector: {}, tolerations: [{ operator: 'Exists' }] }),
        },
      },
    },
  );
  return metadata.uid;
}

async function createOthers(cp: ControlPlane, daemonSet: string, count: number, podsOnEach: number): Promise<void> {
  const nodes = Array.from({ length: count }, (_, index) => `other-${index}`);
  await forEach(nodes, PARALLEL_REQUESTS, async (node, index) => {
    await create(cp, '/api/v1/nodes', { metadata: { name: node, labels: { pool: 'others' } }, ...readyStatus() });
    await removeNotReady(cp, node);
    await create(cp, PODS, daemonPod(`${DAEMON}-${node}`, node, daemonSet));
    await patch(cp, `${PODS}/${DAEMON}-${node}/status`, READY_POD);
    for (let pod = 0; pod < podsOnEach; pod++) {
      const spec = podSpec('1m', { nodeName: node, nodeSelector: {} });
      await create(cp, PODS, { metadata: { name: `app-${index}-${pod}`, labels: { app: 'other' } }, spec });
    }
  });
}

/** The webhook is registered with the policy. */
async function waitUntilSet(cp: ControlPlane): Promise<void> {
  const probe = 'probe';
  await waitUntil(
    async () => {
      await cp.request(admin, 'DELETE', path(probe));
      await cp.request(nodeUser(probe), 'POST', '/api/v1/nodes', {
        body: { metadata: { name: probe, labels: { pool: POOL } } },
      });
      return (await allTaintsOf(cp, probe)).includes(`${TAINT.key}:${TAINT.effect}`) || undefined;
    },
    { timeoutMs: TIMEOUT_MS, otherwise: () => 'the webhook does not add the taint' },
  );
  await cp.request(admin, 'DELETE', path(probe));
}

/** How many Events say that a taint was removed, once there are enough, none was added for 20 seconds, or the time is over. */
async function countEvents(cp: ControlPlane, enough: number): Promise<number> {
  let found = 0;
  const began = performance.now();
  let changedAt = began;
  return waitUntil(
    async () => {
      const query = 'fieldSelector=reason%3DStartupTaintRemoved';
      const { body } = await cp.request<{ items: object[] }>(admin, 'GET', `/apis/events.k8s.io/v1/events?${query}`);
      if (body.items.length !== found) changedAt = performance.now();
      found = body.items.length;
      return found >= enough || performance.now() - changedAt > 20_000 || performance.now() - began > EVENTS_MS - 10_000
        ? found
        : undefined;
    },
    { timeoutMs: EVENTS_MS, intervalMs: 1_000, otherwise: () => 'Events are still written' },
  );
}

async function patch(cp: ControlPlane, url: string, body: object): Promise<void> {
  await succeeded(cp.request(admin, 'PATCH', url, { body, contentType: MERGE_PATCH }));
}

function create<T>(cp: ControlPlane, url: string, body: object): Promise<T> {
  return succeeded(cp.request<T>(admin, 'POST', url, { body }));
}

import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connect } from '../src/cluster/client/api-client.ts';
import { MERGE_PATCH } from '../test/control-plane/content-types.ts';
import { type ControlPlane, startControlPlane } from '../test/control-plane/control-plane.ts';
import { follow } from '../test/control-plane/follow.ts';
import { provideOrExit } from '../test/control-plane/provide-or-exit.ts';
import { succeeded } from '../test/control-plane/rest.ts';
import { admin, node as nodeUser } from '../test/control-plane/users.ts';
import { waitUntil } from '../test/control-plane/wait-until.ts';
import { createTaintPolicy } from '../test/e2e/drift.ts';
import { AS_IN_A_CLUSTER, install } from '../test/e2e/installation.ts';
import { allTaintsOf, path } from '../test/e2e/nodes.ts';
import { printHead, printRow } from './markdown-table.ts';
import { median, percentile } from './statistics.ts';

/**
 * Nodes register while pods without the toleration wait for room. Counts the nodes to which such a pod was bound before the pod of the
 * DaemonSet was Ready there: with `ensure: UntilReady`, and with a controller that adds the same taint some time after its watch has told it
 * of the node. API server, controller manager and scheduler are real. The script stands in for the kubelets: it registers the nodes with
 * their own identities, and reports nodes and the pods of the DaemonSet Ready after a while. What came first is told by resourceVersions.
 * Prints a Markdown table.
 *
 *     npx node bench/startup-taints.ts [--nodes N] [--ready-ms MS] [--daemon-ms MS] [--late-ms MS ...] [--every-ms MS]
 *         [--before FILE] [--only]
 */
const { values: flags } = parseArgs({
  options: {
    nodes: { type: 'string', default: '50' },
    /** From the registration until the kubelet reports the node Ready. */
    'ready-ms': { type: 'string', default: '100' },
    /** From the binding of a pod of the DaemonSet until it is Ready. */
    'daemon-ms': { type: 'string', default: '5000' },
    /** How long the controller takes until it writes the taint. */
    'late-ms': { type: 'string', multiple: true, default: ['0', '1000', '2000', '5000'] },
    /** Between the registrations of two nodes. */
    'every-ms': { type: 'string', default: '100' },
    /** An earlier `bin/taintkeeper.js`, for a row of its own. */
    before: { type: 'string' },
    /** Only taintkeeper, without the rows of others. */
    only: { type: 'boolean', default: false },
  },
});
const count = Number(flags.nodes);
const everyMs = Number(flags['every-ms']);
const TAINT = { key: 'example.com/network', effect: 'NoSchedule' };
const TIMEOUT_MS = 120_000;
/** Much more than the end takes. */
const END_MS = 60_000;
const NAMESPACE = 'default';
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;

/** What is known of one node. */
interface Seen {
  /** resourceVersions of the first binding of a pod without the toleration, and of the first Ready pod of the DaemonSet. */
  bound?: number;
  ready?: number;
  readyAt?: number;
  boundAt?: number;
  /** When the node was first seen without the taint, after it had carried it. */
  freeAt?: number;
  hadTaint?: boolean;
}

interface Node {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec: { readonly taints?: readonly { readonly key: string }[] };
}

interface Pod {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec: { readonly nodeName?: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

await provideOrExit();
await using cp = await startControlPlane({
  components: ['kube-controller-manager', 'kube-scheduler'],
  nodeMonitorGraceSeconds: 600,
});
const installation = await install(cp, ['listPods'], AS_IN_A_CLUSTER);
const client = await connect({ kubeconfig: await cp.kubeconfigFile(admin), userAgent: 'bench' });
try {
  printHead(
    'taint set by',
    'nodes',
    'with a pod before the DaemonSet was Ready',
    'taint removed after Ready, p50 ms',
    'p95',
    'pod after Ready, p50 ms',
    'p95',
  );
  if (flags.before !== undefined) {
    await measure('before', 'taintkeeper before', (pool) => startPolicy(pool, { program: flags.before as string }));
  }
  await measure('policy', 'taintkeeper, `ensure: UntilReady`', (pool) => startPolicy(pool));
  if (!flags.only) {
    for (const lateMs of flags['late-ms']) {
      await measure(`watch-${lateMs}`, `a controller, ${lateMs} ms after its watch`, (pool) =>
        startController(pool, Number(lateMs)),
      );
    }
    await measure('none', 'nobody', async () => async () => {});
  }
} finally {
  endWithin(END_MS);
  client.close();
  await installation.stop();
}

/** A run once printed its rows and did not end, at full use of one core. The next one that does so says what is open, and fails. */
function endWithin(ms: number): void {
  const fail = () => {
    process.stderr.write(`error: did not end; open: ${process.getActiveResourcesInfo().join(', ')}\n`);
    process.exit(1);
  };
  setTimeout(fail, ms).unref();
}

async function measure(
  pool: string,
  name: string,
  prepare: (pool: string) => Promise<() => Promise<void>>,
): Promise<void> {
  await createWorkloads(pool);
  const clear = await prepare(pool);
  const stopping = new AbortController();
  const seen = new Map<string, Seen>();
  const pods = follow<Pod>(client, PODS, stopping.signal, (pod, resourceVersion, podName) => {
    const { nodeName } = pod.spec;
    const app = pod.metadata.labels?.app;
    if (!nodeName?.startsWith(`${pool}-`)) return;
    const one = seen.get(nodeName) ?? {};
    seen.set(nodeName, one);
    if (app === `${pool}-workload`) {
      one.bound ??= resourceVersion;
      one.boundAt ??= performance.now();
    } else if (pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')) {
      one.ready ??= resourceVersion;
      one.readyAt ??= performance.now();
    } else reportLater(podName);
  });
  const nodes = follow<Node>(client, '/api/v1/nodes', stopping.signal, ({ spec }, _, name) => {
    if (!name.startsWith(`${pool}-`)) return;
    const one = seen.get(name) ?? {};
    seen.set(name, one);
    const hasTaint = spec.taints?.some(({ key }) => key === TAINT.key) ?? false;
    if (one.hadTaint && !hasTaint) one.freeAt ??= performance.now();
    one.hadTaint = hasTaint;
  });
  const reported = new Set<string>();
  const reportLater = (podName: string) => {
    if (reported.has(podName)) return;
    reported.add(podName);
    void delay(Number(flags['daemon-ms'])).then(() => setPodReady(podName));
  };
  await Promise.all([pods.synced, nodes.synced]);
  const names = Array.from({ length: count }, (_, index) => `${pool}-${index}`);
  const reports = names.map(async (node, index) => {
    await delay(index * everyMs);
    const body = { metadata: { name: node, labels: { pool } } };
    await succeeded(cp.request(nodeUser(node), 'POST', '/api/v1/nodes', { body }));
    await delay(Number(flags['ready-ms']));
    await setReady(node);
  });
  await Promise.all(reports);
  const done = () => names.every((node) => seen.get(node)?.ready !== undefined && seen.get(node)?.bound !== undefined);
  // With the controller's taint, pods come only where it was too late.
  const isDone = pool.startsWith('watch-') ? () => names.every((node) => seen.get(node)?.ready !== undefined) : done;
  await waitUntil(async () => isDone() || undefined, {
    timeoutMs: TIMEOUT_MS,
    otherwise: () => `not all nodes of ${pool} are through: ${JSON.stringify([...seen])}`,
  });
  const all = names.map((node) => seen.get(node) ?? {});
  const early = all.filter(({ bound, ready }) => bound !== undefined && bound < (ready ?? Infinity));
  const after = (at: (one: Seen) => number | undefined) =>
    all.flatMap((one) => {
      const then = at(one);
      return one.readyAt !== undefined && then !== undefined && then > one.readyAt ? [then - one.readyAt] : [];
    });
  const figures = [after(({ freeAt }) => freeAt), after(({ boundAt }) => boundAt)].flatMap((waits) =>
    waits.length === 0 ? ['–', '–'] : [median(waits).toFixed(0), percentile(waits, 0.95).toFixed(0)],
  );
  printRow(name, String(count), String(early.length), ...figures);
  stopping.abort();
  await clear();
  for (const what of [`deployment/${pool}`, `daemonset/${pool}`]) {
    await cp.kubectl(['delete', what, '--namespace', NAMESPACE, '--cascade=background']);
  }
  await cp.kubectl(['delete', 'pods', '--all', '--force', '--grace-period=0', '--namespace', NAMESPACE]);
  await cp.kubectl(['delete', 'nodes', '--selector', `pool=${pool}`]);
}

/** More pods than all nodes have room for, so that the scheduler always has one that waits; and the DaemonSet. */
async function createWorkloads(pool: string): Promise<void> {
  const workload = { app: `${pool}-workload` };
  const daemon = { app: `${pool}-daemon` };
  const spec = (cpu: string, more: object = {}) => ({
    containers: [{ name: 'c', image: 'c', resources: { requests: { cpu } } }],
    nodeSelector: { pool },
    terminationGracePeriodSeconds: 0,
    ...more,
  });
  const apps = `/apis/apps/v1/namespaces/${NAMESPACE}`;
  await create(`${apps}/deployments`, {
    metadata: { name: pool },
    spec: {
      replicas: 2 * count,
      selector: { matchLabels: workload },
      template: { metadata: { labels: workload }, spec: spec('1') },
    },
  });
  await create(`${apps}/daemonsets`, {
    metadata: { name: pool },
    spec: {
      selector: { matchLabels: daemon },
      template: { metadata: { labels: daemon }, spec: spec('10m', { tolerations: [{ operator: 'Exists' }] }) },
    },
  });
  const waiting = async () => {
    const query = `labelSelector=app%3D${pool}-workload`;
    const { body } = await cp.request<{ items: object[] }>(admin, 'GET', `${PODS}?${query}`);
    return body.items.length === 2 * count || undefined;
  };
  await waitUntil(waiting, { timeoutMs: TIMEOUT_MS, otherwise: () => 'the Deployment has too few pods' });
}

async function startPolicy(pool: string, options: { readonly program?: string } = {}): Promise<() => Promise<void>> {
  const replicas = await installation.start(
    ['a', 'b'].map((name) => `${pool}-${name}`),
    options,
  );
  const readyWhen = { daemonSets: [{ namespace: NAMESPACE, name: pool }] };
  await createTaintPolicy(cp, pool, { taints: [{ ...TAINT, ensure: 'UntilReady', readyWhen }] });
  await waitUntilSet(pool);
  return async () => {
    await cp.kubectl(['delete', 'taintpolicy', pool]);
    for (const replica of replicas) {
      installation.proxy.remove(replica.name);
      installation.replicas.delete(replica.name);
      await replica.stop();
    }
  };
}

/** Adds the taint to nodes of the pool when the watch tells of them, as controllers do that are not asked at admission. */
async function startController(pool: string, lateMs: number): Promise<() => Promise<void>> {
  const stopping = new AbortController();
  const tainted = new Set<string>();
  await follow<Node>(client, '/api/v1/nodes', stopping.signal, ({ metadata }, _, name) => {
    if (metadata.labels?.pool !== pool || tainted.has(name)) return;
    tainted.add(name);
    void delay(lateMs).then(() => addTaint(name));
  }).synced;
  return async () => stopping.abort();
}

async function addTaint(name: string): Promise<void> {
  for (;;) {
    const { body } = await cp.request<{
      metadata: { resourceVersion: string };
      spec: { taints?: readonly object[] };
    }>(admin, 'GET', path(name));
    const { resourceVersion } = body.metadata;
    const patch = { metadata: { resourceVersion }, spec: { taints: [...(body.spec.taints ?? []), TAINT] } };
    const { status } = await cp.request(admin, 'PATCH', path(name), { body: patch, contentType: MERGE_PATCH });
    if (status !== 409) return;
  }
}

/** The webhook is registered with the policy. */
async function waitUntilSet(pool: string): Promise<void> {
  const probe = `${pool}-probe`;
  await waitUntil(
    async () => {
      await cp.request(admin, 'DELETE', path(probe));
      await cp.request(nodeUser(probe), 'POST', '/api/v1/nodes', {
        body: { metadata: { name: probe, labels: { pool } } },
      });
      const taints = await allTaintsOf(cp as ControlPlane, probe);
      return taints.includes(`${TAINT.key}:${TAINT.effect}`) || undefined;
    },
    { timeoutMs: TIMEOUT_MS, otherwise: () => 'the webhook does not add the taint' },
  );
  await cp.request(admin, 'DELETE', path(probe));
}

async function setReady(name: string): Promise<void> {
  const room = { cpu: '1500m', memory: '16Gi', pods: '110' };
  const conditions = [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }];
  const body = { status: { allocatable: room, capacity: room, conditions } };
  await cp.request(admin, 'PATCH', `${path(name)}/status`, { body, contentType: MERGE_PATCH });
}

async function setPodReady(name: string): Promise<void> {
  const body = { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } };
  await cp.request(admin, 'PATCH', `${PODS}/${name}/status`, { body, contentType: MERGE_PATCH });
}

async function create(url: string, body: object): Promise<void> {
  await succeeded(cp.request(admin, 'POST', url, { body }));
}

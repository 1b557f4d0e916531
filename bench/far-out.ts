import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type ApiClient, connect } from '../src/cluster/client/api-client.ts';
import { listPages } from '../src/cluster/watch/list-pages.ts';
import { deployedEnvironment } from '../test/control-plane/deployed-environment.ts';
import { freePorts } from '../test/control-plane/free-ports.ts';
import { launch } from '../test/control-plane/process.ts';
import { type Replica, startReplica } from '../test/control-plane/replicas.ts';
import { waitUntil } from '../test/control-plane/wait-until.ts';
import { createWorkspace } from '../test/control-plane/workspace.ts';
import { policyObject } from '../test/e2e/policy-objects.ts';
import { POLICIES_PATH } from '../test/e2e/policy-resources.ts';
import { POOL_LABEL, taintOf } from './far-out/simulated-nodes.ts';
import { printHead, printRow } from './markdown-table.ts';
import { BUNDLE, buildBundle } from './peers/contestants.ts';
import { cpuSecondsOf } from './process-cpu.ts';
import { forgetPeak, memoryOf } from './process-memory.ts';
import { forEach } from './side-by-side.ts';
import type { Controls, SimulatedState, Started } from './simulated-api-server.ts';
import { stopwatch } from './stopwatch.ts';

/**
 * What the leader takes at sizes for which a laptop has no API server: against simulated-api-server.ts, a process of its own. Beside it
 * stands what a bare loop with the same client takes to list, to follow and to patch the same nodes. Prints a Markdown table. Linux only.
 *
 *     npx node bench/far-out.ts [--policies N] [--daemon-sets N] [--program FILE ...] [NODES ...]
 *
 * With several programs, such as the bundles of two versions, each is measured in turn.
 */
const NODE_COUNTS = [1_000, 5_000, 10_000, 20_000];
/** A kubelet reports its node's status that often where nothing changes (nodeStatusReportFrequency). */
const HEARTBEAT_SECONDS = 300;
const REST_MS = 15_000;
/** What follows from the start is done by then: the policies' status, Events. */
const SETTLE_MS = 5_000;
const POLL_MS = 250;
/** As the leader has it (src/controllers/sources.ts and nodes/node-repair.ts). */
const NODES_PER_PAGE = 25;
const REPAIR_CONCURRENCY = 8;
/** Requests a second that are answered where there are too many: fewer than the hundred writes of a leader. */
const LIMIT = 50;
const LIMITED_NODES = 1_000;

const SWEEP = /^taintkeeper_sweep_timestamp_seconds\{controller="node-repair"\} (\S+)$/m;
const START_TIMEOUT_MS = 30_000;
const SWEEP_TIMEOUT_MS = 300_000;
const REPAIR_TIMEOUT_MS = 900_000;
const STOP_GRACE_MS = 5_000;

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    policies: { type: 'string', default: '20' },
    'daemon-sets': { type: 'string', default: '200' },
    program: { type: 'string', multiple: true },
  },
});
const pools = Number(flags.policies);
const counts = positionals.length > 0 ? positionals.map(Number) : NODE_COUNTS;

if (!flags.program) buildBundle();
const programs = flags.program ?? [BUNDLE];
printHead(
  ...(programs.length > 1 ? ['program'] : []),
  'nodes',
  'what',
  'seconds',
  'CPU s',
  'CPU of a bare loop',
  'ratio',
  'peak RSS',
  'RSS at the end',
  'requests',
);
for (const count of counts) for (const program of programs) await measure(count, program);

async function measure(count: number, program: string): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const workspace = createWorkspace('far-out');
  stack.defer(workspace.remove);
  const simulated = await startSimulated();
  await createPolicies(simulated.client);
  const bare = await bareLoop();

  const [port = 0] = await freePorts(1);
  const start = stopwatch();
  const leader = await startReplica({
    ...{ name: 'a', kubeconfigFile: simulated.kubeconfig, servicePort: port },
    ...{ program, env: deployedEnvironment(), args: ['--port', String(port)] },
  });
  stack.defer(() => leader.kill());
  await firstSweep(leader);
  report('start to the first look at all nodes', start.seconds(), {
    cpu: cpuSecondsOf(leader.pid),
    bareCpu: bare.list,
  });
  await delay(SETTLE_MS);
  await simulated.control('heartbeats', { perSecond: count / HEARTBEAT_SECONDS });
  await during('at rest, with heartbeats', async () => void (await delay(REST_MS)), bare.follow);
  await wave('all taints taken at once, to all put back', bare.patch);
  if (count === LIMITED_NODES) {
    await simulated.control('limit', { perSecond: LIMIT });
    await wave(`the same, where ${LIMIT} requests a second are answered`);
  }

  async function wave(what: string, bareCpu?: number): Promise<void> {
    await during(
      what,
      async () => {
        await simulated.control('wipe', {});
        const isWhole = async () => {
          await delay(POLL_MS);
          return (await simulated.state()).tainted === count ? true : undefined;
        };
        await waitUntil(isWhole, {
          timeoutMs: REPAIR_TIMEOUT_MS,
          otherwise: () => `there were nodes without their taint after ${REPAIR_TIMEOUT_MS / 1000} s`,
        });
      },
      bareCpu,
    );
  }

  async function during(what: string, work: () => Promise<unknown>, bareCpu?: number): Promise<void> {
    forgetPeak(leader.pid);
    await simulated.control('recount', {});
    const [before, watch] = [cpuSecondsOf(leader.pid), stopwatch()];
    await work();
    report(what, watch.seconds(), { cpu: cpuSecondsOf(leader.pid) - before, bareCpu, ...(await simulated.state()) });
  }

  function report(
    what: string,
    seconds: number,
    { cpu, bareCpu, requests = {} }: { cpu: number; bareCpu?: number | undefined } & Partial<SimulatedState>,
  ): void {
    const { now, peak } = memoryOf(leader.pid);
    const nodeWrites = Object.entries(requests).filter(([name]) => /^patch nodes|429/.test(name));
    printRow(
      ...(programs.length > 1 ? [program] : []),
      count.toLocaleString('en'),
      what,
      seconds.toFixed(1),
      cpu.toFixed(2),
      bareCpu?.toFixed(2) ?? '',
      bareCpu ? (cpu / bareCpu).toFixed(2) : '',
      `${peak.toFixed(0)} MiB`,
      `${now.toFixed(0)} MiB`,
      nodeWrites.map(([name, times]) => `${name}: ${times}`).join(', '),
    );
  }

  async function startSimulated() {
    const program = `${import.meta.dirname}/simulated-api-server.ts`;
    const args = [program, '--nodes', String(count), '--pools', String(pools), '--daemon-sets', flags['daemon-sets']];
    const child = await launch('simulated API server', process.execPath, args, {
      logFile: workspace.logFile('simulated'),
    });
    stack.defer(async () => void (await child.stop(STOP_GRACE_MS)));
    const { url, ca } = await waitUntil(
      () => {
        if (child.exit) throw child.failure('ended');
        const line = child.log().split('\n')[0] ?? '';
        return line.endsWith('}') ? (JSON.parse(line) as Started) : undefined;
      },
      { timeoutMs: START_TIMEOUT_MS, otherwise: () => child.failure('does not listen').message },
    );
    const kubeconfig = workspace.write('kubeconfig', kubeconfigFor(url, ca));
    const client = await connect({ kubeconfig, userAgent: 'far-out' });
    stack.defer(() => client.close());
    return {
      kubeconfig,
      client,
      control: <What extends keyof Controls>(what: What, body: Controls[What]) =>
        client.request('POST', `/bench/${what}`, { body, timeoutMs: START_TIMEOUT_MS }),
      state: () => client.request<SimulatedState>('GET', '/bench/state'),
    };
  }

  /** What this process takes with the leader's client, and without what the leader does, in seconds of CPU. */
  async function bareLoop(): Promise<{ list: number; follow: number; patch: number }> {
    const { client, control } = simulated;
    const names: string[] = [];
    let version = '';
    const signal = new AbortController().signal;
    const list = await cpuOf(async () => {
      for await (const page of listPages(client, '/api/v1/nodes', { query: {}, pageSize: NODES_PER_PAGE, signal })) {
        for (const item of page.items) names.push((item as { metadata: { name: string } }).metadata.name);
        version ||= page.resourceVersion;
      }
    });
    await control('heartbeats', { perSecond: count / HEARTBEAT_SECONDS });
    const follow = await cpuOf(async () => {
      const query = { watch: true, resourceVersion: version, timeoutSeconds: REST_MS / 1000 };
      for await (const _event of client.lines('/api/v1/nodes', { query, idleMs: 2 * REST_MS }));
    });
    await control('heartbeats', { perSecond: 0 });
    const patch = await cpuOf(() =>
      forEach(names, REPAIR_CONCURRENCY, async (name, index) => {
        const body = { spec: { taints: [taintOf(index % pools)] } };
        await client.request('PATCH', `/api/v1/nodes/${name}`, { body, contentType: 'application/merge-patch+json' });
      }),
    );
    return { list, follow, patch };
  }
}

async function cpuOf(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** For each pool a policy by which its nodes have its taint, and for every tenth one by which DaemonSets tolerate it. */
async function createPolicies(client: ApiClient): Promise<void> {
  for (let pool = 0; pool < pools; pool++) {
    const taints = [
      { ...taintOf(pool), ensure: 'Always' },
      { key: `team-${pool}.example.com/*`, restrict: ['Removal'] },
    ];
    const nodeSelector = { matchLabels: { [POOL_LABEL]: `pool-${pool}` } };
    const spec = { mode: 'Restore', failurePolicy: 'Ignore', nodeSelector, taints };
    await create('TaintPolicy', `pool-${pool}`, spec);
    if (pool % 10 > 0) continue;
    const daemonSets = { namespaces: ['kube-system'], names: [`agent-${pool}*`] };
    await create('TolerationPolicy', `pool-${pool}`, {
      mode: 'Mutate',
      daemonSets,
      tolerations: [{ key: taintOf(pool).key }],
    });
  }

  function create(kind: 'TaintPolicy' | 'TolerationPolicy', name: string, spec: object): Promise<unknown> {
    return client.request('POST', POLICIES_PATH[kind], { body: policyObject(kind, name, spec) });
  }
}

/** Waits until the leader has looked at all nodes. To ask for its metrics costs it something: not too often. */
async function firstSweep(leader: Replica): Promise<void> {
  await waitUntil(
    async () => {
      await delay(POLL_MS);
      return Number(SWEEP.exec(await leader.metrics())?.[1]) > 0 ? true : undefined;
    },
    { timeoutMs: SWEEP_TIMEOUT_MS, otherwise: () => `no sweep within ${SWEEP_TIMEOUT_MS / 1000} s` },
  );
}

/** YAML is a superset of JSON. */
function kubeconfigFor(server: string, ca: string): string {
  const name = 'simulated';
  return JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': name },
    clusters: [{ name, cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [{ name, user: { token: 'simulated' } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
  });
}

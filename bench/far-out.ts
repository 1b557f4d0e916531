import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { listPages } from '../src/cluster/list/list-pages.ts';
import type { Replica } from '../test/control-plane/replicas.ts';
import { buildBundle, type Contender, contendersOf } from './contenders.ts';
import { firstSweep, HEARTBEAT_SECONDS, simulateCluster } from './far-out/rig.ts';
import { taintOf } from './far-out/simulated-nodes.ts';
import { printHead, printRow } from './markdown-table.ts';
import { cpuSecondsOf } from './process-cpu.ts';
import { forgetPeak, memoryOf } from './process-memory.ts';
import { forEach } from './side-by-side.ts';
import type { SimulatedState } from './simulated-api-server.ts';
import { stopwatch } from './stopwatch.ts';

/**
 * What the leader takes at sizes for which a laptop has no API server: against simulated-api-server.ts, a process of its own. Beside it
 * stands what a bare loop with the same client takes to list, to follow and to patch the same nodes, and the memory of a replica that does not
 * lead. Prints a Markdown table. Linux only.
 *
 *     npx node bench/far-out.ts [--policies N] [--daemon-sets N] [--memory-limit MIB] [--before FOLDER] [--node FILE ...] [NODES ...]
 *
 * --memory-limit is the chart's memoryLimitMiB. --before and --node are those of cold-start.ts: each bundle and each Node.js is measured in turn.
 */
const NODE_COUNTS = [1_000, 5_000, 10_000, 20_000];
const REST_MS = 15_000;
/** What follows from the start is done by then: the policies' status, Events. */
const SETTLE_MS = 5_000;
/** As the leader has it (src/controllers/cluster-watches.ts and nodes/node-repair.ts). */
const NODES_PER_PAGE = 25;
const REPAIR_CONCURRENCY = 8;
/** Requests a second that are answered where there are too many: fewer than the hundred writes of a leader. */
const LIMIT = 50;
const LIMITED_NODES = 1_000;

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    policies: { type: 'string', default: '20' },
    'daemon-sets': { type: 'string', default: '200' },
    'memory-limit': { type: 'string' },
    before: { type: 'string' },
    node: { type: 'string', multiple: true, default: [] },
  },
});
const policies = Number(flags.policies);
const memoryLimitMiB = flags['memory-limit'] === undefined ? undefined : Number(flags['memory-limit']);
const counts = positionals.length > 0 ? positionals.map(Number) : NODE_COUNTS;

buildBundle();
const contenders = contendersOf(flags);
printHead(
  ...(contenders.length > 1 ? ['bundle'] : []),
  'nodes',
  'what',
  'seconds',
  'CPU s',
  'CPU of a bare loop',
  'ratio',
  'peak RSS',
  'RSS at the end',
  'RSS of another replica',
  'writes',
);
for (const count of counts) for (const contender of contenders) await measure(count, contender);

async function measure(count: number, contender: Contender): Promise<void> {
  const size = { nodes: count, policies, daemonSets: Number(flags['daemon-sets']) };
  await using simulated = await simulateCluster(size);
  const bare = await bareLoop();
  let other: Replica | undefined;

  const start = stopwatch();
  const leader = await simulated.start('a', contender, memoryLimitMiB);
  await firstSweep(leader);
  report('start to the first check of all nodes', start.seconds(), {
    cpu: cpuSecondsOf(leader.pid),
    bareCpu: bare.list,
    ...(await simulated.state()),
  });
  other = await simulated.start('b', contender, memoryLimitMiB);
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
        await simulated.until('nodes had their taint', ({ tainted }) => tainted === count);
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
    const writes = Object.entries(requests).filter(([name]) => /^patch nodes |429/.test(name));
    printRow(
      ...(contenders.length > 1 ? [contender.name] : []),
      count.toLocaleString('en'),
      what,
      seconds.toFixed(1),
      cpu.toFixed(2),
      bareCpu?.toFixed(2) ?? '',
      bareCpu ? (cpu / bareCpu).toFixed(2) : '',
      `${peak.toFixed(0)} MiB`,
      `${now.toFixed(0)} MiB`,
      other ? `${memoryOf(other.pid).now.toFixed(0)} MiB` : '',
      writes.map(([name, times]) => `${name}: ${times}`).join(', '),
    );
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
        const body = { spec: { taints: [taintOf(index % policies)] } };
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

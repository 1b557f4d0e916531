import { writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { BUNDLE, buildBundle } from './contenders.ts';
import { drawCurves, type Panel } from './far-out/curves.ts';
import { firstSweep, HEARTBEAT_SECONDS, type SimulatedSize, simulateCluster } from './far-out/rig.ts';
import { printHead, printRow } from './markdown-table.ts';
import { cpuSecondsOf } from './process-cpu.ts';
import { memoryOf } from './process-memory.ts';
import { stopwatch } from './stopwatch.ts';

/**
 * How the cost of a leader grows with nodes, policies and DaemonSets, one of them at a time, against simulated-api-server.ts. Prints a Markdown
 * table. Linux only.
 *
 *     npx node bench/scale-curve.ts [--svg FILE]
 */
const USUAL: SimulatedSize = { nodes: 5_000, policies: 20, daemonSets: 200 };
const SERIES = {
  nodes: [1_000, 5_000, 10_000, 20_000],
  policies: [1, 20, 100, 200],
  daemonSets: [1, 100, 200, 500],
} as const;
type Axis = keyof typeof SERIES;
const NAMES: Readonly<Record<Axis, string>> = { nodes: 'nodes', policies: 'policies', daemonSets: 'DaemonSets' };
const REST_MS = 20_000;

const { values: flags } = parseArgs({ options: { svg: { type: 'string' } } });

interface Point {
  readonly sweepSeconds: number;
  readonly sweepCpu: number;
  readonly statusSeconds: number;
  readonly writes: number;
  readonly restPercent: number;
  readonly restMiB: number;
  readonly peakMiB: number;
}

buildBundle();
printHead(
  ...Object.values(NAMES),
  'first check of all nodes',
  'CPU for that',
  'start to the last status',
  'writes until then',
  'CPU at rest',
  'RSS at rest',
  'RSS at most',
);
const measured = new Map<string, Point>();
const panels: Panel[] = [];
for (const axis of Object.keys(SERIES) as Axis[]) {
  const points: { x: number; point: Point }[] = [];
  for (const x of SERIES[axis]) points.push({ x, point: await pointAt({ ...USUAL, [axis]: x }) });
  panels.push(
    {
      title: `RSS at rest (MiB) by ${NAMES[axis]}`,
      points: points.map(({ x, point }) => ({ x, y: point.restMiB })),
    },
    {
      title: `CPU of the first look (s) by ${NAMES[axis]}`,
      points: points.map(({ x, point }) => ({ x, y: point.sweepCpu })),
    },
  );
}
if (flags.svg)
  writeFileSync(flags.svg, drawCurves('Memory and CPU of a leader by nodes, policies and DaemonSets', panels, 2));

/** The usual size is on each axis, and measured once. */
async function pointAt(size: SimulatedSize): Promise<Point> {
  const key = JSON.stringify(size);
  const known = measured.get(key);
  if (known) return known;
  const point = await measure(size);
  measured.set(key, point);
  printRow(
    ...[size.nodes, size.policies, size.daemonSets].map((number) => number.toLocaleString('en')),
    `${point.sweepSeconds.toFixed(1)} s`,
    `${point.sweepCpu.toFixed(1)} s`,
    `${point.statusSeconds.toFixed(1)} s`,
    String(point.writes),
    `${point.restPercent.toFixed(1)} %`,
    `${point.restMiB.toFixed(0)} MiB`,
    `${point.peakMiB.toFixed(0)} MiB`,
  );
  return point;
}

async function measure(size: SimulatedSize): Promise<Point> {
  await using simulated = await simulateCluster(size);
  await simulated.control('recount', {});
  const start = stopwatch();
  const leader = await simulated.start('a', { program: BUNDLE, node: process.execPath });
  await firstSweep(leader);
  const sweepSeconds = start.seconds();
  const sweepCpu = cpuSecondsOf(leader.pid);
  await simulated.until('policies had a status', ({ statuses }) => statuses === simulated.policies);
  const statusSeconds = start.seconds();
  const { requests } = await simulated.state();
  const writes = Object.entries(requests)
    .filter(([request]) => /^(post|patch|put|delete) /.test(request))
    .reduce((sum, [, times]) => sum + times, 0);
  await simulated.control('heartbeats', { perSecond: size.nodes / HEARTBEAT_SECONDS });
  const before = cpuSecondsOf(leader.pid);
  await delay(REST_MS);
  const restPercent = (100 * (cpuSecondsOf(leader.pid) - before)) / (REST_MS / 1000);
  const { now, peak } = memoryOf(leader.pid);
  return { sweepSeconds, sweepCpu, statusSeconds, writes, restPercent, restMiB: now, peakMiB: peak };
}

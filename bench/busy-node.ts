import { Agent, request } from 'node:https';
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { createWorkspace } from '../test/control-plane/workspace.ts';
import { createCpuCgroup, leaveCpuCgroup } from './cgroups.ts';
import { kill, spawnIn, startConfinedReplica } from './confined-replica.ts';
import { buildBundle } from './contenders.ts';
import { requestBytes } from './endpoint/request-file.ts';
import { REVIEW_CASES } from './endpoint/reviews.ts';
import { printHead, printRow } from './markdown-table.ts';
import { median } from './statistics.ts';
import { stopwatch } from './stopwatch.ts';

/**
 * How long reviews take on a node whose CPUs are all in use, by the CPU that the container requests. The other containers request the rest of the
 * node, and use it: each has a loop that never rests. The API server waits for two seconds. Prints a Markdown table. Linux, with the right
 * to make cgroups.
 *
 *     npx node bench/busy-node.ts [MILLICPU ...]
 */
const REQUESTS = [10, 50, 100, 200, 500];
const CPUS = availableParallelism();
const LOOPS = 4 * CPUS;
const SINGLE = 20;
const AT_ONCE = 16;
const PAUSE_MS = 100;
const DEADLINE_MS = 2_000;
/** So much more than all other programs of the machine that these do not count. */
const NODE_MILLICPU = 250_000;

const counts = process.argv.length > 2 ? process.argv.slice(2).map(Number) : REQUESTS;
const [review] = REVIEW_CASES.filter(({ what }) => what.includes('patched'));
if (!review) throw new Error('there is no review to ask');
const body = JSON.stringify(review.review);
const workspace = createWorkspace('bench');
const certDir = workspace.path('certs');
buildBundle();

const node = createCpuCgroup(`taintkeeper-node-${process.pid}`, NODE_MILLICPU);
// The API server is no part of the node.
const client = node.inner('client', 1000 * CPUS);
client.admit(process.pid);
try {
  printHead(
    'CPU request',
    'start to the first answer',
    `${SINGLE} new connections, one after the other: median; longest`,
    `${SINGLE} requests over one: median; longest`,
    `${AT_ONCE} new connections at once: median; longest`,
    'not within 2 s',
  );
  for (const milliCpu of counts) await measure(milliCpu);
} finally {
  leaveCpuCgroup(process.pid);
  client.remove();
  node.remove();
  workspace.remove();
}

async function measure(milliCpu: number): Promise<void> {
  const ours = node.inner('ours', milliCpu);
  const others = node.inner('others', 1000 * CPUS - milliCpu);
  const loops = Array.from({ length: LOOPS }, () => spawnIn(others, ['-e', 'for(;;);']));
  const start = stopwatch();
  const replica = await startConfinedReplica(ours, certDir);
  const { port } = replica;
  try {
    await replica.answers(requestBytes('/mutate', body));
    const started = start.seconds();
    const single = await oneByOne(() => ask(port));
    const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
    await ask(port, agent);
    const kept = await oneByOne(() => ask(port, agent));
    agent.destroy();
    const atOnce = await Promise.all(Array.from({ length: AT_ONCE }, () => ask(port)));
    const all = [...single, ...kept, ...atOnce];
    printRow(
      `${milliCpu}m`,
      `${started.toFixed(1)} s`,
      ...[single, kept, atOnce].map(range),
      `${all.filter((ms) => ms > DEADLINE_MS).length} of ${all.length}`,
    );
  } finally {
    await Promise.all([replica.end(), ...loops.map(kill)]);
    ours.remove();
    others.remove();
  }
}

function range(times: readonly number[]): string {
  return `${median(times).toFixed(0)}; ${Math.max(...times).toFixed(0)} ms`;
}

async function oneByOne(work: () => Promise<number>): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < SINGLE; n++) {
    times.push(await work());
    await delay(PAUSE_MS);
  }
  return times;
}

/** Milliseconds from the connection, if it is new, to the whole answer. */
function ask(port: number, agent?: Agent): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const watch = stopwatch();
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const options = { port, host: '127.0.0.1', path: '/mutate', method: 'POST', headers, rejectUnauthorized: false };
  const outgoing = request({ ...options, agent: agent ?? false }, (response) =>
    response.resume().once('end', () => resolve(1000 * watch.seconds())),
  );
  outgoing.once('error', reject).end(body);
  return promise;
}

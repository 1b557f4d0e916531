import { parseArgs } from 'node:util';
import { createWorkspace } from '../test/control-plane/workspace.ts';
import { type Measured, measure } from './endpoint/load.ts';
import { writeRequest } from './endpoint/request-file.ts';
import { REVIEW_CASES } from './endpoint/reviews.ts';
import { inTurn, warmUp } from './in-turn.ts';
import { printHead, printRow } from './markdown-table.ts';
import {
  BARE_FASTIFY,
  CONTROLLER_RUNTIME,
  type Contestant,
  FLOOR,
  FLOOR_WITH_LOG,
  startContestants,
} from './peers/contestants.ts';
import { memoryOf } from './process-memory.ts';
import { median } from './statistics.ts';

/**
 * What one review costs a webhook, and how many it answers: ours as it is deployed, the same rules by hand on `node:https`, without
 * a log and with a line for each denied or patched request, a Fastify that says yes, and the same rules with controller-runtime; with `--before`, an earlier bundle of ours, too. Each is a process of its own; one after the
 * other gets a short burst, round after round, and medians count. Prints a Markdown table. Linux only. With `--node`, all programs for Node.js run on others, too.
 *
 *     npx node bench/endpoint.ts [--rounds N] [--seconds N] [--case TEXT] [--connections N ...] [--before DIR] [--node FILE ...] [--no-go]
 */
const { values: flags } = parseArgs({
  allowNegative: true,
  options: {
    rounds: { type: 'string', default: '9' },
    seconds: { type: 'string', default: '0.7' },
    case: { type: 'string', default: '' },
    before: { type: 'string' },
    node: { type: 'string', multiple: true, default: [] },
    go: { type: 'boolean', default: true },
    connections: { type: 'string', multiple: true, default: ['1', '8', '64'] },
  },
});
const seconds = Number(flags.seconds);
const workspace = createWorkspace('bench');

await using contestants = await startContestants(flags);
const cases = REVIEW_CASES.filter(({ what }) => what.includes(flags.case)).map((item, index) => {
  const requestFile = workspace.path(`request-${index}`);
  process.stdout.write(`${item.what}: ${(writeRequest(requestFile, item) / 1000).toFixed(1)} KB\n`);
  return { ...item, requestFile };
});
process.stdout.write('\n');

for (const contestant of contestants.all) {
  // Compiled before it starts.
  if (contestant.name === CONTROLLER_RUNTIME) continue;
  for (const item of cases) await warmUp((seconds) => burst(contestant, item, 8, seconds));
}
const rows = cases.flatMap((item) =>
  flags.connections.map((connections) => ({
    item,
    connections: Number(connections),
    measured: new Map(contestants.all.map((contestant) => [contestant, [] as Measured[]])),
  })),
);
for (let round = 0; round < Number(flags.rounds); round++) {
  for (const { item, connections, measured } of rows) {
    for (const [contestant, samples] of inTurn(round, measured)) {
      samples.push(await burst(contestant, item, connections, seconds));
    }
  }
}

const HEADINGS = ['request', 'connections', 'webhook', 'CPU s per 1,000', 'ratio', 'with a log line'];
printHead(...HEADINGS, 'requests/s', 'p50 ms', 'p99 ms');
for (const { item, connections, measured } of rows) {
  for (const [contestant, samples] of measured) {
    // controller-runtime has no Node.js: it is compared with the bare server on the one that runs this.
    const sameNode = ({ node }: Contestant) => node === (contestant.node ?? contestants.all[0]?.node);
    const samplesOf = (floor: string) => [...measured].find(([one]) => one.name === floor && sameNode(one))?.[1] ?? [];
    const of = (field: keyof Measured) => median(samples.map((sample) => sample[field]));
    // Of one round each: what else the machine does weighs on both alike.
    const ratioTo = (floor: readonly Measured[]) =>
      median(samples.map((sample, n) => sample.cpuSecondsPerThousand / (floor[n]?.cpuSecondsPerThousand ?? 0)));
    printRow(
      item.what,
      String(connections),
      nameOf(contestant),
      of('cpuSecondsPerThousand').toFixed(3),
      ratioTo(samplesOf(FLOOR)).toFixed(2),
      ratioTo(samplesOf(FLOOR_WITH_LOG)).toFixed(2),
      of('requestsPerSecond').toFixed(0),
      of('p50').toFixed(2),
      of('p99').toFixed(2),
    );
  }
}
process.stdout.write('\n');
printHead('webhook', 'RSS after all of it', 'peak RSS');
for (const contestant of contestants.all) {
  const { now, peak } = memoryOf(contestant.pid);
  printRow(nameOf(contestant), `${now.toFixed(0)} MiB`, `${peak.toFixed(0)} MiB`);
}

function nameOf({ name, node }: Contestant): string {
  return flags.node.length > 0 && node !== undefined ? `${name}, ${node}` : name;
}

function burst(contestant: Contestant, item: (typeof cases)[number], connections: number, seconds: number) {
  const { name, port, pid } = contestant;
  const { requestFile } = item;
  const expected = name === BARE_FASTIFY ? undefined : item.expected;
  return measure({ port, pid, caFile: contestants.caFile, requestFile, expected, connections, seconds });
}

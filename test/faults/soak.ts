import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { printHead, printRow } from '../../bench/markdown-table.ts';
import { numberOf, provideOrExit } from '../control-plane/provide-or-exit.ts';
import { settleLosses } from './losses.ts';
import { startSite } from './site.ts';
import { countReasons, countResults } from './tally.ts';
import { startTraffic } from './traffic.ts';
import { openWatches, slopePerHour, type VitalSigns, vitalSignsOf } from './vital-signs.ts';

/**
 * An hour, or so many minutes, of requests at a fixed rate with nothing going wrong: every outcome is counted, and memory,
 * sockets, timers and watches are looked at every ten seconds. Prints a table for each replica. Linux only.
 *
 *     npm run soak -- [--minutes 60] [--rate 20] [--warm-up 5]
 */
const SAMPLE_MS = 10_000;
const ROOT = join(import.meta.dirname, '..', '..');

const { values: flags } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    rate: { type: 'string', default: '20' },
    // Until everything has been compiled, and every buffer has its size.
    'warm-up': { type: 'string', default: '5' },
  },
});
const seconds = numberOf('minutes', flags.minutes) * 60;
const rate = numberOf('rate', flags.rate);
const warmUpSeconds = numberOf('warm-up', flags['warm-up']) * 60;

await provideOrExit();
execFileSync('npm', ['run', 'build', '--silent'], { cwd: ROOT, stdio: 'inherit' });
const site = await startSite({ program: join(ROOT, 'dist', 'taintkeeper.cjs') });
const traffic = startTraffic(site, rate);
const replicas = [...site.installation.replicas.values()];
const signs = new Map<string, VitalSigns[]>(replicas.map(({ name }) => [name, []]));
const watches: { atSeconds: number; value: number }[] = [];
let unreported: readonly string[] = [];
const began = performance.now();
try {
  for (let atSeconds = 0; atSeconds < seconds; atSeconds = (performance.now() - began) / 1000) {
    await delay(SAMPLE_MS);
    for (const replica of replicas) signs.get(replica.name)?.push(await vitalSignsOf(replica, atSeconds));
    watches.push({ atSeconds, value: await openWatches(site.cp) });
  }
  await site.settle();
  unreported = (await settleLosses(site, traffic)).unreported;
} finally {
  await traffic.stop();
  await site.stop();
}
const totals = countResults(traffic.samples());
print(`${flags.minutes} minutes at ${rate} requests a second: ${JSON.stringify(totals)}`);
print(`not sent: ${traffic.unsent()}; lost and not told of: ${unreported.length}`);
for (const [reason, count] of countReasons(traffic.samples())) print(`${count} × ${reason}`);
const minutes = traffic
  .samples()
  .filter(({ result }) => result === 'failed' || result === 'missed')
  .map(({ sentAt }) => Math.floor((sentAt - began) / 60_000) + 1);
if (minutes.length > 0) print(`failed or missed in the minutes ${[...new Set(minutes)].join(', ')}`);

print(`\nafter the first ${flags['warm-up']} minutes:\n`);
printHead('replica', 'what', 'least', 'most', 'at the end', 'slope');
const VALUES = { rssMib: 'RSS, MiB', heapMib: 'heap, MiB', sockets: 'sockets', files: 'open files', timers: 'timers' };
for (const [name, found] of signs) {
  for (const [field, what] of Object.entries(VALUES)) {
    row(
      name,
      what,
      found.map((sign) => ({ atSeconds: sign.atSeconds, value: sign[field as keyof typeof VALUES] })),
    );
  }
}
row('API server', 'watches', watches);
process.exit(totals.wrong + unreported.length > 0 ? 1 : 0);

function row(name: string, what: string, points: readonly { atSeconds: number; value: number }[]): void {
  const settled = points.filter(({ atSeconds }) => atSeconds >= warmUpSeconds);
  const values = settled.map(({ value }) => value);
  const figures = [Math.min(...values), Math.max(...values), values.at(-1) ?? 0].map((value) => value.toFixed(0));
  printRow(name, what, ...figures, `${slopePerHour(settled).toFixed(1)} an hour`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

import { execFileSync, spawnSync } from 'node:child_process';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { printHead, printRow } from '../../bench/markdown-table.ts';
import { chosenBy, numberOf, provideOrExit } from '../control-plane/provide-or-exit.ts';
import { type Measured, measure } from './measure.ts';
import { runMonkey } from './monkey.ts';
import { networkOf, OWN_NETWORK } from './scenarios/packets.ts';
import { SCENARIOS } from './scenarios.ts';
import { startSite } from './site.ts';
import { COLUMNS, rowOf } from './table.ts';
import { startTraffic } from './traffic.ts';

/**
 * Lets one thing after the other go wrong under 20 requests a second, and prints the rows that results.md sums up: how the
 * requests ended, and how soon all was well again. Linux only; as root, it takes a network namespace of its own, in which packets can be dropped.
 *
 *     npm run faults                                   all of them
 *     npm run faults -- kill-leader late               those whose names begin so
 *     npm run faults -- monkey --seed 7 --steps 1000 [--minutes 15]
 *                                                    what people do to objects by hand, in random order
 */
const ROOT = join(import.meta.dirname, '..', '..');

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string' }, steps: { type: 'string', default: '1000' }, minutes: { type: 'string' } },
});

const isMonkey = positionals[0] === 'monkey';
const chosen = isMonkey ? [] : chosenBy(positionals, SCENARIOS);
const seed = flags.seed === undefined ? Date.now() % 1_000_000 : numberOf('seed', flags.seed);
const steps = numberOf('steps', flags.steps);
const minutes = flags.minutes === undefined ? Number.POSITIVE_INFINITY : numberOf('minutes', flags.minutes);

// What has to be fetched for it comes from outside of that network.
if (!process.env[OWN_NETWORK]) await provideOrExit();
if (!process.env[OWN_NETWORK] && hasOwnNetwork()) {
  const env = { ...process.env, [OWN_NETWORK]: networkOf() };
  const inside = ['ip link set lo up && exec "$0" "$@"', process.execPath, ...process.argv.slice(1)];
  process.exit(spawnSync('unshare', ['-n', 'sh', '-c', ...inside], { stdio: 'inherit', env }).status ?? 1);
}
execFileSync('npm', ['run', 'build', '--silent'], { cwd: ROOT, stdio: 'inherit' });
const program = join(ROOT, 'dist', 'taintkeeper.cjs');

let failed = false;
if (isMonkey) {
  const site = await startSite({ program });
  try {
    const report = await runMonkey(site, { seed, steps, until: performance.now() + minutes * 60_000, say: print });
    failed = report.wrong > 0 || report.unreported.length > 0;
    print(report.summary);
  } finally {
    await site.stop();
  }
} else {
  const site = await startSite({ program });
  const traffic = startTraffic(site);
  try {
    printHead(...COLUMNS);
    for (const scenario of chosen) {
      const obstacle = scenario.obstacle?.();
      if (obstacle) {
        printRow(`\`${scenario.name}\``, `left out: ${obstacle}`);
        continue;
      }
      const measured = await measure(scenario, site, traffic);
      print(rowOf(measured));
      explain(measured);
      failed ||= isBad(measured);
    }
  } finally {
    await traffic.stop();
    await site.stop();
  }
  process.stderr.write(`load of the machine at the end: ${loadavg()[0]?.toFixed(1)}\n`);
}
process.exit(failed ? 1 : 0);

function isBad({ counts, losses }: Measured): boolean {
  return counts.wrong > 0 || losses.unreported.length > 0;
}

/** Beside the table, what failed and why. */
function explain({ scenario, reasons, losses, unsent }: Measured): void {
  const lines = [
    ...reasons.map(([reason, count]) => `${count} × ${reason}`),
    ...(unsent > 0 ? [`${unsent} not sent`] : []),
    ...(losses.unreported.length > 0 ? [`NOT TOLD OF: ${losses.unreported.join(', ')}`] : []),
  ];
  for (const line of lines) process.stderr.write(`  ${scenario.name}: ${line}\n`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function hasOwnNetwork(): boolean {
  return spawnSync('unshare', ['-n', 'sh', '-c', 'ip link set lo up && iptables -w -L']).status === 0;
}

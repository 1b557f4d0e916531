import { printHead, printRow } from '../../../../bench/markdown-table.ts';
import { chosenBy, exitFor, provideOrExit } from '../../../control-plane/provide-or-exit.ts';
import { obstacleToRealNode } from '../../obstacle.ts';
import { provideRealNode } from '../../provide.ts';
import { seconds } from '../seconds.ts';
import { LEVERS } from './levers.ts';
import { type Lost, loseNode } from './lose-node.ts';

/**
 * Takes one of two real nodes off the wire, again and again on new ones, each time with one thing set otherwise, and prints a
 * table. ../results.md has its rows without `slow` and `last problem after`, and with the load that is printed beside it. Linux only, as root.
 *
 *     npm run levers:real                       all of them, in half an hour
 *     npm run levers:real -- many timeout       those whose names begin so
 */
const starts = process.argv.slice(2);
const COLUMNS = [
  'what is set',
  'connections',
  'requests',
  'removals failed',
  'removals missed',
  'DaemonSets missed',
  'slow',
  'longest',
  'last problem after',
  'not ready after',
  'two again after',
];

const chosen = chosenBy(starts, LEVERS);
await provideOrExit();
await provideRealNode((line) => process.stderr.write(`${line}\n`));
const obstacle = obstacleToRealNode();
if (obstacle) exitFor(obstacle);

printHead('lever', ...COLUMNS);
let failed = false;
for (const lever of chosen) {
  try {
    const lost = await loseNode(lever);
    printRow(`\`${lever.name}\``, lever.what, ...figures(lost));
    explain(lever.name, lost);
  } catch (error) {
    failed = true;
    process.stderr.write(`${lever.name}: ${error instanceof Error ? error.stack : error}\n`);
  }
}
process.exit(failed ? 1 : 0);

function figures({ summary, removals, daemonSets, connections, ...times }: Lost): string[] {
  return [
    `${connections.get('n2') ?? 0} of ${[...connections.values()].reduce((sum, count) => sum + count, 0)}`,
    ...[summary.sent, removals.failed, removals.missed, daemonSets.missed, summary.slow].map(String),
    ...[summary.max, times.troubledUntil, times.unreadyAfter].map(seconds),
    times.replacedAfter === undefined ? '' : seconds(times.replacedAfter),
  ];
}

/** Beside the table: when there were problems, by seconds. */
function explain(name: string, { summary, daemonSets, troubledAt, machineLoad }: Lost): void {
  const bySecond = Object.entries(Object.groupBy(troubledAt, (at) => Math.floor(at)))
    .map(([second, all]) => `${second} s: ${all?.length}`)
    .join(', ');
  const times = `p50 ${seconds(summary.p50)}, p99 ${seconds(summary.p99)}`;
  process.stderr.write(`  ${name}: ${times}; DaemonSets failed ${daemonSets.failed}; load ${machineLoad.toFixed(1)}\n`);
  process.stderr.write(`  ${name}: problems by the second of sending: ${bySecond || 'none'}\n`);
}

import { parseArgs } from 'node:util';
import { printHead, printRow } from '../../../bench/markdown-table.ts';
import { buildModules } from '../../control-plane/build.ts';
import { HELM, obstacleToHelm } from '../../control-plane/helm.ts';
import { chosenBy, exitFor, numberOf, provideOrExit } from '../../control-plane/provide-or-exit.ts';
import { obstacleToRealNode } from '../obstacle.ts';
import { provideRealNode } from '../provide.ts';
import { type Measured, measure } from './measure.ts';
import { OUTAGES } from './outages.ts';
import { seconds } from './seconds.ts';

/**
 * Lets one thing after the other go wrong on two real nodes, each on new ones, under a steady load, and prints the table of
 * results.md beside it, as markdown. Linux only, as root.
 *
 *     npm run faults:real                                   all of them
 *     npm run faults:real -- kill link [--per-second 20]    those whose names begin so
 */
const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'per-second': { type: 'string', default: '15' } },
});
const COLUMNS = ['what happens', 'requests', 'failed', 'missed', 'wrong', 'slow', 'lasted', 'recovered after'];

const chosen = chosenBy(positionals, OUTAGES);
const perSecond = numberOf('per-second', flags['per-second']);
await provideOrExit();
const report = (line: string) => process.stderr.write(`${line}\n`);
await buildModules([HELM], report);
await provideRealNode(report);
const obstacle = obstacleToRealNode() ?? obstacleToHelm();
if (obstacle) exitFor(obstacle);

printHead('outage', ...COLUMNS);
let failed = false;
for (const outage of chosen) {
  try {
    const measured = await measure(outage, perSecond);
    printRow(`\`${outage.name}\``, outage.what, ...figures(measured));
    explain(outage.name, measured);
  } catch (error) {
    failed = true;
    process.stderr.write(`${outage.name}: ${error instanceof Error ? error.stack : error}\n`);
  }
}
process.exit(failed ? 1 : 0);

function figures({ summary, rightAfterMs }: Measured): string[] {
  const { sent, failed: failures, missed, wrong, slow, troubledSeconds } = summary;
  return [...[sent, failures, missed, wrong, slow].map(String), seconds(troubledSeconds), seconds(rightAfterMs / 1000)];
}

/** Beside the table: who was who, and why requests were not answered rightly. */
function explain(name: string, { called, leader, reasons, summary, machineLoad }: Measured): void {
  const times = `p50 ${seconds(summary.p50)}, p99 ${seconds(summary.p99)}, longest ${seconds(summary.max)}`;
  process.stderr.write(`  ${name}: called ${called}, leader ${leader}; ${times}; load ${machineLoad.toFixed(1)}\n`);
  for (const [reason, count] of reasons) process.stderr.write(`  ${name}: ${count} × ${reason}\n`);
}

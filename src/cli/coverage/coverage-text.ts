import type { CoverageReport } from '../../coverage/report.ts';
import { count } from '../../text/counts.ts';
import { printable, shellWord } from '../../text/printable.ts';
import type { OutputFormat } from '../options.ts';
import { formatAs } from '../output/format.ts';
import type { Look } from '../output/look.ts';
import { namesIn } from '../output/table.ts';
import type { RefusedDaemonSet } from './coverage-input.ts';
import { type Findings, findingTables } from './finding-tables.ts';
import { matrixText } from './matrix-text.ts';

/** The result of `taintkeeper coverage` as text. */
export function formatCoverage(
  report: CoverageReport,
  { grouped, format, ...findings }: Findings & { readonly grouped: boolean; readonly format: OutputFormat },
): string {
  return formatAs(format, {
    data: () => ({ ...report, ...findings }),
    table: (look) => table(report, grouped, findings, look),
  });
}

function table(report: CoverageReport, grouped: boolean, findings: Findings, look: Look): string {
  const { refused, notes } = findings;
  return [
    ...matrixText(report, grouped, look),
    ...findingTables(report, findings, look),
    ...(notes.length > 0 ? [notes.map((note) => `note: ${printable(note)}\n`).join('')] : []),
    conclusion(report, refused, look),
  ].join('\n');
}

/** The maximum number of keys on one line. */
const KEYS = 3;

function conclusion(report: CoverageReport, refused: readonly RefusedDaemonSet[], look: Look): string {
  if (refused.length === 0) return summary(report, look);
  const first = `${count(refused.length, 'DaemonSet')} refused by the API server: correct the tolerations first\n`;
  return report.daemonSets.length === 0 ? first : `${first}${summary(report, look)}`;
}

function summary({ gaps, closable, rollouts, askable }: CoverageReport, look: Look): string {
  const lasting = gaps.filter(({ passing }) => !passing);
  if (lasting.length === 0) return 'no gaps: no taint keeps a DaemonSet off a node\n';
  const rolledOut = rollouts.reduce((sum, { gaps }) => sum + gaps, 0);
  const close = (closed: number) => `close ${closed < lasting.length ? `${closed} of them` : 'all'}`;
  const named = namesIn(askable, KEYS, look);
  const asking =
    askable.length > KEYS && !look.wide ? '--taint KEY' : askable.map((key) => `--taint ${shellWord(key)}`).join(' ');
  const where = rolledOut > 0 ? 'on the other nodes' : 'there';
  const ask =
    closable > 0
      ? `for ${named} add ${asking}`
      : `where DaemonSets should run ${where}, coverage fix ${asking} prints the policies for it`;
  const advice = [
    ...(rolledOut > 0 ? [`the rollouts above ${close(rolledOut)}`] : []),
    ...(closable > 0 ? [`coverage fix prints the policies that ${close(closable)}`] : []),
    ...(askable.length > 0 ? [ask] : []),
  ];
  return `${count(lasting.length, 'gap')}: ${advice.length > 0 ? advice.join('; ') : 'coverage fix says why no policy closes them'}\n`;
}

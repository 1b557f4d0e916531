import { styleText } from 'node:util';
import type { CheckResult } from '../../doctor/check.ts';
import { type Diagnosis, type DiagnosisResult, problemsOf } from '../../doctor/diagnosis.ts';
import type { Level } from '../../explain/display.ts';
import { count } from '../../text/counts.ts';
import { printable } from '../../text/printable.ts';
import type { OutputFormat } from '../options.ts';
import { formatAs } from '../output/format.ts';
import type { Look } from '../output/look.ts';
import { type TableCell, tableRows } from '../output/table.ts';
import { EXIT } from '../process.ts';

/**
 * The diagnosis as text.
 * @param all also the checks without a problem
 */
export function formatDiagnosis(
  diagnosis: Diagnosis,
  output: OutputFormat,
  { all = false, colors = false } = {},
): string {
  return formatAs(output, {
    data: () => diagnosis,
    table: (look) => (all ? everything(diagnosis, look) : complaints(diagnosis, colors)),
  });
}

/** The result, and then every check with its evidence. The line below a check says what to do. */
function everything({ result, summary, checks }: Diagnosis, look: Look): string {
  const [head, ...rows] = tableRows([['AREA', 'CHECK', 'STATE', 'EVIDENCE'], ...checks.map(rowOf)], look);
  const shown = rows.map((row, index) => `${row}${remedyLine(checks[index]?.remedy, look.colors)}`);
  return [`${result}: ${printable(summary)}\n\n`, head, ...shown].join('');
}

/** A remedy is not wrapped, so that its commands can be copied. */
function remedyLine(remedy: string | undefined, colors: boolean): string {
  return remedy === undefined ? '' : `  -> ${painted('bold', printable(remedy), colors)}\n`;
}

const LEVELS: Readonly<Record<CheckResult['state'], Level>> = {
  ok: 'ok',
  problem: 'failed',
  note: 'attention',
  skipped: 'quiet',
};

function rowOf({ area, name, state, evidence }: CheckResult): TableCell[] {
  return [area, name, { text: state, level: LEVELS[state] }, printable(evidence)];
}

type Style = Parameters<typeof styleText>[0];

function painted(style: Style, text: string, colors: boolean): string {
  return colors ? styleText(style, text, { validateStream: false }) : text;
}

/** Problems and notes, the cause first. The line below each says what to do. */
function complaints({ result, summary, checks }: Diagnosis, colors: boolean): string {
  const paint = (style: Style, text: string) => painted(style, text, colors);
  const problems = problemsOf(checks);
  const notes = checks.filter(({ state }) => state === 'note');
  const skipped = checks.filter(({ state }) => state === 'skipped');
  const isSaid = ({ name, evidence }: CheckResult) => `${name}: ${evidence}` === summary;
  const unseen = result === 'unknown' ? skipped.filter((check) => !isSaid(check)) : [];
  const wayOut = result === 'unknown' ? skipped.find(isSaid)?.remedy : undefined;
  const said = (style: Style, kind: (check: CheckResult) => string) => (check: CheckResult) =>
    `${paint(style, kind(check))} ${check.name === check.area ? '' : `${check.name}: `}${printable(check.evidence)}\n${remedyLine(check.remedy, colors)}`;
  const resultLine = `${paint(result === 'healthy' ? 'green' : 'yellow', `${result}:`)} ${printable(summary)}\n`;
  const hidden = [
    `${count(checks.filter(({ state }) => state === 'ok').length, 'check')} ok`,
    ...(skipped.length > 0 && result !== 'unknown' ? [`${skipped.length} skipped`] : []),
  ].join(', ');
  return [
    ...(problems.length > 0 ? [] : [resultLine]),
    remedyLine(wayOut, colors),
    ...problems.map(said(['red', 'bold'], ({ area }) => `${area}:`)),
    ...notes.map(said('yellow', () => 'note:')),
    ...unseen.map(said('yellow', () => 'skipped:')),
    ...((result === 'healthy' && skipped.length === 0) || checks.length === 1
      ? []
      : [paint('dim', `${hidden}; --all shows every check\n`)]),
  ].join('');
}

/** 0 healthy, 1 a problem was found, 2 could not determine the state. */
export function exitCodeOf({ result }: Diagnosis): number {
  return EXIT_CODES[result];
}

const EXIT_CODES: Readonly<Record<DiagnosisResult, number>> = {
  healthy: EXIT.ok,
  installation: EXIT.problem,
  certificate: EXIT.problem,
  network: EXIT.problem,
  configuration: EXIT.problem,
  unknown: EXIT.badInput,
};

import { stringify } from 'yaml';
import type { CheckResult, Diagnosis } from '../doctor/check.ts';
import { printable } from '../policy/text.ts';
import { columns } from './columns.ts';
import type { OutputFormat } from './output-format.ts';

/** The verdict, and then every check: what was seen and, in the line below, what mends it. */
export function formatDiagnosis(diagnosis: Diagnosis, output: OutputFormat): string {
  switch (output) {
    case 'json':
      return `${JSON.stringify(diagnosis, null, 2)}\n`;
    case 'yaml':
      return stringify(diagnosis);
    case 'table':
      return `${diagnosis.verdict}: ${printable(diagnosis.summary)}\n\n${columns([
        ['AREA', 'CHECK', 'STATE', 'EVIDENCE'],
        ...diagnosis.checks.flatMap(rows),
      ])}`;
  }
}

function rows({ area, name, state, evidence, remedy }: CheckResult): string[][] {
  return [
    [area, name, state, printable(evidence)],
    ...(remedy === undefined ? [] : [['', '', '', `-> ${printable(remedy)}`]]),
  ];
}

import { stringify } from 'yaml';
import { formatPath } from '../policy/problem.ts';
import { printable } from '../policy/text.ts';
import type { Finding } from '../talos/lint/finding.ts';
import type { OutputFormat } from './output-format.ts';

/** A finding for people and programs to read. */
export interface LocatedFinding {
  readonly file: string;
  /** Both from 1; absent where the file is JSON so large that its lines are not counted. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  readonly rule: string;
  readonly field: string;
  readonly reason: string;
  readonly fix: string;
}

/** The findings of one file, from its top to its end. */
export function locateFindings(file: string, findings: readonly Finding[]): LocatedFinding[] {
  return findings
    .map(({ document, path, rule, reason, fix }): LocatedFinding => {
      const [, line, column] = /:(\d+):(\d+)$/.exec(document.locate(path)) ?? [];
      const place = { line: line ? Number(line) : undefined, column: column ? Number(column) : undefined };
      return { file, ...place, rule, field: formatPath(path), reason, fix };
    })
    .sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}

/** The findings as text: nothing at all, as a table, where there are none. */
export function formatFindings(findings: readonly LocatedFinding[], format: OutputFormat): string {
  switch (format) {
    case 'table':
      return findings.map(block).join('\n');
    case 'json':
      return `${JSON.stringify({ findings }, null, 2)}\n`;
    case 'yaml':
      return stringify({ findings });
  }
}

/** Three lines: where and what, why, and the way out. As columns, nobody could read them. */
function block({ file, line, column, rule, field, reason, fix }: LocatedFinding): string {
  const place = [file, line, column].filter((part) => part !== undefined).join(':');
  return [`${place}  ${rule}  ${field}`, `  ${reason}`, `  fix: ${fix}`].map((text) => `${printable(text)}\n`).join('');
}

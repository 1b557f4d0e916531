import { pathToFileURL } from 'node:url';
import { printable } from '../kubernetes/text.ts';
import { formatPath } from '../policy/problem.ts';
import { type Finding, isAtLeast, type Severity } from '../talos/lint/finding.ts';
import { RULES } from '../talos/lint/lint.ts';
import { VERSION } from '../version.ts';
import { asJson, asYaml } from './output.ts';

/** A finding for people and programs to read. */
export interface LocatedFinding {
  readonly file: string;
  /** Both from 1; absent where the file is JSON so large that its lines are not counted. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  readonly severity: Severity;
  readonly rule: string;
  readonly field: string;
  readonly reason: string;
  readonly fix: string;
}

/** The findings of one file, from its top to its end. */
export function locateFindings(file: string, findings: readonly Finding[]): LocatedFinding[] {
  return findings
    .map(({ document, path, severity, rule, reason, fix }): LocatedFinding => {
      const [, line, column] = /:(\d+):(\d+)$/.exec(document.locate(path)) ?? [];
      const place = { line: line ? Number(line) : undefined, column: column ? Number(column) : undefined };
      return { file, ...place, severity, rule, field: formatPath(path), reason, fix };
    })
    .sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}

/** `github`: annotations of GitHub Actions. `sarif`: SARIF 2.1.0, which code scanning of GitHub, GitLab and others take. */
export const LINT_FORMATS = ['table', 'json', 'yaml', 'github', 'sarif'] as const;
export type LintFormat = (typeof LINT_FORMATS)[number];

/** What the command fails on: findings as bad as this one, or worse. */
export type FailOn = Severity | 'never';

export function isFailure({ severity }: LocatedFinding, failOn: FailOn): boolean {
  return failOn !== 'never' && isAtLeast(severity, failOn);
}

/** The findings as text: nothing at all, as a table, where there are none. */
export function formatFindings(findings: readonly LocatedFinding[], format: LintFormat, failOn: FailOn): string {
  switch (format) {
    case 'table':
      return findings.map(block).join('\n');
    case 'json':
      return asJson({ findings });
    case 'yaml':
      return asYaml({ findings });
    case 'github':
      return findings.map((finding) => annotation(finding, failOn)).join('');
    case 'sarif':
      return asJson(sarif(findings, failOn));
  }
}

/** Three lines: where and what, why, and the way out. As columns, nobody could read them. */
function block({ file, line, column, severity, rule, field, reason, fix }: LocatedFinding): string {
  const place = [file, line, column].filter((part) => part !== undefined).join(':');
  return [`${place}  ${severity}  ${rule}  ${field}`, `  ${reason}`, `  fix: ${fix}`]
    .map((text) => `${printable(text)}\n`)
    .join('');
}

/** Workflow command of GitHub Actions: `::error file=F,line=1,col=2,title=T::MESSAGE`. */
function annotation(finding: LocatedFinding, failOn: FailOn): string {
  const { file, line, column, rule, field, reason, fix } = finding;
  const properties = { file, line, col: column, title: `${rule}: ${field}` };
  const written = Object.entries(properties)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${escapeData(String(value)).replaceAll(':', '%3A').replaceAll(',', '%2C')}`);
  const level = isFailure(finding, failOn) ? 'error' : 'warning';
  return `::${level} ${written.join(',')}::${escapeData(`${reason}\nfix: ${fix}`)}\n`;
}

function escapeData(text: string): string {
  return text
    .split('\n')
    .map((line) => printable(line).replaceAll('%', '%25'))
    .join('%0A');
}

/** SARIF 2.1.0: only what viewers of it read. */
function sarif(findings: readonly LocatedFinding[], failOn: FailOn): object {
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'taintkeeper talos lint',
            version: VERSION,
            rules: RULES.map(({ id, about }) => ({ id, shortDescription: { text: about } })),
          },
        },
        columnKind: 'utf16CodeUnits',
        results: findings.map((finding) => ({
          ruleId: finding.rule,
          ruleIndex: RULES.findIndex(({ id }) => id === finding.rule),
          level: isFailure(finding, failOn) ? 'error' : 'warning',
          message: { text: `${finding.field}: ${finding.reason}\nfix: ${finding.fix}` },
          locations: [
            {
              physicalLocation: {
                artifactLocation: { uri: uriOf(finding.file) },
                ...(finding.line === undefined
                  ? {}
                  : { region: { startLine: finding.line, startColumn: finding.column } }),
              },
            },
          ],
          properties: { severity: finding.severity, field: finding.field },
        })),
      },
    ],
  };
}

/** Relative to where the command runs, as code scanning wants it, unless the path is not. */
function uriOf(file: string): string {
  if (file.startsWith('/')) return pathToFileURL(file).href;
  return file
    .replace(/^(\.\/)+/, '')
    .split('/')
    .map(encodeURIComponent)
    .join('/');
}

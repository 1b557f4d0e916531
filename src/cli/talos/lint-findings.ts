import { formatPath } from '../../policy/problem.ts';
import { isAtLeast, type LintFinding, type Severity } from '../../talos/lint/finding.ts';
import { RULES } from '../../talos/lint/lint.ts';
import { printable } from '../../text/printable.ts';
import { asAnnotations, asSarif, type CiResult, placeIn, type SourcePlace } from '../output/ci-results.ts';
import { asJson, asYaml } from '../output/format.ts';

/** A finding as it is printed. */
export interface LocatedFinding extends SourcePlace {
  readonly severity: Severity;
  readonly rule: string;
  readonly field: string;
  readonly reason: string;
  readonly fix: string;
}

/** The findings of one file, by line. */
export function locateFindings(file: string, findings: readonly LintFinding[]): LocatedFinding[] {
  return findings
    .map(({ document, path, severity, rule, reason, fix }): LocatedFinding => {
      return { ...placeIn(document.locate(path)), file, severity, rule, field: formatPath(path), reason, fix };
    })
    .sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}

/** `github`: annotations of GitHub Actions. `sarif`: SARIF 2.1.0, which code scanning of GitHub, GitLab and others take. */
export const LINT_FORMATS = ['table', 'json', 'yaml', 'github', 'sarif'] as const;
export type LintFormat = (typeof LINT_FORMATS)[number];

/** The severity from which the command fails. */
export type FailOn = Severity | 'never';

export function isFailure({ severity }: LocatedFinding, failOn: FailOn): boolean {
  return failOn !== 'never' && isAtLeast(severity, failOn);
}

/** The findings as text. A table without findings is empty. */
export function formatFindings(findings: readonly LocatedFinding[], format: LintFormat, failOn: FailOn): string {
  switch (format) {
    case 'table':
      return findings.map(block).join('\n');
    case 'json':
      return asJson({ findings });
    case 'yaml':
      return asYaml({ findings });
    case 'github':
      return asAnnotations(results(findings, failOn));
    case 'sarif':
      return asSarif('taintkeeper talos lint', RULES, results(findings, failOn));
  }
}

/** Three lines: location and name, reason, and fix. */
function block({ file, line, column, severity, rule, field, reason, fix }: LocatedFinding): string {
  const place = [file, line, column].filter((part) => part !== undefined).join(':');
  return [`${place}  ${severity}  ${rule}  ${field}`, `  ${reason}`, `  fix: ${fix}`]
    .map((text) => `${printable(text)}\n`)
    .join('');
}

function results(findings: readonly LocatedFinding[], failOn: FailOn): CiResult[] {
  return findings.map((finding) => {
    const { file, line, column, severity, rule, field, reason, fix } = finding;
    const level = isFailure(finding, failOn) ? 'error' : 'warning';
    const text = `${reason}\nfix: ${fix}`;
    return { file, line, column, level, rule, subject: field, text, properties: { severity, field } };
  });
}

import { Command, InvalidArgumentError, Option } from 'commander';
import { stringify } from 'yaml';
import { printable } from '../kubernetes/text.ts';
import { formatPath } from '../policy/problem.ts';
import { FIRST_VERSION, LAST_VERSION } from '../talos/fields.ts';
import type { Finding, Severity } from '../talos/lint/finding.ts';
import { lint } from '../talos/lint/lint.ts';
import { type MachineRole, readMachineConfigurations } from '../talos/machine-configuration.ts';
import { EXIT, type OutputFormat, outputOption } from './options.ts';

/** A finding for people and programs to read. */
export interface LocatedFinding {
  readonly file: string;
  /** Both from 1; absent where the file is JSON so large that its lines are not counted. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  readonly rule: string;
  readonly severity: Severity;
  readonly field: string;
  readonly reason: string;
  readonly fix: string;
}

/** The findings of one file, from its top to its end. */
export function locateFindings(file: string, findings: readonly Finding[]): LocatedFinding[] {
  return findings
    .map(({ document, path, rule, severity, reason, fix }): LocatedFinding => {
      const [, line, column] = /:(\d+):(\d+)$/.exec(document.locate(path)) ?? [];
      const place = { line: line ? Number(line) : undefined, column: column ? Number(column) : undefined };
      return { file, ...place, rule, severity, field: formatPath(path), reason, fix };
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

interface LintCommandOptions {
  readonly talosVersion?: number;
  readonly role?: MachineRole;
  readonly since?: string;
  readonly output: OutputFormat;
}

/** `taintkeeper talos lint`: what in machine configurations will not do what its author thinks. */
export function lintCommand(exit: (code: number) => void): Command {
  return new Command('lint')
    .description(
      'Say what in Talos machine configurations will not do what its author thinks: where, why, and what to write instead. Of what is right, nothing is said.',
    )
    .argument('<file...>', 'machine configurations, or patches of them; - is standard input')
    .option(
      '--talos-version <version>',
      `the Talos that reads them, 1.${FIRST_VERSION} to 1.${LAST_VERSION} (default: the tag of machine.install.image; without it, what all versions agree on)`,
      parseTalosVersion,
    )
    .addOption(
      new Option('--role <role>', 'the role of patches that do not say theirs').choices(['controlplane', 'worker']),
    )
    .option('--since <file>', 'the configuration that the nodes registered with: what cannot change since is reported')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Exit code: 0 nothing found, 1 something found, 2 bad input.

Examples:
  taintkeeper talos lint controlplane.yaml worker.yaml --talos-version 1.13
  taintkeeper talos lint patches/gpu.yaml --role worker
  taintkeeper talos lint gpu.yaml --since gpu-as-registered.yaml`,
    )
    .action(async (files: readonly string[], { talosVersion: version, role, since, output }: LintCommandOptions) => {
      const [registered] = since === undefined ? [] : await readMachineConfigurations([since]);
      const configurations = await readMachineConfigurations(files);
      const findings = configurations.flatMap((configuration) =>
        locateFindings(configuration.source, lint(configuration, { version, role, registered })),
      );
      process.stdout.write(formatFindings(findings, output));
      exit(findings.length > 0 ? EXIT.trouble : EXIT.ok);
    });
}

/**
 * The minor version in `1.13`, `v1.13` or `1.13.2`.
 * @throws InvalidArgumentError
 */
function parseTalosVersion(text: string): number {
  const minor = Number(/^v?1\.(\d+)(\.\d+)?$/.exec(text)?.[1]);
  if (minor >= FIRST_VERSION && minor <= LAST_VERSION) return minor;
  throw new InvalidArgumentError(`Expected a version from 1.${FIRST_VERSION} to 1.${LAST_VERSION}.`);
}

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type LocatedFinding, locateFindings } from '../../../../src/cli/talos/lint-findings.ts';
import { parseTalosDocuments } from '../../../../src/talos/document-values.ts';
import { type LintOptions, lint } from '../../../../src/talos/lint/lint.ts';
import { readMachineConfiguration } from '../../../../src/talos/machine-configuration.ts';
import { readMachineConfigurations } from '../../../../src/talos/read-machine-configurations.ts';

export const BROKEN = join(import.meta.dirname, '..', 'broken');
export const HEALTHY = join(import.meta.dirname, '..', 'healthy');

/**
 * Real configurations and the JSON Schema of Talos, which are no part of this repository: the directory `shared/fixtures`
 * beside it, or what the variable names.
 */
export const REAL =
  process.env.TAINTKEEPER_TEST_FIXTURES ??
  join(import.meta.dirname, '..', '..', '..', '..', '..', 'shared', 'fixtures');

export function yamlFiles(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith('.yaml'))
    .sort();
}

/** What lint finds in a file, from its top to its end. */
export async function lintFile(path: string, options: LintOptions = {}): Promise<LocatedFinding[]> {
  const [configuration] = await readMachineConfigurations([path]);
  return configuration ? locateFindings(path, lint(configuration, options)) : [];
}

/** And in a text. */
export function lintText(text: string, options: LintOptions = {}): LocatedFinding[] {
  const configuration = readMachineConfiguration(parseTalosDocuments(text, 'f.yaml'), 'f.yaml');
  return locateFindings('f.yaml', lint(configuration, options));
}

/** `line:column rule field`. */
export function inShort({ line, column, rule, field }: LocatedFinding): string {
  return `${line}:${column} ${rule} ${field}`;
}

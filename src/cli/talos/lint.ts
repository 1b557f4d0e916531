import { Command, InvalidArgumentError, Option } from 'commander';
import { InputError } from '../../files/input-error.ts';
import { fileIdentity, listFiles } from '../../files/text-files.ts';
import { ForeignFileError } from '../../talos/accepted-documents.ts';
import { disabledIn } from '../../talos/lint/disabled-rules.ts';
import { SEVERITIES } from '../../talos/lint/finding.ts';
import { type LintOptions, lint } from '../../talos/lint/lint.ts';
import type { MachineRole } from '../../talos/machine-configuration.ts';
import { readMachineConfigurations, readMachineConfigurationText } from '../../talos/read-machine-configurations.ts';
import { FIRST_VERSION, LAST_VERSION } from '../../talos/versions.ts';
import { type FilenameOptions, filenameOption, requiredFiles } from '../options.ts';
import { tell } from '../output/stderr.ts';
import { EXIT } from '../process.ts';
import {
  type FailOn,
  formatFindings,
  isFailure,
  LINT_FORMATS,
  type LintFormat,
  type LocatedFinding,
  locateFindings,
} from './lint-findings.ts';

interface LintCommandOptions extends FilenameOptions {
  readonly talosVersion?: Pick<LintOptions, 'version' | 'patch'>;
  readonly role?: MachineRole;
  readonly since?: string;
  readonly failOn: FailOn;
  readonly output: LintFormat;
}

/** `taintkeeper talos lint`: lints machine configurations. */
export function lintCommand(exit: (code: number) => void): Command {
  return new Command('lint')
    .description(
      'Lint Talos machine configurations: find declarations that Talos refuses, or that have no effect, with the place, the reason and the fix. Only problems are reported.',
    )
    .argument(
      '[file...]',
      'machine configurations, or patches of them; of a directory, its .yaml, .yml and .json files; - is standard input',
    )
    .addOption(filenameOption())
    .option(
      '--talos-version <version>',
      `the Talos that reads them, 1.${FIRST_VERSION} to 1.${LAST_VERSION} (default: the tag of machine.install.image; without both, most of what depends on the version is left out)`,
      parseTalosVersion,
    )
    .addOption(
      new Option('--role <role>', 'the role of patches that do not say theirs').choices(['controlplane', 'worker']),
    )
    .option(
      '--since <file>',
      'the configuration that the nodes registered with: reports changes that have no effect after registration',
    )
    .addOption(
      new Option(
        '--fail-on <severity>',
        'fail on findings as bad as this, or worse: Talos or the kubelet refuses it; it has no effect; it is deprecated',
      )
        .choices([...SEVERITIES, 'never'])
        .default('no-effect'),
    )
    .addOption(new Option('-o, --output <format>', 'output format').choices(LINT_FORMATS).default('table'))
    .addHelpText(
      'after',
      `
A comment in a file switches off rules for it: # taintkeeper-lint-disable RULE RULE -- why

Exit code: 0 nothing found that --fail-on fails on, 1 something found, 2 bad input. Files that can be read are
judged all the same; those of a directory that are no machine configurations are passed over, and named on
standard error.

Examples:
  taintkeeper talos lint controlplane.yaml worker.yaml --talos-version 1.13
  taintkeeper talos lint patches/ --role worker --fail-on refused
  taintkeeper talos lint gpu.yaml --since gpu-as-registered.yaml
  taintkeeper talos lint talos/ -o github`,
    )
    .action(async (args: readonly string[], options: LintCommandOptions) => {
      const paths = requiredFiles(args, options);
      const { talosVersion = {}, role, since, failOn, output } = options;
      const [registered] = since === undefined ? [] : await readMachineConfigurations([since]);
      const { findings, passedOver, faults } = await lintFiles(paths, {
        ...talosVersion,
        role,
        registered,
      });
      process.stdout.write(formatFindings(findings, output, failOn));
      tell(...passedOver.map((message) => `passed over: ${message}`));
      if (faults.length > 0) throw new InputError(faults);
      exit(findings.some((finding) => isFailure(finding, failOn)) ? EXIT.problem : EXIT.ok);
    });
}

interface LintedFiles {
  readonly findings: LocatedFinding[];
  /** Files of directories that are not Talos', and why. */
  readonly passedOver: string[];
  /** Files that cannot be used. */
  readonly faults: string[];
}

/** Lints each file once. A file that cannot be read does not hide the findings of others. */
async function lintFiles(paths: readonly string[], options: LintOptions): Promise<LintedFiles> {
  const result: LintedFiles = { findings: [], passedOver: [], faults: [] };
  const linted = new Set<string>();
  for (const path of paths) {
    try {
      const files = path === '-' ? [path] : await listFiles([path]);
      if (files.length === 0) throw new InputError([`${path}: there are no YAML or JSON files in it`]);
      const isDirectory = files[0] !== path;
      for (const file of files) {
        if (linted.has(fileIdentity(file))) continue;
        linted.add(fileIdentity(file));
        await lintFile(file, isDirectory, options, result);
      }
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      result.faults.push(...error.faults);
    }
  }
  return result;
}

async function lintFile(file: string, isListed: boolean, options: LintOptions, result: LintedFiles): Promise<void> {
  try {
    const { configuration, text } = await readMachineConfigurationText(file);
    const disabled = disabledIn(text, configuration.source);
    result.findings.push(...locateFindings(configuration.source, lint(configuration, { ...options, disabled })));
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    // The first fault is the cause of the others.
    const [fault = ''] = error.faults;
    (isListed && error instanceof ForeignFileError ? result.passedOver : result.faults).push(fault);
  }
}

/**
 * The minor version in `1.13`, `v1.13` or `1.13.2`, and its patch.
 * @throws InvalidArgumentError
 */
function parseTalosVersion(text: string): Pick<LintOptions, 'version' | 'patch'> {
  const [, minor, patch] = /^v?1\.(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  const version = Number(minor);
  if (version >= FIRST_VERSION && version <= LAST_VERSION) {
    return { version, patch: patch === undefined ? undefined : Number(patch) };
  }
  throw new InvalidArgumentError(`Expected a version from 1.${FIRST_VERSION} to 1.${LAST_VERSION}.`);
}

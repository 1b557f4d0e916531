import { Command, InvalidArgumentError, Option } from 'commander';
import { FIRST_VERSION, LAST_VERSION } from '../talos/fields.ts';
import { lint } from '../talos/lint/lint.ts';
import type { MachineRole } from '../talos/machine-configuration.ts';
import { readMachineConfigurations } from '../talos/read-machine-configurations.ts';
import { EXIT } from './exit.ts';
import { type OutputFormat, outputOption } from './output-format.ts';
import { formatFindings, locateFindings } from './talos-lint-output.ts';

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

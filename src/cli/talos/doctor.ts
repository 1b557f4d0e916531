import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { Command } from 'commander';
import { diagnose } from '../../doctor/diagnosis.ts';
import { examine } from '../../doctor/talos/examine.ts';
import type { DesiredConfiguration } from '../../doctor/talos/talos-facts.ts';
import { InputError } from '../../files/input-error.ts';
import { readBoundedText, sourceName } from '../../files/text-files.ts';
import { disabledIn } from '../../talos/lint/disabled-rules.ts';
import { readMachineConfigurationText } from '../../talos/read-machine-configurations.ts';
import { readTalosContext } from '../../talos/talosconfig.ts';
import { exitCodeOf, formatDiagnosis } from '../doctor/diagnosis.ts';
import { type OutputFormat, outputOption, parseMilliseconds, repeatable } from '../options.ts';
import { usesColors } from '../output/look.ts';
import { withProgress } from '../output/stderr.ts';

interface TalosDoctorOptions {
  readonly talosconfig?: string;
  readonly context?: string;
  readonly nodes?: readonly string[];
  readonly filename?: string;
  readonly timeout: number;
  readonly all?: true;
  readonly output: OutputFormat;
}

/** A talosconfig is a few kilobytes for each context. */
const MAX_BYTES = 1024 * 1024;
const TIMEOUT_MS = 5_000;

/** `taintkeeper talos doctor`: finds out why talosctl cannot connect. */
export function talosDoctorCommand(exit: (code: number) => void): Command {
  return new Command('doctor')
    .description(
      'Find out why talosctl cannot connect: certificate, clock, network or configuration. Also shows which Talos the nodes run, and what applying a configuration to them needs. Changes nothing.',
    )
    .option('--talosconfig <file>', 'default: TALOSCONFIG, ~/.talos/config, or that of a pod')
    .option('--context <name>', 'a context of the talosconfig (default: the current one)')
    .option(
      '--nodes <address>',
      'a node to dial besides the endpoints, and to ask; may be repeated, or be a list with commas (default: ask those of the context, or the endpoints)',
      repeatable,
    )
    .option(
      '-f, --filename <file>',
      "a machine configuration to check: whether the nodes' versions accept it, and whether it reboots them; - is standard input",
    )
    .option('--timeout <ms>', 'how long each address, and each node, may take', parseMilliseconds, TIMEOUT_MS)
    .option('--all', 'show passing checks too')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Compares the CA of the talosconfig with the certificate of each machine, and checks the names and the validity of both certificates.
Then reads the version of Talos, which needs the role os:reader. Endpoints must be control planes, because a worker forwards no calls.

With --filename, the command says whether the version of the node accepts the configuration, and which --mode of talosctl apply-config
it needs. For the mode, it reads the configuration in force, which needs the role os:admin. It prints only the names of its fields. Up
to Talos 1.13, a change of "machine" needs a reboot, except for some twenty fields. A default that is written out counts as a change.
From 1.14 on, Talos does not reboot for a configuration. The command names fields that may take effect only at the next reboot.
Another "machine.type" than that of the configuration in force is always a problem, although Talos may accept it.

Exit code: 0 healthy, 1 a problem was found, 2 could not determine the state (connection or permission error).

Examples:
  taintkeeper talos doctor
  taintkeeper talos doctor --talosconfig ./talosconfig --nodes 10.0.0.5,10.0.0.6
  taintkeeper talos doctor --nodes 10.0.0.5 --filename worker.yaml`,
    )
    .action(async (options: TalosDoctorOptions) => {
      const file = options.talosconfig ?? findTalosconfig();
      const context = readTalosContext(await readBoundedText(file, MAX_BYTES), sourceName(file), options.context);
      const desired = options.filename === undefined ? undefined : await readDesired(options.filename);
      const named = (options.nodes ?? []).flatMap((list) => list.split(',')).filter((address) => address !== '');
      const examining = examine(context, named, desired, options.timeout);
      const diagnosis = diagnose(await withProgress("asking Talos' API", examining));
      const look = { all: options.all ?? false, colors: usesColors(process.stdout) };
      process.stdout.write(formatDiagnosis(diagnosis, options.output, look));
      exit(exitCodeOf(diagnosis));
    });
}

/** @throws InputError if it is not a machine configuration */
async function readDesired(file: string): Promise<DesiredConfiguration> {
  const { configuration, text } = await readMachineConfigurationText(file);
  return { configuration, file: file === '-' ? 'FILE' : file, disabled: disabledIn(text, configuration.source) };
}

/** Searches where talosctl does (GetDefaultPaths of Talos' client). @throws InputError */
function findTalosconfig(): string {
  const { TALOSCONFIG, TALOS_HOME = '' } = process.env;
  const directory = isAbsolute(TALOS_HOME) ? TALOS_HOME : join(homedir(), '.talos');
  const paths = [...(TALOSCONFIG ? [TALOSCONFIG] : []), join(directory, 'config'), '/var/run/secrets/talos.dev/config'];
  const found = paths.find((path) => existsSync(path));
  if (found === undefined)
    throw new InputError([`there is no talosconfig in ${paths.join(', ')}: name it with --talosconfig`]);
  return found;
}

import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { Command } from 'commander';
import { inspectPair } from '../certs/inspect.ts';
import { diagnose } from '../doctor/check.ts';
import { dialApid } from '../doctor/dial-apid.ts';
import { checkTalosApi, type DialledApi } from '../doctor/talos-api.ts';
import { InputError, readBoundedText, sourceName } from '../files/text-files.ts';
import { parseEndpoint, readTalosContext } from '../talos/talosconfig.ts';
import { exitCodeOf, formatDiagnosis } from './doctor.ts';
import { type OutputFormat, outputOption, parseMilliseconds, repeatable } from './options.ts';
import { usesColors, withProgress } from './output.ts';

interface TalosDoctorOptions {
  readonly talosconfig?: string;
  readonly context?: string;
  readonly nodes?: readonly string[];
  readonly timeout: number;
  readonly all?: true;
  readonly output: OutputFormat;
}

/** A talosconfig is a few kilobytes for each context. */
const MAX_BYTES = 1024 * 1024;
const TIMEOUT_MS = 5_000;

/** `taintkeeper talos doctor`: why talosctl does not get through. */
export function talosDoctorCommand(exit: (code: number) => void): Command {
  return new Command('doctor')
    .description(
      "Find out why talosctl does not get through: certificate, clock, network or configuration. Dials Talos' API and sends no request.",
    )
    .option('--talosconfig <file>', 'default: TALOSCONFIG, ~/.talos/config, or that of a pod')
    .option('--context <name>', 'a context of the talosconfig (default: the current one)')
    .option(
      '--nodes <address>',
      'a node to dial besides the endpoints; may be repeated, or be a list with commas',
      repeatable,
    )
    .option('--timeout <ms>', 'how long each address may take', parseMilliseconds, TIMEOUT_MS)
    .option('--all', 'show every check, not only what is not right')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
It compares the CA of the talosconfig with what is presented, and looks at the life of both certificates and at the names. What only
the API itself could say, such as the version of Talos, is not read.

Exit code: 0 healthy, 1 trouble, 2 it could not be looked at.

Examples:
  taintkeeper talos doctor
  taintkeeper talos doctor --talosconfig ./talosconfig --nodes 10.0.0.5,10.0.0.6`,
    )
    .action(async (options: TalosDoctorOptions) => {
      const file = options.talosconfig ?? findTalosconfig();
      const context = readTalosContext(await readBoundedText(file, MAX_BYTES), sourceName(file), options.context);
      const asked = (options.nodes ?? []).flatMap((list) => list.split(',')).filter((address) => address !== '');
      const addresses = [...new Set([...context.endpoints, ...asked])].map(parseEndpoint);
      const { crt: cert, key } = context;
      const isUsable = cert !== undefined && key !== undefined && inspectPair({ cert, key }).ok;
      const dialling = Promise.all(
        addresses.map(async (address): Promise<DialledApi> => {
          const answer = await dialApid(address, isUsable ? { cert, key } : {}, options.timeout);
          return { ...address, answer };
        }),
      );
      const dialled = await withProgress("dialling Talos' API", dialling);
      const diagnosis = diagnose(checkTalosApi(context, dialled, new Date()));
      const look = { all: options.all ?? false, colors: usesColors(process.stdout) };
      process.stdout.write(formatDiagnosis(diagnosis, options.output, look));
      exit(exitCodeOf(diagnosis));
    });
}

/** Where talosctl looks (GetDefaultPaths of Talos' client). @throws InputError */
function findTalosconfig(): string {
  const { TALOSCONFIG, TALOS_HOME = '' } = process.env;
  const directory = isAbsolute(TALOS_HOME) ? TALOS_HOME : join(homedir(), '.talos');
  const paths = [...(TALOSCONFIG ? [TALOSCONFIG] : []), join(directory, 'config'), '/var/run/secrets/talos.dev/config'];
  const found = paths.find((path) => existsSync(path));
  if (found === undefined)
    throw new InputError([`there is no talosconfig in ${paths.join(', ')}: name it with --talosconfig`]);
  return found;
}

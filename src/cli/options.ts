import { type Command, InvalidArgumentError, Option } from 'commander';
import { InputError } from '../files/input-error.ts';

export const OUTPUT_FORMATS = ['table', 'wide', 'json', 'yaml'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** `-o, --output` of commands that print a table. */
export function outputOption(): Option {
  return new Option('-o, --output <format>', 'output format; wide leaves no name out')
    .choices(OUTPUT_FORMATS)
    .default('table');
}

/** `-f, --filename`, as in kubectl, for commands that take files as arguments. */
export function filenameOption(): Option {
  return new Option('-f, --filename <path>', 'the same as an argument; may be repeated').argParser(repeatable);
}

/** The options of commands that take files as arguments. */
export interface FilenameOptions {
  readonly filename?: readonly string[];
}

/** The files that the user gave, as arguments or with `--filename`. */
export function givenFiles(args: readonly string[], { filename = [] }: FilenameOptions): string[] {
  return [...args, ...filename];
}

/** {@link givenFiles}, at least one. @throws InputError */
export function requiredFiles(args: readonly string[], options: FilenameOptions): string[] {
  const files = givenFiles(args, options);
  if (files.length === 0) throw new InputError(['no input files: pass FILE… or - for standard input']);
  return files;
}

/** Collects the values of an option that may be repeated. */
export function repeatable(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** The options of the command that the user gave. */
export function givenOptions(command: Command): Option[] {
  return command.options.filter((option) => command.getOptionValueSource(option.attributeName()) === 'cli');
}

/** Those of these options that the user gave, by their attribute names. */
export function givenAmong(command: Command, names: readonly string[]): Option[] {
  return givenOptions(command).filter((option) => names.includes(option.attributeName()));
}

/**
 * Refuses options without effect, because they are a mistake of the user.
 * @param names the attribute names of these options
 * @param why such as `needs --cluster`
 * @throws InputError
 */
export function refuseOptions(command: Command, names: readonly string[], why: string): void {
  const idle = givenAmong(command, names);
  if (idle.length > 0) throw new InputError(idle.map(({ long }) => `${long} ${why}`));
}

const MAX_MILLISECONDS = 60_000;

/** @throws InvalidArgumentError */
export function parseMilliseconds(text: string): number {
  const milliseconds = Number(text);
  if (/^\d+$/.test(text) && milliseconds > 0 && milliseconds <= MAX_MILLISECONDS) return milliseconds;
  throw new InvalidArgumentError(`Expected milliseconds from 1 to ${MAX_MILLISECONDS}.`);
}

const MAX_SECONDS = 30 * 86_400;

/** @throws InvalidArgumentError */
export function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (/^\d+$/.test(text) && seconds <= MAX_SECONDS) return seconds;
  throw new InvalidArgumentError(`Expected whole seconds, at most ${MAX_SECONDS}.`);
}

const MAX_PORT = 65_535;

/** @throws InvalidArgumentError */
export function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= MAX_PORT) return port;
  throw new InvalidArgumentError(`Expected a port from 0 to ${MAX_PORT}.`);
}

import type { Command } from 'commander';

/** A command of the program. */
export interface CommandSyntax {
  /** Its words from the program's name on, such as `taintkeeper certs status`. */
  readonly path: string;
  /** Of all options, `--help` included: such as `-o`, `--output`. */
  readonly flags: readonly string[];
  /** Whether it is only a group of other commands: it has neither arguments nor options of its own. */
  readonly isGroup: boolean;
}

/** All commands: the program's first, then its subcommands. */
export function syntaxOf(command: Command, parentPath?: string): CommandSyntax[] {
  const help = command.createHelp();
  const subcommands = help.visibleCommands(command);
  const options = help.visibleOptions(command);
  const path = parentPath === undefined ? command.name() : `${parentPath} ${command.name()}`;
  return [
    {
      path,
      flags: options.flatMap(({ short, long }) => [short, long].filter((flag) => flag !== undefined)),
      isGroup: subcommands.length > 0 && command.registeredArguments.length === 0 && options.length === 1,
    },
    ...subcommands.flatMap((child) => syntaxOf(child, path)),
  ];
}

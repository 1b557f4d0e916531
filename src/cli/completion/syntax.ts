import type { Argument, Command, Option } from 'commander';

/** The possible values of an option or an argument. */
export type Value =
  | { readonly kind: 'none' }
  | { readonly kind: 'choices'; readonly choices: readonly string[] }
  | { readonly kind: 'files' }
  /** A value without candidates, such as a name. */
  | { readonly kind: 'other'; readonly name: string };

export interface OptionSyntax {
  /** Such as `-o`, `--output`. */
  readonly flags: readonly string[];
  readonly description: string;
  readonly value: Value;
}

/** The syntax of a command. */
export interface CommandSyntax {
  /** Its words from the program's name on, such as `taintkeeper certs status`. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly OptionSyntax[];
  readonly argument: Value;
}

/** The syntaxes of all commands: the program's first, then its subcommands. */
export function syntaxOf(command: Command, parent?: CommandSyntax): CommandSyntax[] {
  const help = command.createHelp();
  const subcommands = help.visibleCommands(command);
  const syntax: CommandSyntax = {
    path: parent ? `${parent.path} ${command.name()}` : command.name(),
    commands: subcommands.map((child) => ({ name: child.name(), description: brief(child.description()) })),
    options: help.visibleOptions(command).map(optionSyntax),
    argument: isHelp(command, parent)
      ? { kind: 'choices', choices: parent.commands.map(({ name }) => name).filter((name) => name !== 'help') }
      : valueAfter(command.registeredArguments[0]),
  };
  return [syntax, ...subcommands.flatMap((child) => syntaxOf(child, syntax))];
}

/** Commander's own `help [command]` has no choices. */
function isHelp(command: Command, parent: CommandSyntax | undefined): parent is CommandSyntax {
  return parent !== undefined && command.name() === 'help';
}

function optionSyntax(option: Option): OptionSyntax {
  return {
    flags: [option.short, option.long].filter((flag) => flag !== undefined),
    description: brief(option.description),
    value: option.required || option.optional ? valueAfter(option) : { kind: 'none' },
  };
}

/** The names of arguments that are files, in this program's help. */
const FILES = /\b(file|path|directory)\b/i;

function valueAfter(holder: Option | Argument | undefined): Value {
  if (holder === undefined) return { kind: 'none' };
  if (holder.argChoices) return { kind: 'choices', choices: holder.argChoices };
  const name = 'flags' in holder ? (/[<[]([^\].>]+)/.exec(holder.flags)?.[1] ?? '') : holder.name();
  return FILES.test(name) ? { kind: 'files' } : { kind: 'other', name };
}

/** The first clause of a description, to fit on a line. */
function brief(description: string): string {
  return description.split(/[.:;](?:\s|$)| \(/, 1)[0] ?? '';
}

import type { Argument, Command, Option } from 'commander';

/** What may stand for an option's value, or for an argument. */
export type Value =
  | { readonly kind: 'none' }
  | { readonly kind: 'choices'; readonly choices: readonly string[] }
  | { readonly kind: 'files' }
  /** Something that only its author knows, such as a name. */
  | { readonly kind: 'other'; readonly name: string };

export interface OptionSyntax {
  /** Such as `-o`, `--output`. */
  readonly flags: readonly string[];
  readonly description: string;
  readonly value: Value;
}

/** What may follow a command. */
export interface CommandSyntax {
  /** The words of it, from the program's name on, such as `taintkeeper certs status`. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly OptionSyntax[];
  readonly argument: Value;
}

/** What the shells complete: the program's command first, then all below it. */
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

/** Commander's own `help [command]` does not say which commands it knows. */
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

/** How this program's help names what is a file. */
const FILES = /\b(file|path|directory)\b/i;

function valueAfter(holder: Option | Argument | undefined): Value {
  if (holder === undefined) return { kind: 'none' };
  if (holder.argChoices) return { kind: 'choices', choices: holder.argChoices };
  const name = 'flags' in holder ? (/[<[]([^\].>]+)/.exec(holder.flags)?.[1] ?? '') : holder.name();
  return FILES.test(name) ? { kind: 'files' } : { kind: 'other', name };
}

/** The first clause: lists of candidates have a line for each. */
function brief(description: string): string {
  return description.split(/[.:;](?:\s|$)| \(/, 1)[0] ?? '';
}

import type { CommandSyntax, OptionSyntax, Value } from './syntax.ts';

/** The candidates for the last word. */
export interface Candidates {
  readonly words: readonly { readonly text: string; readonly description: string }[];
  /** Whether the shell adds names of files. */
  readonly files: boolean;
}

const NONE: Candidates = { words: [], files: false };

/**
 * The candidates for the last word.
 * @param syntaxes of all commands, the program's first
 * @param typed the words of the command line after the program's name; the last one may be empty. Bash splits
 * `--option=value` into three words.
 */
export function candidates(syntaxes: readonly CommandSyntax[], typed: readonly string[]): Candidates {
  const words = typed.filter((word, index) => word !== '=' || index === typed.length - 1);
  const before = words.slice(0, -1);
  const last = words.at(-1) ?? '';
  const current = last === '=' ? '' : last;
  const { syntax, option, takesCommand } = read(syntaxes, before);
  if (!syntax) return NONE;
  if (option) return valuesOf(option.value, current);

  const [flag = '', value] = current.split('=', 2);
  if (current.startsWith('--') && value !== undefined) {
    const { words, files } = valuesOf(optionOf(syntax, flag)?.value ?? { kind: 'none' }, value);
    return { words: words.map((word) => ({ ...word, text: `${flag}=${word.text}` })), files };
  }
  if (current.startsWith('-')) {
    const flags = syntax.options.flatMap(({ flags, description }) => flags.map((text) => ({ text, description })));
    return { words: startingWith(current, flags), files: false };
  }
  const commands = takesCommand ? syntax.commands.map(({ name, description }) => ({ text: name, description })) : [];
  const { words: choices, files } = valuesOf(syntax.argument, current);
  return { words: [...startingWith(current, commands), ...choices], files };
}

/** The command that the words name, and the option whose value comes next, if any. */
function read(syntaxes: readonly CommandSyntax[], words: readonly string[]) {
  let [syntax] = syntaxes;
  let option: OptionSyntax | undefined;
  // A command with subcommands may take arguments instead.
  let takesCommand = true;
  for (const word of words) {
    if (option) {
      option = undefined;
      continue;
    }
    if (word.startsWith('-')) {
      const found = syntax && optionOf(syntax, word);
      if (found && found.value.kind !== 'none') option = found;
      continue;
    }
    const path = `${syntax?.path} ${word}`;
    const command = takesCommand ? syntaxes.find((one) => one.path === path) : undefined;
    if (command) syntax = command;
    else takesCommand = false;
  }
  return { syntax, option, takesCommand };
}

function optionOf({ options }: CommandSyntax, flag: string): OptionSyntax | undefined {
  return options.find(({ flags }) => flags.includes(flag));
}

function valuesOf(value: Value, current: string): Candidates {
  switch (value.kind) {
    case 'choices':
      return {
        words: startingWith(
          current,
          value.choices.map((text) => ({ text, description: '' })),
        ),
        files: false,
      };
    case 'files':
      return { words: [], files: true };
    case 'none':
    case 'other':
      return NONE;
  }
}

function startingWith<T extends { readonly text: string }>(current: string, all: readonly T[]): T[] {
  return all.filter(({ text }) => text.startsWith(current));
}

/** The output for the scripts: a line for each word, with its description after a tab, and a line for files. */
export function formatCandidates({ words, files }: Candidates): string {
  const lines = words.map(({ text, description }) => (description === '' ? text : `${text}\t${description}`));
  return [...lines, ...(files ? [':files'] : [])].map((line) => `${line}\n`).join('');
}

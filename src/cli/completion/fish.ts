import type { CommandSyntax, OptionSyntax, Value } from './syntax.ts';

/** A script for fish, from 3.2 on. */
export function fishScript(name: string, syntaxes: readonly CommandSyntax[]): string {
  return `# Completion of ${name} for fish, made by: ${name} completion fish
function __${name}_at --description 'Whether it is this command that is being typed'
    set -l path ${name}
    for word in (commandline -opc)[2..-1]
        switch "$path $word"
            case ${syntaxes
              .slice(1)
              .map(({ path }) => quoted(path))
              .join(' ')}
                set path "$path $word"
        end
    end
    test "$path" = "$argv"
end

complete -c ${name} -f
${syntaxes.flatMap((syntax) => lines(name, syntax)).join('\n')}
`;
}

function lines(name: string, { path, commands, options, argument }: CommandSyntax): string[] {
  const at = `__${name}_at ${path}`;
  const complete = (condition: string, rest: string) => `complete -c ${name} -n ${quoted(condition)} ${rest}`;
  return [
    ...commands.map((command) => complete(at, `-a ${quoted(command.name)} -d ${quoted(command.description)}`)),
    ...candidates(argument).map((rest) => complete(at, rest)),
    ...options.map((option) => complete(at, optionOf(option))),
  ];
}

function optionOf({ flags, description, value }: OptionSyntax): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  return [...names, `-d ${quoted(description)}`, ...NEEDS[value.kind], ...candidates(value)].join(' ');
}

/** `-r`: a value has to follow; `-x`: and it is no file. */
const NEEDS = { none: [], files: ['-r'], choices: ['-x'], other: ['-x'] } as const;

function candidates(value: Value): string[] {
  switch (value.kind) {
    case 'choices':
      return [`-a ${quoted(value.choices.join(' '))}`];
    case 'files':
      return ['-F'];
    case 'none':
    case 'other':
      return [];
  }
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}

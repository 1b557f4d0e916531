import type { CommandSyntax, OptionSyntax, Value } from './syntax.ts';

/** A script for zsh: a file of `$fpath`, or to be sourced. */
export function zshScript(name: string, syntaxes: readonly CommandSyntax[]): string {
  return `#compdef ${name}
# Completion of ${name} for zsh, made by: ${name} completion zsh
${syntaxes.map(commandFunction).join('\n')}
# Loaded by the completion system, it is to complete at once; sourced, it is to be known.
if [[ $funcstack[1] == _${name} ]]; then
  _${name} "$@"
else
  compdef _${name} ${name}
fi
`;
}

function commandFunction({ path, commands, options, argument }: CommandSyntax): string {
  const specs = options.flatMap(optionSpecs);
  if (commands.length === 0) {
    const rest = argument.kind === 'none' ? [] : [quoted(`*${action(argument)}`)];
    return `${functionName(path)}() {
  _arguments -s ${continued([...specs, ...rest])}
}
`;
  }
  const names = commands.map(({ name }) => name);
  // A command with commands may take files instead of one.
  const files = argument.kind === 'files';
  return `${functionName(path)}() {
  local context state state_descr line
  typeset -A opt_args
  _arguments -C ${continued([...specs, "'1: :->command'", "'*:: :->argument'"])}
  case $state in
    command)
      local -a commands=(
${commands.map(({ name, description }) => `        ${quoted(`${name}:${description}`)}`).join('\n')}
      )
      _describe command commands${files ? '\n      _files' : ''} ;;
    argument)
      case $words[1] in
${names.map((name) => `        ${name}) ${functionName(`${path} ${name}`)} ;;`).join('\n')}${
  files ? `\n        *) _arguments -s ${continued([...specs, quoted(`*${action(argument)}`)])} ;;` : ''
}
      esac ;;
  esac
}
`;
}

const functionName = (path: string): string => `_${path.replaceAll(' ', '_')}`;

const continued = (specs: readonly string[]): string => specs.map((spec) => `\\\n    ${spec}`).join(' ');

/** The option by each of its names. Those with a value may be given again: which ones, the help says. */
function optionSpecs({ flags, description, value }: OptionSyntax): string[] {
  const text = `[${description.replace(/[[\]\\]/g, '\\$&')}]`;
  if (value.kind === 'none') return flags.map((flag) => quoted(`(${flags.join(' ')})${flag}${text}`));
  return flags.map((flag) => quoted(`*${flag}${flag.startsWith('--') ? '=' : '+'}${text}${action(value)}`));
}

/** `:message:action` of `_arguments`. */
function action(value: Value): string {
  switch (value.kind) {
    case 'choices':
      return `:choice:(${value.choices.join(' ')})`;
    case 'files':
      return ':file:_files';
    case 'other':
      return `:${value.name}:`;
    case 'none':
      return '';
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

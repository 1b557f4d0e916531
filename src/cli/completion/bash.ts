import type { CommandSyntax, Value } from './syntax.ts';

/** A script for bash, from 3.2 (which macOS has) on. */
export function bashScript(name: string, syntaxes: readonly CommandSyntax[]): string {
  const options = syntaxes.flatMap(({ path, options }) => options.map((option) => ({ path, ...option })));
  const valued = options.filter(({ value }) => value.kind !== 'none');
  const after = (chosen: typeof options) =>
    chosen.map(({ path, flags, value }) => [flags.map((flag) => `'${path} ${flag}'`).join(' | '), offer(value)]);
  return `# Completion of ${name} for bash, made by: ${name} completion bash
_${name}_words() {
  COMPREPLY+=($(compgen -W "$1" -- "$cur"))
}

_${name}_files() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$cur"))
}

_${name}() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} path=${name} word
  # Bash makes three words of --option=value.
  if [ "$cur" = = ]; then cur=; elif [ "$prev" = = ]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $path\\ $word in
      ${syntaxes
        .slice(1)
        .map(({ path }) => `'${path}'`)
        .join(' | ')}) path="$path $word" ;;
    esac
  done
  COMPREPLY=()

  case $path\\ $prev in
${cases(after(valued), 'return')}
  esac

  case $cur in
    -*)
      case $path in
${cases(
  syntaxes
    .filter(({ options }) => options.length > 0)
    .map(({ path, options }) => [`'${path}'`, words(options.flatMap(({ flags }) => flags))]),
  '',
  8,
)}
      esac
      return ;;
  esac

  case $path in
${cases(
  syntaxes
    .filter(({ commands, argument }) => commands.length > 0 || argument.kind !== 'none')
    .map(({ path, commands, argument }) => [
      `'${path}'`,
      [offer(argument), commands.length > 0 ? words(commands.map((command) => command.name)) : '']
        .filter((part) => part !== '')
        .join('; '),
    ]),
)}
  esac
}

complete -F _${name} ${name}
`;

  function offer(value: Value): string {
    switch (value.kind) {
      case 'choices':
        return words(value.choices);
      case 'files':
        return `_${name}_files`;
      case 'none':
      case 'other':
        return '';
    }
  }

  function words(candidates: readonly string[]): string {
    return `_${name}_words '${candidates.join(' ')}'`;
  }
}

/** Arms of a `case`, of which those that do the same are one. */
function cases(arms: readonly (readonly string[])[], then = '', indent = 4): string {
  return [...Map.groupBy(arms, ([, body = '']) => body)]
    .map(([body, same]) => {
      const patterns = same.map(([pattern]) => pattern).join(' | ');
      return `${' '.repeat(indent)}${patterns}) ${[body, then].filter((part) => part !== '').join('; ')} ;;`;
    })
    .join('\n');
}

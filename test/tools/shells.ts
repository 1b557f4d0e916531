import { spawnSync } from 'node:child_process';

/** A shell that is to complete. */
export interface Shell {
  readonly name: 'bash' | 'zsh' | 'fish';
  /** What it offers at the end of the line, in the order of the alphabet. `bin` of the working directory has the program. */
  complete(script: string, line: string, cwd: string): string[];
}

export const SHELLS: readonly Shell[] = [
  {
    name: 'bash',
    complete: (script, line, cwd) => {
      // As readline hands it over: = is a word of its own.
      const words = line.split(/\s+|(=)/).filter((word) => word !== undefined);
      return offered('bash', ['--norc', '-c', BASH, 'bash', ...words], { script, line, cwd });
    },
  },
  { name: 'zsh', complete: (script, line, cwd) => offered('zsh', ['-f', '-c', ZSH], { script, line, cwd }) },
  {
    name: 'fish',
    complete: (script, line, cwd) => offered('fish', ['--no-config', '-c', FISH], { script, line, cwd }),
  },
];

export function isInstalled({ name }: Shell): boolean {
  return spawnSync(name, ['-c', 'exit 0']).status === 0;
}

const BASH = `
set -eu
eval "$SCRIPT"
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
[[ $(complete -p taintkeeper) == *' -F _taintkeeper '* ]]
set +eu
_taintkeeper
printf '%s\\n' "\${COMPREPLY[@]}"
`;

const FISH = `
echo $SCRIPT | source
complete -C $LINE | string replace -r '\\t.*' ''
true
`;

/** An interactive zsh, typed to on a terminal of its own; it prints what would be added to its list. */
const ZSH = `
zmodload zsh/zpty
zpty shell zsh -f -i
send() { zpty -w shell "$1" }
send 'PROMPT= RPROMPT=; unset zle_bracketed_paste; unsetopt beep; autoload -Uz compinit && compinit -u -D'
send 'eval "$SCRIPT"'
send 'compadd() {
  if [[ " $* " == *" -"[OAD]" "* ]]; then builtin compadd "$@"; return; fi
  local -a hits; builtin compadd -O hits "$@"
  local hit; for hit in $hits; do print -r -- "OF""FER:$hit"; done
}'
send 'finish() { print -r -- "DO""NE"; exit }; comppostfuncs=(finish)'
send 'bindkey "^I" complete-word'
zpty -w -n shell "$LINE"$'\\t'
zpty -r -m shell all '*DONE*'
print -r -- "$all" | tr -d '\\r' | sed -n 's/^.*OFFER://p'
`;

function offered(
  program: string,
  args: readonly string[],
  { script, line, cwd }: { script: string; line: string; cwd: string },
): string[] {
  const path = `${cwd}/bin:${process.env.PATH}`;
  const env = { ...process.env, PATH: path, SCRIPT: script, LINE: line, TERM: 'dumb', HOME: cwd };
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, env, encoding: 'utf8', timeout: 20_000 });
  if (status !== 0 || stderr !== '') throw new Error(`${program} ended with ${status}: ${stderr}`);
  return [...new Set(stdout.split('\n').filter((word) => word !== ''))].sort();
}

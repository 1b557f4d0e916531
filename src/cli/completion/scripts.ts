/** The command that the scripts call with the words of the command line. It prints the candidates for the last word. */
export const COMPLETE = '__complete';

/** Scripts by shell. They call the program at each key press, so they work with every version. */
export const SCRIPTS = {
  /** bash 3.2, which macOS has, or newer. */
  bash: `# Completion of taintkeeper for bash, made by: taintkeeper completion bash
_taintkeeper() {
  local cur=\${COMP_WORDS[COMP_CWORD]} line
  # Bash makes three words of --option=value.
  if [ "$cur" = = ]; then cur=; fi
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files)
        compopt -o filenames 2>/dev/null
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$cur") ;;
      *) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done < <("\${COMP_WORDS[0]}" ${COMPLETE} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}

complete -F _taintkeeper taintkeeper
`,
  /** A file in `$fpath`, or sourced. */
  zsh: `#compdef taintkeeper
# Completion of taintkeeper for zsh, made by: taintkeeper completion zsh
_taintkeeper() {
  local line files
  local -a candidates
  while IFS= read -r line; do
    case $line in
      :files) files=1 ;;
      *) candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
    esac
  done < <($words[1] ${COMPLETE} "\${(@Q)words[2,CURRENT]}" 2>/dev/null)
  (( $#candidates )) && _describe taintkeeper candidates
  [[ -n $files ]] && { compset -P '--*='; _files }
}

# Loaded by the completion system, it is to complete at once; sourced, it is to be known.
if [[ $funcstack[1] == _taintkeeper ]]; then
  _taintkeeper "$@"
else
  compdef _taintkeeper taintkeeper
fi
`,
  /** fish 3.2 or newer. */
  fish: `# Completion of taintkeeper for fish, made by: taintkeeper completion fish
function __taintkeeper_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in ($words[1] ${COMPLETE} $words[2..-1] "$current" 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path (string replace -r '^--[^=]*=' '' -- "$current")
        else
            echo $line
        end
    end
end

complete -c taintkeeper -f -a '(__taintkeeper_complete)'
`,
} as const;

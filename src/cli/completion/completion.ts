import { Argument, Command } from 'commander';
import { SCRIPTS } from './scripts.ts';

/** `taintkeeper completion`: prints scripts for shells. */
export function completionCommand(): Command {
  return new Command('completion')
    .description('Print a script that lets a shell complete commands, options and their choices.')
    .addArgument(new Argument('<shell>', 'whose script').choices(Object.keys(SCRIPTS)))
    .addHelpText(
      'after',
      `
Once:
  taintkeeper completion bash > ~/.local/share/bash-completion/completions/taintkeeper
  taintkeeper completion zsh > "\${fpath[1]}/_taintkeeper"
  taintkeeper completion fish > ~/.config/fish/completions/taintkeeper.fish

For one session of bash, or of zsh after compinit:
  source <(taintkeeper completion bash)

The script asks the installed program at each key press, so it needs no update after an upgrade.`,
    )
    .action((shell: keyof typeof SCRIPTS) => void process.stdout.write(SCRIPTS[shell]));
}

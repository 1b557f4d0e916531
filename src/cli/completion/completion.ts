import { Argument, Command } from 'commander';
import { bashScript } from './bash.ts';
import { fishScript } from './fish.ts';
import { syntaxOf } from './syntax.ts';
import { zshScript } from './zsh.ts';

const SHELLS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/** `taintkeeper completion`: scripts that know every command, option and choice, so that no key press starts Node.js. */
export function completionCommand(): Command {
  return new Command('completion')
    .description('Print a script that lets a shell complete commands, options and their choices.')
    .addArgument(new Argument('<shell>', 'whose script').choices(Object.keys(SHELLS)))
    .addHelpText(
      'after',
      `
Once, and again after an upgrade:
  taintkeeper completion bash > ~/.local/share/bash-completion/completions/taintkeeper
  taintkeeper completion zsh > "\${fpath[1]}/_taintkeeper"
  taintkeeper completion fish > ~/.config/fish/completions/taintkeeper.fish

For one session of bash, or of zsh after compinit:
  source <(taintkeeper completion bash)`,
    )
    .action((shell: keyof typeof SHELLS, _options: object, command: Command) => {
      const program = command.parent ?? command;
      process.stdout.write(SHELLS[shell](program.name(), syntaxOf(program)));
    });
}

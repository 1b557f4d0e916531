import { Command, CommanderError } from 'commander';
import { CertificateDirectoryError } from '../certs/certificate-files.ts';
import { InputError } from '../files/input-error.ts';
import { printable } from '../text/printable.ts';
import { VERSION } from '../version.ts';
import { EXIT } from './process.ts';
import { serveCommand } from './serve/serve.ts';

/**
 * Runs the command line and returns its exit code. Errors of the input are one message on stderr and code 2. Other errors are taintkeeper's own,
 * with their stack and code 70.
 * @param args without the program's name
 */
export async function main(args: readonly string[]): Promise<number> {
  let code: number = EXIT.ok;
  const exit = (exitCode: number) => {
    code = exitCode;
  };
  try {
    // `serve` starts without loading the other commands.
    const isServe = args[0] === 'serve';
    const commands = isServe ? [serveCommand()] : (await import('./commands.ts')).allCommands(exit);
    const program = createProgram(commands);
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.badInput;
    if (error instanceof InputError || error instanceof CertificateDirectoryError) {
      process.stderr.write(`${harmless(error.message).replaceAll(/^/gm, 'taintkeeper: ')}\n`);
      return EXIT.badInput;
    }
    process.stderr.write(`taintkeeper: internal error, please report it: ${(error as Error).stack}\n`);
    return EXIT.internalError;
  }
}

/** The command line, with these commands. */
export function createProgram(commands: readonly Command[]): Command {
  const program = new Command('taintkeeper')
    .description('Keeps the taints of Kubernetes nodes in place, and lets DaemonSets run on every node.')
    .version(VERSION, '-V, --version')
    .addHelpText(
      'after',
      `
Examples:
  taintkeeper serve                                   serve the webhook, with built-in policies and its own certificate
  taintkeeper serve --policies policies/ --audit      serve your policies, and only report
  taintkeeper review flannel.yaml                     show what the policies decide about a manifest
  kubectl get node n1 -o yaml > old.yaml              … or about a change of a node:
  taintkeeper review --old old.yaml --new new.yaml
  taintkeeper export | kubectl apply -f -             have the API server enforce the policies itself
  taintkeeper doctor                                  check the installation, and name the cause of problems
  taintkeeper explain node gpu-7                      explain the taints of a node
  taintkeeper explain daemonset kube-system/cilium    explain on which nodes its pods do not run
  taintkeeper dashboard                               show policies, nodes and decisions in a browser
  taintkeeper cleanup --dry-run                       show what an uninstallation left on nodes and DaemonSets
  taintkeeper coverage                                show which DaemonSets run on which nodes, and why not
  taintkeeper talos lint worker.yaml                  find declarations that have no effect`,
    )
    .showHelpAfterError('(taintkeeper --help shows the commands)')
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(harmless(text)) })
    // In `coverage fix -n x`, `-n` is an option of `fix`, though `coverage` has one of that name.
    .enablePositionalOptions();
  for (const command of commands) {
    inheritSettings(command, program);
    program.addCommand(command);
  }
  return program;
}

/** The lines of a message that may quote arguments, file names and files, without control characters. */
function harmless(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** Commander passes its settings only to commands that it creates itself. */
function inheritSettings(command: Command, parent: Command, parentPath = parent.name()): void {
  const path = `${parentPath} ${command.name()}`;
  const what = command.commands.length > 0 ? 'commands' : 'options';
  command.copyInheritedSettings(parent).showHelpAfterError(`(${path} --help shows the ${what})`);
  for (const child of command.commands) inheritSettings(child, command, path);
}

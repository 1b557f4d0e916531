import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { allCommands } from '../src/cli/commands.ts';
import { createProgram } from '../src/cli/main.ts';
import { syntaxOf } from './command-syntax.ts';

const ENVIRONMENT = `## Environment

| variable | for | meaning |
| --- | --- | --- |
| \`LOG_LEVEL\` | \`serve\` | \`trace\`, \`debug\`, \`info\` (the default), \`warn\`, \`error\`, \`fatal\` or \`silent\` |
| \`KUBECONFIG\` | what asks a cluster | a file, or several, separated as in \`PATH\`. Without it and \`--kubeconfig\`, commands use the pod's ServiceAccount in a pod, and \`~/.kube/config\` elsewhere |
| \`NO_COLOR\` | all | not empty: no colours |
| \`FORCE_COLOR\` | all | \`0\` or \`false\`: no colours. Another value: colours also on a terminal with \`TERM=dumb\` |

Output has colours only on a terminal: in a file or a pipe, it is plain text. A command that takes longer than a second
reports its progress on standard error, if that is a terminal.
`;

/** The reference page of the command line: what `--help` prints of each command. */
export function commandLinePage(): string {
  const leaves = syntaxOf(createProgram(allCommands(() => {}))).filter(
    ({ path, isGroup }, index) => index === 0 || (!isGroup && !path.endsWith(' help')),
  );
  return [
    '# Command line\n',
    ...leaves.map(({ path }) => section(path, help(...path.split(' ').slice(1)))),
    ENVIRONMENT,
  ].join('\n');
}

function help(...args: string[]): string {
  const program = join(import.meta.dirname, '..', 'bin', 'taintkeeper.js');
  return execFileSync(process.execPath, [program, ...args, '--help'], { encoding: 'utf8' }).trim();
}

function section(title: string, text: string): string {
  return `## ${title}\n\n\`\`\`text\n${text}\n\`\`\`\n`;
}

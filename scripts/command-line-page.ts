import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** The reference page of the command line: what `--help` prints. */
export function commandLinePage(): string {
  return [
    '# Command line\n',
    section('taintkeeper', help()),
    section('taintkeeper serve', help('serve')),
    section('taintkeeper review', help('review')),
    section('taintkeeper talos lint', help('talos', 'lint')),
    section('taintkeeper talos policies', help('talos', 'policies')),
    section('taintkeeper talos drift', help('talos', 'drift')),
    section('taintkeeper certs status', help('certs', 'status')),
    section('taintkeeper certs rotate', help('certs', 'rotate')),
  ].join('\n');
}

function help(...args: string[]): string {
  const program = join(import.meta.dirname, '..', 'bin', 'taintkeeper.js');
  return execFileSync(process.execPath, [program, ...args, '--help'], { encoding: 'utf8' }).trim();
}

function section(title: string, text: string): string {
  return `## ${title}\n\n\`\`\`text\n${text}\n\`\`\`\n`;
}

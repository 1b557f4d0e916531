import { spawnSync } from 'node:child_process';
import { appendFileSync, globSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { workflowCommand } from '../src/cli/output/ci-results.ts';

/*
 * What the steps of action.yml run: `node scripts/action.ts review|lint`. Their inputs are in INPUT_* variables; how many errors and
 * warnings there were goes to the file that GITHUB_OUTPUT names. Ends with what the program ended with.
 */

const PROGRAM = join(import.meta.dirname, '..', 'bin', 'taintkeeper.js');
/** Ended by a signal. */
const KILLED = 2;

const COMMANDS: Readonly<Record<string, () => string[]>> = {
  review: () => [
    'review',
    ...input('POLICIES')
      .flatMap(filesOf)
      .flatMap((path) => ['--policies', path]),
    ...input('NAMESPACE').flatMap((name) => ['--namespace', name]),
  ],
  lint: () => [
    'talos',
    'lint',
    ...input('TALOS_VERSION').flatMap((version) => ['--talos-version', version]),
    ...input('TALOS_ROLE').flatMap((role) => ['--role', role]),
    ...input('FAIL_ON').flatMap((severity) => ['--fail-on', severity]),
  ],
};

process.exitCode = main(process.argv[2] ?? '');

function main(name: string): number {
  const command = COMMANDS[name]?.() ?? [];
  const files = input('FILES').flatMap(filesOf);
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [PROGRAM, ...command, '--output', 'github', '--', ...files],
    { encoding: 'utf8', maxBuffer: 64 * 2 ** 20 },
  );
  process.stdout.write(stdout);
  process.stderr.write(stderr);
  // Neither 0 nor 1, which are answers: what is wrong is on standard error.
  if (status === null || status > 1)
    process.stdout.write(workflowCommand('error', { title: `taintkeeper ${name}` }, stderr.trim()));
  const count = (level: string) => stdout.split('\n').filter((line) => line.startsWith(`::${level} `)).length;
  const { GITHUB_OUTPUT } = process.env;
  if (GITHUB_OUTPUT) appendFileSync(GITHUB_OUTPUT, `errors=${count('error')}\nwarnings=${count('warning')}\n`);
  return status ?? KILLED;
}

/** The lines of an input that are not blank. */
function input(name: string): string[] {
  const lines = (process.env[`INPUT_${name}`] ?? '').split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '');
}

/**
 * What a pattern matches; itself, where it is none or nothing matches: the program says then what is not there. `a/**` matches directories as well as
 * their files, so a directory of which the pattern matches a part is left out.
 */
function filesOf(pattern: string): string[] {
  const found = globSync(pattern).sort();
  if (found.length === 0) return [pattern];
  const parents = new Set(found.map((path) => dirname(path)));
  return found.filter((path) => !parents.has(path));
}

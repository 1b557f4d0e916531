import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

/*
 * The unit tests on the oldest Node.js that package.json allows, which is fetched into a temporary folder: `npm run test:oldest-node
 * [-- any option of vitest run]`.
 */

const ROOT = join(import.meta.dirname, '..');
const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { engines: { node: string } };
const version = `${/^>=(\d+\.\d+)$/.exec(engines.node)?.[1]}.0`;

const folder = mkdtempSync(join(tmpdir(), 'taintkeeper-oldest-node-'));
try {
  // The package's one script puts the program of this platform in place.
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ allowScripts: { node: true } }));
  const installed = run('npm', ['install', '--no-audit', '--no-fund', `node@${version}`], folder);
  if (installed !== 0) throw new Error(`node@${version} cannot be installed`);
  const bin = join(folder, 'node_modules', '.bin');
  // By its path, so that no test meets another one.
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
  process.stdout.write(`Node.js ${version}\n`);
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
  process.exitCode = run(join(bin, 'node'), [vitest, 'run', '--project', 'unit', ...process.argv.slice(2)], ROOT, env);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** @returns what it ended with */
function run(program: string, args: readonly string[], cwd: string, env = process.env): number {
  const { status, error } = spawnSync(program, args, { cwd, env, stdio: 'inherit' });
  if (error) throw error;
  return status ?? 1;
}

import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, run } from './run.ts';

/**
 * Makes one file that runs without Node.js on this machine's platform, by Node's own single-executable feature. Node.js 24 cannot
 * build it by itself, so a newer one, locked in `node/`, is fetched, and is what the file carries.
 *
 * @param folder where it is made
 * @returns the file's path
 */
export function buildExecutable(folder: string): string {
  const node = fetchNode(join(folder, 'node'));
  const main = join(folder, 'taintkeeper.cjs');
  run('npx', ['--no-install', 'rolldown', '--config', 'scripts/release/executable.config.ts', '--file', main], {
    cwd: ROOT,
  });
  const output = join(folder, 'taintkeeper');
  const config = join(folder, 'executable.json');
  writeFileSync(config, JSON.stringify({ main, output, disableExperimentalSEAWarning: true, useCodeCache: true }));
  run(node, ['--build-sea', config]);
  return output;
}

/** Installs the Node.js of `node/package-lock.json`. @returns the program's path */
function fetchNode(folder: string): string {
  mkdirSync(folder, { recursive: true });
  for (const file of ['package.json', 'package-lock.json']) {
    cpSync(join(import.meta.dirname, 'node', file), join(folder, file));
  }
  run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder });
  return join(folder, 'node_modules', '.bin', 'node');
}

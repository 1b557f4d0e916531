import { execFileSync } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Workspace } from '../../test/control-plane/workspace.ts';
import { ROOT } from '../contenders.ts';

export interface Checkout {
  readonly folder: string;
  /** The commit, shortened, with its subject. */
  readonly title: string;
  remove(): void;
}

const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();

/**
 * Checks a commit out into a folder of its own and builds its bundle there.
 * @throws Error if there is no such commit, or if its build fails
 */
export function checkOut(revision: string, workspace: Workspace): Checkout {
  const commit = git('rev-parse', '--verify', '--end-of-options', `${revision}^{commit}`);
  const folder = workspace.path('base');
  git('worktree', 'add', '--quiet', '--detach', folder, commit);
  const remove = () => void git('worktree', 'remove', '--force', folder);
  try {
    const lock = 'package-lock.json';
    if (readFileSync(join(folder, lock)).equals(readFileSync(join(ROOT, lock)))) {
      symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    } else {
      npm(folder, 'ci', '--ignore-scripts', '--no-audit', '--no-fund');
    }
    npm(folder, 'run', 'build');
  } catch (error) {
    remove();
    throw error;
  }
  return { folder, title: git('log', '-1', '--format=%h %s', commit), remove };
}

function npm(folder: string, ...args: readonly string[]): void {
  execFileSync('npm', [...args, '--silent'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
}

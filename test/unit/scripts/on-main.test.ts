import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { checkIsOnMain } from '../../../scripts/release/on-main.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

it('only a commit of main is released, also an older one, and not what only a tag names', () => {
  const folder = temporaryDirectory();
  const [origin, clone] = [join(folder, 'origin'), join(folder, 'clone')];
  const as = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
  const git = (cwd: string, ...args: string[]) => execFileSync('git', [...as, ...args], { cwd, stdio: 'pipe' });
  const commit = (message: string) => git(origin, 'commit', '--quiet', '--allow-empty', '--message', message);
  git(folder, 'init', '--quiet', '--initial-branch', 'main', origin);
  commit('released');
  git(origin, 'tag', 'v1.0.0');
  commit('later');
  git(origin, 'switch', '--quiet', '--create', 'refused');
  commit('never merged');
  git(origin, 'tag', 'v1.1.0');
  git(folder, 'clone', '--quiet', origin, clone);

  git(clone, 'checkout', '--quiet', 'v1.0.0');
  expect(() => checkIsOnMain(clone)).not.toThrow();
  git(clone, 'checkout', '--quiet', 'v1.1.0');
  expect(() => checkIsOnMain(clone)).toThrow('is not a commit of origin/main: tag one that is merged');
});

import { spawnSync } from 'node:child_process';

/**
 * A branch that is protected refuses a push, and the tag of the same push may still be accepted: its commit was never reviewed. The check is part of
 * the commit that it checks, so it finds mistakes only. The ruleset that README.md lists decides which users may create tags.
 * @param folder a clone with the history of main
 * @throws Error when the commit that is checked out is not on the main branch of its origin
 */
export function checkIsOnMain(folder: string): void {
  const args = ['merge-base', '--is-ancestor', 'HEAD', 'origin/main'];
  const { status, stderr, error } = spawnSync('git', args, { cwd: folder, encoding: 'utf8' });
  if (status === 0) return;
  if (status === 1) throw new Error('HEAD is not a commit of origin/main: tag one that is merged');
  throw new Error(`git ${args.join(' ')} ended with ${error?.message ?? status}: ${stderr}`);
}

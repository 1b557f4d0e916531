import { spawnSync } from 'node:child_process';

/**
 * Installs packages where they may be installed: as root on a Debian, in containers, that is, and in CI. Elsewhere, or when it fails,
 * they stay away, and the tests that need them say so.
 *
 * @param report gets one line, when there is something to say
 */
export function installPackages(packages: readonly string[], report: (line: string) => void): void {
  if (packages.length === 0 || process.getuid?.() !== 0 || spawnSync('apt-get', ['--version']).error) return;
  report(`installing ${packages.join(', ')} by apt-get (once)`);
  // What somebody has chosen stays: Debian's runc would have that of Docker's own packages removed, and Docker with it.
  const options = '--yes --quiet=2 --no-install-recommends --no-remove';
  const install = `apt-get update --quiet=2 && apt-get install ${options} ${packages.join(' ')}`;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const { status, stderr } = spawnSync('sh', ['-c', install], {
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  if (status !== 0) report(`not installed: ${stderr.trim().split('\n').at(-1) ?? `exit code ${status}`}`);
}

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Workspace } from './workspace.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/**
 * What counts as the previous release: a tag, or a commit while nothing is released. Until then, a change that breaks the API or an
 * option of the tests moves the commit; the first release puts its tag here.
 */
const PREVIOUS = '9fe4743a45ca791e919ee51920ecc1d51c4ee9db';

/** Why it cannot be had, if so. */
export function obstacleToPreviousRelease(): string | undefined {
  const { status } = spawnSync('git', ['cat-file', '-e', `${PREVIOUS}^{commit}`], { cwd: ROOT, stdio: 'ignore' });
  return status === 0 ? undefined : `the previous release (${PREVIOUS.slice(0, 7)}) is not in this clone's history`;
}

export interface PreviousRelease {
  /** What a replica of it runs. */
  readonly program: string;
  /** Its manifests/install.yaml, and the rights that are off by default. */
  readonly manifests: readonly string[];
  /** Its Helm chart. */
  readonly chart: string;
}

/** Lays out its sources, with the packages of its own lock file. */
export function checkOutPreviousRelease(workspace: Workspace): PreviousRelease {
  const folder = workspace.path('previous');
  mkdirSync(folder);
  const archive = execFileSync(
    'git',
    ['archive', PREVIOUS, 'bin', 'src', 'manifests', 'package.json', 'package-lock.json'],
    {
      cwd: ROOT,
      maxBuffer: 2 ** 28,
    },
  );
  execFileSync('tar', ['--extract', '--directory', folder], { input: archive });
  execFileSync('npm', ['ci', '--omit=dev', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const manifests = ['install.yaml', 'rights'].map((file) => join(folder, 'manifests', file));
  return { program: join(folder, 'bin', 'taintkeeper.js'), manifests, chart: join(folder, 'manifests', 'chart') };
}

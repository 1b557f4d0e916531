import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { cacheFolder, type GoModule } from './go-modules.ts';
import { whyNotBuilt } from './not-built.ts';

/** Tests the alerts of manifests/monitoring. Only rules are its business here: it need not find targets in any cloud. */
export const PROMTOOL: GoModule = {
  folder: join(import.meta.dirname, 'promtool'),
  packages: { promtool: 'github.com/prometheus/prometheus/cmd/promtool' },
  tags: ['remove_all_sd'],
  linkerVariables: () => ({}),
};

/** The promtool at hand: that of KUBEBUILDER_ASSETS, else what build.ts has put into the cache, else one of PATH. */
export function promtoolPath(): string | undefined {
  const { KUBEBUILDER_ASSETS: given = '', PATH = '' } = process.env;
  const folders = [given, cacheFolder(PROMTOOL), ...PATH.split(delimiter)].filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, 'promtool')).find((file) => existsSync(file));
}

/** Why there is no promtool, if so. */
export function obstacleToPromtool(): string | undefined {
  return promtoolPath() ? undefined : whyNotBuilt(PROMTOOL, 'promtool');
}

/**
 * Takes promtool out of Debian's package, which is done in seconds; to build it takes a minute and a half. Nothing is installed, and no
 * rights are needed. Any version does for these rules.
 * @returns false where that does not work, as there is no apt or it knows no packages
 */
export function unpackPromtool(): boolean {
  const scratch = mkdtempSync(join(tmpdir(), 'promtool-'));
  try {
    const options = { cwd: scratch, stdio: 'ignore' } as const;
    execFileSync('apt-get', ['download', 'prometheus'], options);
    execFileSync('sh', ['-c', 'dpkg-deb --extract prometheus_*.deb package'], options);
    const folder = cacheFolder(PROMTOOL);
    mkdirSync(folder, { recursive: true });
    // Into its place in one step: a copy that is not complete yet must not be found.
    const copy = join(folder, `.promtool-${process.pid}`);
    copyFileSync(join(scratch, 'package', 'usr', 'bin', 'promtool'), copy);
    renameSync(copy, join(folder, 'promtool'));
    return true;
  } catch {
    return false;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

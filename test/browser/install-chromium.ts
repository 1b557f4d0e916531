import { spawnSync } from 'node:child_process';
import { findChromium } from './chromium.ts';

/** Installs Debian's Chromium where there is none and packages may be installed: in containers, that is, and in CI. */
const INSTALL = 'apt-get update --quiet=2 && apt-get install --yes --quiet=2 --no-install-recommends chromium';

const say = (text: string) => process.stderr.write(`${text}\n`);

if (!findChromium()) {
  if (process.getuid?.() !== 0 || spawnSync('apt-get', ['--version']).error) {
    say('no Chromium: the tests of the page are skipped; install one, or name it in TAINTKEEPER_CHROMIUM');
  } else {
    say('installing Chromium by apt-get (once)');
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    const { status } = spawnSync('sh', ['-c', INSTALL], { env, stdio: ['ignore', 'ignore', 'inherit'] });
    if (status !== 0) say(`Chromium could not be installed (exit code ${status}): the tests of the page are skipped`);
  }
}

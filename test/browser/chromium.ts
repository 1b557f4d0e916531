import { existsSync } from 'node:fs';

/** Where distributions put it. */
const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The Chromium at hand: `TAINTKEEPER_CHROMIUM`, or the distribution's. */
export function findChromium(): string | undefined {
  return process.env.TAINTKEEPER_CHROMIUM || PLACES.find((path) => existsSync(path));
}

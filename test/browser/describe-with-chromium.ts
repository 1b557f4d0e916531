import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe } from 'vitest';
import { skipFor } from '../skip-for.ts';
import { findChromium } from './chromium.ts';

/** A `describe` with a browser of its own: `TAINTKEEPER_CHROMIUM`, or the distribution's. Without one it is skipped. */
export function describeWithChromium(name: string, body: (browser: () => Browser) => void): void {
  const executablePath = findChromium();
  const obstacle =
    executablePath === undefined ? 'there is no Chromium; install one, or set TAINTKEEPER_CHROMIUM' : undefined;
  describe(name, skipFor(obstacle), () => {
    let browser: Browser | undefined;
    beforeAll(async () => {
      // The sandbox needs privileges that containers seldom give; the only pages that are opened are ours.
      browser = await chromium.launch({
        executablePath: executablePath ?? '',
        args: ['--no-sandbox', '--disable-dev-shm-usage'],
      });
    });
    afterAll(() => browser?.close());
    body(() => {
      if (!browser) throw new Error('the browser is there only while tests run');
      return browser;
    });
  });
}

import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe } from 'vitest';
import { findChromium } from './chromium.ts';

/**
 * A `describe` with a browser of its own: `TAINTKEEPER_CHROMIUM`, or the distribution's. Without one it is skipped, and its name
 * says so; in CI, where nobody reads names, it fails.
 */
export function describeWithChromium(name: string, body: (browser: () => Browser) => void): void {
  const executablePath = findChromium();
  const skipped = executablePath === undefined && !process.env.CI;
  describe.skipIf(skipped)(skipped ? `${name} (skipped: no chromium; set TAINTKEEPER_CHROMIUM)` : name, () => {
    let browser: Browser | undefined;
    beforeAll(async () => {
      if (executablePath === undefined) throw new Error('no chromium: install it, or set TAINTKEEPER_CHROMIUM');
      // The sandbox wants privileges that containers seldom give; the only pages that are opened are ours.
      browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
    });
    afterAll(() => browser?.close());
    body(() => {
      if (!browser) throw new Error('the browser is there only while tests run');
      return browser;
    });
  });
}

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { skipFor } from '../skip-for.ts';
import { describeWithChromium } from './describe-with-chromium.ts';
import { openPage } from './opened-page.ts';
import { servePage } from './page-server.ts';
import { SAMPLE_TIME, samplePage } from './sample-page.ts';

const IMAGES = join(import.meta.dirname, '..', '..', 'docs', 'images');

/** What is shown, and where: the whole window, or one element of it. */
const PICTURES = [
  { name: 'page-overview', view: 'overview', height: 860 },
  { name: 'page-coverage', view: 'coverage', height: 860 },
  { name: 'page-restored', view: 'decisions', height: 860, element: '#decisions-list > li:nth-child(2)' },
];

// Written only when asked for: the fonts of another machine would make other files of them.
const obstacle = process.env.TAINTKEEPER_SCREENSHOTS ? undefined : 'TAINTKEEPER_SCREENSHOTS is not set';

describe('with TAINTKEEPER_SCREENSHOTS', skipFor(obstacle), () => {
  describeWithChromium('pictures of the page', (browser) => {
    it.each(PICTURES)('are written: $name', async ({ name, view, height, element }) => {
      const server = await servePage(samplePage({ nodes: 400, daemonSets: 24 }), { at: SAMPLE_TIME });
      mkdirSync(IMAGES, { recursive: true });
      const { page, faults } = await openPage(browser(), `${server.url}/#${view}`, {
        viewport: { width: 1280, height },
      });
      await page.getByRole('heading', { name: /problem/ }).waitFor();
      await page.getByRole('tab', { name: /^Decisions 5/ }).waitFor();
      const shown = element === undefined ? page : page.locator(element);
      await shown.screenshot({ path: join(IMAGES, `${name}.png`) });
      expect(faults).toEqual([]);
      await server.stop();
    });
  });
});

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { skipFor } from '../skip-for.ts';
import { describeWithChromium } from './describe-with-chromium.ts';
import { openPage } from './opened-page.ts';
import { servePage } from './page-server.ts';
import { SAMPLE_TIME, samplePage } from './sample-page.ts';

const IMAGES = join(import.meta.dirname, '..', '..', 'docs', 'images');
const PANELS = ['nodes', 'coverage', 'decisions'] as const;

// Written only when asked for: the fonts of another machine would make other files of them.
const obstacle = process.env.TAINTKEEPER_SCREENSHOTS ? undefined : 'TAINTKEEPER_SCREENSHOTS is not set';

describe('with TAINTKEEPER_SCREENSHOTS', skipFor(obstacle), () => {
  describeWithChromium('pictures of the page', (browser) => {
    it.each(['light', 'dark'] as const)('are written, %s', async (colorScheme) => {
      const server = await servePage(samplePage({ nodes: 400, daemonSets: 24 }), { at: SAMPLE_TIME });
      mkdirSync(IMAGES, { recursive: true });
      for (const panel of PANELS) {
        const { page, faults } = await openPage(browser(), `${server.url}/#${panel}`, {
          colorScheme,
          viewport: { width: 1280, height: 860 },
        });
        await page.getByRole('heading', { name: /problem/ }).waitFor();
        await page.getByRole('tab', { name: /^Decisions 5/ }).waitFor();
        await page.screenshot({ path: join(IMAGES, `page-${panel}-${colorScheme}.png`) });
        expect(faults).toEqual([]);
      }
      await server.stop();
    });
  });
});

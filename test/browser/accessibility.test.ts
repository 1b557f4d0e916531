import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithChromium } from './describe-with-chromium.ts';
import { inaccessible, openPage } from './opened-page.ts';
import { type PageServer, servePage } from './page-server.ts';
import { SAMPLE_TIME, samplePage } from './sample-page.ts';

// A small cluster: axe looks at every cell, and one is like the other.
describeWithChromium('the page of a leader', (browser) => {
  let server: PageServer;
  beforeAll(async () => {
    server = await servePage(samplePage({ nodes: 60, daemonSets: 12, broken: true }), { at: SAMPLE_TIME });
  });
  afterAll(() => server.stop());

  it.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 390],
  ] as const)(
    'has nothing that axe objects to, and nothing wider than the window: %s, %d pixels',
    async (colorScheme, width) => {
      const { page, faults } = await openPage(browser(), server.url, { colorScheme, viewport: { width, height: 800 } });
      await page.getByRole('heading', { name: /wrong/ }).waitFor();
      const found: string[] = [];
      for (const name of ['policies', 'nodes', 'coverage', 'decisions', 'trust']) {
        await page.locator(`#tab-${name}`).click();
        found.push(...(await inaccessible(page)));
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (overflow > 0) found.push(`${name} is ${overflow} pixels too wide`);
      }
      expect(found).toEqual([]);
      expect(faults).toEqual([]);
    },
  );

  it('would be found out by axe', async () => {
    const { page } = await openPage(browser(), server.url);
    await page.getByRole('heading', { name: /wrong/ }).waitFor();
    await page.evaluate(() =>
      document.getElementById('policies-filter')?.closest('label')?.replaceWith(document.createElement('input')),
    );
    expect(await inaccessible(page)).toEqual([expect.stringMatching(/^critical label: /)]);
  });
});

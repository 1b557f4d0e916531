import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeWithChromium } from './describe-with-chromium.ts';
import { inaccessible, openPage } from './opened-page.ts';
import { type PageServer, servePage } from './page-server.ts';
import { SAMPLE_TIME, samplePage } from './sample-page.ts';

const OBJECTS = ['nodes/gpu-b-0002?show=problem', 'coverage/kube-flannel/kube-flannel-ds?q=kube'];

// A small cluster: axe looks at every cell, and one is like the other.
describeWithChromium('the page of a leader', (browser) => {
  let server: PageServer;
  beforeAll(async () => {
    server = await servePage(samplePage({ nodes: 60, daemonSets: 12, broken: true }), { at: SAMPLE_TIME });
  });
  afterAll(() => server.stop());

  // A case for each run of axe, which takes seconds on a busy machine.
  describe.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 390],
    ['dark', 768],
  ] as const)('%s, %d pixels', (colorScheme, width) => {
    it.each(['policies', 'nodes', 'coverage', 'decisions', 'trust'])(
      'has nothing that axe objects to, and nothing wider than the window: %s',
      async (name) => {
        const { page, faults } = await openPage(browser(), server.url, {
          colorScheme,
          viewport: { width, height: 800 },
        });
        await page.getByRole('heading', { name: /problem/ }).waitFor();
        await page.locator(`#tab-${name}`).click();
        expect(await inaccessible(page)).toEqual([]);
        expect(await overflow(page)).toBeLessThanOrEqual(0);
        expect(faults).toEqual([]);
      },
    );
  });

  describe.each(OBJECTS)('where it explains %s', (object) => {
    it.each([
      ['light', 390],
      ['light', 768],
      ['light', 1440],
      ['dark', 390],
      ['dark', 768],
      ['dark', 1440],
    ] as const)('has nothing that axe objects to, nor anything too wide: %s, %d pixels', async (colorScheme, width) => {
      const { page, faults } = await openPage(browser(), `${server.url}/#${object}`, { colorScheme });
      await page.getByText(/^As of /).waitFor();
      await page.setViewportSize({ width, height: 800 });
      expect(await inaccessible(page)).toEqual([]);
      expect(await overflow(page)).toBeLessThanOrEqual(0);
      expect(faults).toEqual([]);
    });
  });

  it('would be found out by axe', async () => {
    const { page } = await openPage(browser(), server.url);
    await page.getByRole('heading', { name: /problem/ }).waitFor();
    await page.evaluate(() =>
      document.getElementById('policies-filter')?.closest('label')?.replaceWith(document.createElement('input')),
    );
    expect(await inaccessible(page)).toEqual([expect.stringMatching(/^critical label: /)]);
  });
});

describeWithChromium('the page of a trial', (browser) => {
  it('tells what only --audit keeps from being done', async () => {
    const sample = samplePage({ nodes: 60, daemonSets: 12, audit: true });
    const server = await servePage(sample, { at: SAMPLE_TIME });
    const { page, faults } = await openPage(browser(), `${server.url}/#decisions?show=trial`);
    await page.getByRole('tab', { name: /^Decisions 5 would deny 12 s ago/ }).waitFor();
    await page.locator('#decisions-count').filter({ hasText: '4 of the latest 5 decisions' }).waitFor();
    const outcomes = page.locator('#decisions-list .outcome');
    expect(await outcomes.allTextContents()).toEqual([
      'would deny',
      'would restore',
      'would restore',
      'audited',
      'would add',
    ]);
    expect(await inaccessible(page)).toEqual([]);
    await page.getByRole('tab', { name: /^Nodes/ }).click();
    await page
      .getByRole('row', { name: /gpu-b-0002/ })
      .getByText('only --audit keeps it from being restored')
      .waitFor();
    expect(faults).toEqual([]);
    await server.stop();
  });
});

/** By how many pixels the page is wider than its window. */
function overflow(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
}

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeWithChromium } from './describe-with-chromium.ts';
import { inaccessible, openPage } from './opened-page.ts';
import { type PageServer, servePage } from './page-server.ts';
import { SAMPLE_TIME, samplePage } from './sample-page.ts';

const PROBLEMS = (page: Page) => page.getByRole('heading', { name: /problem/ });
const EXPLANATION = (page: Page) => page.getByText(/^As of /);

/** Each tab, and the explanation of a node and of a DaemonSet. What is there once all of it is there. */
const VIEWS = [
  ...['overview', 'nodes', 'coverage', 'policies', 'decisions'].map((view) => ({ view, last: PROBLEMS })),
  { view: 'nodes/gpu-b-0002?show=problem', last: EXPLANATION },
  { view: 'coverage/kube-flannel/kube-flannel-ds?q=kube', last: EXPLANATION },
];

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
    ['dark', 390],
  ] as const)('%s, %d pixels', (colorScheme, width) => {
    it.each(VIEWS)(
      'has nothing that axe objects to, and is never wider than the window: $view',
      async ({ view, last }) => {
        const { page, faults } = await openPage(browser(), `${server.url}/#${view}`, {
          colorScheme,
          viewport: { width, height: 800 },
        });
        await last(page).waitFor();
        expect(await inaccessible(page)).toEqual([]);
        for (const other of [390, 768, 1280, 1440]) {
          await page.setViewportSize({ width: other, height: 800 });
          expect(await overflow(page), `${other} pixels`).toBeLessThanOrEqual(0);
        }
        expect(faults).toEqual([]);
      },
    );
  });

  it('would be found out by axe', async () => {
    const { page } = await openPage(browser(), `${server.url}/#policies`);
    await PROBLEMS(page).waitFor();
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
    await page.getByRole('tab', { name: /^Decisions 5 decisions would deny 12 s ago/ }).waitFor();
    await page.locator('#decisions-count').filter({ hasText: '4 of the latest 5 decisions' }).waitFor();
    const outcomes = page.locator('#decisions-list .outcome');
    expect(await outcomes.allTextContents()).toEqual([
      'would deny',
      'would restore',
      'would restore',
      'would restore',
      'would add',
    ]);
    expect(await inaccessible(page)).toEqual([]);
    await page.getByRole('tab', { name: /^Nodes/ }).click();
    await page
      .getByRole('row', { name: /gpu-b-0002/ })
      .getByText('only --audit keeps it from being set')
      .waitFor();
    expect(faults).toEqual([]);
    await server.stop();
  });
});

/** By how many pixels the page is wider than its window. */
function overflow(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
}

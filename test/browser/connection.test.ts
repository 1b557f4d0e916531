import { expect, it } from 'vitest';
import { describeWithChromium } from './describe-with-chromium.ts';
import { openPage } from './opened-page.ts';
import { servePage } from './page-server.ts';
import { samplePage } from './sample-page.ts';

describeWithChromium('a page whose program goes away', (browser) => {
  it('says so, keeps what was last known, and goes on when it is back', async () => {
    const sample = samplePage({ nodes: 60, daemonSets: 12 });
    const before = await servePage(sample);
    const { page } = await openPage(browser(), before.url);
    const connection = page.locator('#connection');
    await expect.poll(() => connection.textContent()).toContain('live');
    await before.stop();
    await page.getByRole('alert').getByText('Connection lost').waitFor();
    expect(await page.getByRole('row', { name: /gpu-pool/ }).count()).toBe(1);

    const after = await servePage(sample, { port: Number(new URL(before.url).port) });
    await expect.poll(() => connection.textContent(), { timeout: 10_000 }).toContain('live');
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.getByRole('tab', { name: /^Decisions 5/ }).waitFor();
    await after.stop();
  });
});

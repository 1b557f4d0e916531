import { expect, it } from 'vitest';
import { createDecisionLog } from '../../src/page/decision-log.ts';
import type { LeaderSources } from '../../src/page/page-sources.ts';
import { nodeRequest } from '../unit/admission/requests.ts';
import { judged, nodeObject, taint } from '../unit/page/judged.ts';
import { pageSources } from '../unit/page/page-sources.ts';
import { describeWithChromium } from './describe-with-chromium.ts';
import { openPage } from './opened-page.ts';
import { servePage } from './page-server.ts';
import { samplePage } from './sample-page.ts';

describeWithChromium('a page whose program goes away', (browser) => {
  it('says so, keeps what was last known, and goes on when it is back', async () => {
    const sample = samplePage({ nodes: 60, daemonSets: 12 });
    const before = await servePage(sample);
    const { page } = await openPage(browser(), before.url);
    const live = page.locator('#connection').filter({ hasText: 'live' });
    await live.waitFor();
    await before.stop();
    await page.getByRole('alert').getByText('Connection lost').waitFor();
    expect(await page.locator('#problems').getByText('kube-flannel/kube-flannel-ds is kept off').count()).toBe(1);

    const after = await servePage(sample, { port: Number(new URL(before.url).port) });
    await live.waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.getByRole('tab', { name: /^Decisions 5/ }).waitFor();
    await after.stop();
  });

  it('takes for news what is new by the clock of the program, whatever that of the browser says', async () => {
    const anHourAhead = Date.now() + 3_600_000;
    let at = new Date(anHourAhead - 60_000);
    const decisions = createDecisionLog({ replica: 'tk-1', now: () => at });
    const deny = (name: string) => {
      const request = nodeRequest({ object: nodeObject([]), oldObject: nodeObject([taint('keep')]) });
      decisions.record(judged({ ...request, name }, 'validate'));
    };
    deny('long-ago');
    const { url, stop } = await servePage({ sources: pageSources(), decisions }, { at: new Date(anHourAhead) });
    const { page } = await openPage(browser(), url);
    const announced = page.locator('#announcements');
    await page.getByRole('tab', { name: /^Decisions 1/ }).waitFor();
    expect(await announced.textContent()).toBe('');
    at = new Date(anHourAhead);
    deny('just-now');
    await announced.filter({ hasText: 'Node just-now' }).waitFor({ state: 'attached' });
    await stop();
  });

  it('keeps the policy that was chosen when others come', async () => {
    const { sources, decisions } = samplePage({ nodes: 60, daemonSets: 12 });
    const led = sources.cluster() as LeaderSources;
    let count = 2;
    const clusterState = { ...led.clusterState, revision: () => count };
    const cluster = () => {
      const taintPolicies = led.compiled.taintPolicies.slice(0, count);
      return { ...led, compiled: { ...led.compiled, taintPolicies }, clusterState };
    };
    const { url, stop } = await servePage({ sources: { ...sources, cluster }, decisions });
    const { page } = await openPage(browser(), `${url}/#nodes`);
    const policy = page.locator('#nodes-policy');
    await policy.selectOption({ index: 2 });
    const chosen = await policy.inputValue();
    count = 3;
    await policy.locator('option').nth(3).waitFor({ state: 'attached' });
    expect(await policy.locator('option').count()).toBe(4);
    expect(await policy.inputValue()).toBe(chosen);
    await stop();
  });
});

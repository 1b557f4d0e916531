import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { type Installation, leaderOf } from '../e2e/installation.ts';
import { installWithGpuPool } from '../e2e/installation-with-gpu-pool.ts';
import { describeWithChromium } from './describe-with-chromium.ts';
import { openPage } from './opened-page.ts';

const SEEN_WITHIN_MS = 15_000;

describeWithControlPlane('the page of a real installation', {}, (cp) => {
  describeWithChromium('in a browser', (browser) => {
    let installation: Installation;
    let leader: string;
    beforeAll(async () => {
      installation = await installWithGpuPool(cp());
      leader = await waitUntil(async () => (await leaderOf(cp())) || undefined, {
        timeoutMs: SEEN_WITHIN_MS,
        otherwise: () => 'no replica leads',
      });
    });
    afterAll(() => installation.stop());

    it('shows on the leader which node lacks which taint, and follows when it gets it', async () => {
      const { page, faults } = await openPage(browser(), `${installation.replica(leader).adminUrl}/#nodes`);
      const row = page.getByRole('row', { name: /gpu-1/ });
      await row.getByText('missing').waitFor({ timeout: SEEN_WITHIN_MS });
      await page.getByRole('tab', { name: /^Overview/ }).click();
      await page.getByRole('link', { name: /is missing on 1 node$/ }).waitFor();
      // The command that the page has for it.
      const cause = page.locator('#problems > li').filter({ hasText: 'is missing on 1 node' });
      const command = (await cause.locator('code').textContent()) ?? '';
      expect(command).toBe('kubectl taint node gpu-1 dedicated=gpu:NoSchedule');
      await cp().kubectl(command.split(' ').slice(1));
      await page
        .getByRole('link', { name: /is missing on 1 node$/ })
        .waitFor({ state: 'detached', timeout: SEEN_WITHIN_MS });
      await page.getByRole('tab', { name: /^Nodes/ }).click();
      await row.getByText('audited').waitFor({ timeout: SEEN_WITHIN_MS });
      expect(faults).toEqual([]);
    });

    it('explains a node on every replica, each by what it knows', async () => {
      const { page, faults } = await openPage(browser(), `${installation.replica(leader).adminUrl}/#nodes/gpu-1`);
      const details = page.locator('#node-details');
      await details.getByText(/^As of /).waitFor({ timeout: SEEN_WITHIN_MS });
      await details.getByRole('row', { name: /^dedicated=gpu:NoSchedule/ }).waitFor();
      await details.getByText('spec.taints is owned by field manager').waitFor();
      await details.getByRole('row', { name: /^gpu-pool Audit is selected/ }).waitFor();
      const other = leader === 'a' ? 'b' : 'a';
      await page.goto(`${installation.replica(other).adminUrl}/#nodes/gpu-1`);
      await details.getByText('this replica does not lead').waitFor({ timeout: SEEN_WITHIN_MS });
      expect(faults.filter((fault) => !fault.startsWith('request: '))).toEqual([]);
    });

    it('says on the other replica who leads, and until when the certificate is valid', async () => {
      const other = leader === 'a' ? 'b' : 'a';
      const { page, faults } = await openPage(browser(), `${installation.replica(other).adminUrl}/#nodes`);
      await page.getByRole('heading', { name: 'Another replica leads' }).waitFor({ timeout: SEEN_WITHIN_MS });
      expect(await page.locator('#nodes-absent').textContent()).toContain(
        `Only the leader knows nodes and DaemonSets: ${leader}.`,
      );
      await page.getByText(/certificate until 20\d\d-\d\d-\d\d \(\d+ days\), \d+ webhooks trusted$/).waitFor();
      await page.getByText(`this is ${other}`).waitFor();
      expect(await page.locator('#nodes-absent code').textContent()).toBe('taintkeeper dashboard');
      expect(faults).toEqual([]);
    });
  });
});

import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Listening, launchServe, type ServeProcess } from '../control-plane/serve-process.ts';
import { createWorkspace } from '../control-plane/workspace.ts';
import { describeWithChromium } from './describe-with-chromium.ts';
import { inaccessible, openPage } from './opened-page.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const DENIED = readFileSync(join(ROOT, 'examples', 'remove-control-plane-taint.json'), 'utf8');
const START_TIMEOUT_MS = 20_000;

describeWithChromium('the page of a taintkeeper without a cluster', (browser) => {
  const workspace = createWorkspace('page');
  let served: ServeProcess;
  let listening: Listening;
  beforeAll(async () => {
    const args = ['--port', '0', '--admin-port', '0', '--cert-dir', workspace.path('certs')];
    served = await launchServe('taintkeeper', args, { workspace });
    listening = await served.listening(START_TIMEOUT_MS);
  });
  afterAll(() => served.stop());

  const open = (options?: Parameters<typeof openPage>[2]) => openPage(browser(), `${listening.adminUrl}/`, options);

  /** Has a node's update judged and denied, as an API server would. */
  async function deny(node: string, user = 'dev@example.com'): Promise<void> {
    const review = DENIED.replaceAll('cp-1', node).replace('"dev@example.com"', JSON.stringify(user));
    const ca = readFileSync(workspace.path('certs/ca.crt'));
    const posted = request({ host: 'localhost', port: listening.port, path: '/validate', method: 'POST', ca });
    posted.setHeader('content-type', 'application/json').end(review);
    const answer = await new Promise<string>((resolve, reject) => {
      posted.on('response', (response) => resolve(text(response))).on('error', reject);
    });
    expect(JSON.parse(answer)).toMatchObject({ response: { allowed: false } });
  }

  it('says at a glance that all is well, and says what it cannot know', async () => {
    const { page, faults } = await open();
    await page.getByRole('heading', { name: 'Serving requests; no cluster to check' }).waitFor();
    await page.getByText('live', { exact: false }).first().waitFor();
    await page.getByRole('tab', { name: 'Policies 2 policies all in force (fine)' }).waitFor();
    // There are no nodes and no DaemonSets to show, and the README's command to try is there instead.
    expect(await page.getByRole('tab').allTextContents()).toEqual([
      expect.stringMatching(/^Overview/),
      expect.stringMatching(/^Policies/),
      expect.stringMatching(/^Decisions/),
    ]);
    const command = await page.locator('#try code').textContent();
    expect(readFileSync(join(ROOT, 'README.md'), 'utf8')).toContain(`$ ${command}\n`);
    await page.getByRole('tab', { name: /^Policies/ }).click();
    expect(await page.getByRole('row', { name: /control-plane-taints/ }).textContent()).toContain('in force');
    expect(faults).toEqual([]);
  });

  it('is told of a denial as it is made, and shows it with user and reason', async () => {
    const { page, faults } = await open();
    await page.getByRole('tab', { name: /^Decisions/ }).click();
    const listed = page.getByRole('listitem').filter({ hasText: 'cp-77' });
    await page.getByText('live').first().waitFor();
    expect(await listed.count()).toBe(0);
    // A stream begins with the decisions there are: whoever opens another one is not told, but asks.
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await deny('cp-77');
    await listed.first().waitFor();
    expect(asked).not.toContain('/api/events');
    const shown = await listed.first().textContent();
    expect(shown).toContain('denied');
    expect(shown).toContain('dev@example.com');
    expect(shown).toContain('TaintPolicy "control-plane-taints"');
    expect(await page.locator('#announcements').textContent()).toContain('Node cp-77');
    expect(faults).toEqual([]);
  });

  it('splits a denial into its reason and the command that allows it', async () => {
    await deny('cp-88');
    const { page } = await open();
    await page.getByRole('tab', { name: /^Decisions/ }).click();
    const listed = page.getByRole('listitem').filter({ hasText: 'cp-88' }).first();
    await listed.waitFor();
    // Without a cluster, there is no tab that shows the node.
    expect(await listed.getByRole('link', { name: 'Node cp-88' }).count()).toBe(0);
    expect(await listed.locator('code').textContent()).toMatch(
      /^kubectl annotate --overwrite node cp-88 taintkeeper\.dev\/allow-removal=/,
    );
    expect(await listed.locator('.what > p').nth(1).textContent()).toMatch(/ mode Deny\)\.$/);
    await listed.getByText('To allow it, and then remove it.').waitFor();
    expect(await inaccessible(page)).toEqual([]);
  });

  it('shows what others may have written as text, and nothing of it unseen', async () => {
    const { page, faults } = await open();
    await page.getByRole('tab', { name: /^Decisions/ }).click();
    await deny('cp-666', '<img src=x onerror=alert(1)>\u202Enimda');
    const listed = page.getByRole('listitem').filter({ hasText: 'cp-666' }).first();
    await listed.waitFor();
    expect(await listed.textContent()).toContain('<img src=x onerror=alert(1)>\\u{202e}nimda');
    expect(await listed.locator('img').count()).toBe(0);
    expect(faults).toEqual([]);
  });

  it('filters decisions by what the user types after a slash', async () => {
    await deny('cp-1');
    await deny('cp-2');
    const { page } = await open();
    await page.getByRole('tab', { name: /^Decisions/ }).click();
    const items = page.locator('#decisions-list > li');
    await items.filter({ hasText: 'Node cp-2' }).first().waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('node CP-2');
    await page
      .locator('#decisions-count')
      .filter({ hasText: /^1 of / })
      .waitFor();
    expect(await items.count()).toBe(1);
    await page.keyboard.press('Escape');
    await items.nth(1).waitFor();
  });

  it('is walked through by keyboard: one stop for the tabs, arrows, Home and End between them', async () => {
    const { page } = await open();
    await page.getByRole('heading', { name: 'Serving requests; no cluster to check' }).waitFor();
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('Skip to the panel');
    await page.getByRole('tab', { name: /^Overview/ }).focus();
    await page.keyboard.press('ArrowRight');
    // Over the tabs that need a cluster.
    expect(await selectedTab(page)).toBe('policies');
    await page.keyboard.press('End');
    expect(await selectedTab(page)).toBe('decisions');
    await page.keyboard.press('ArrowRight');
    expect(await selectedTab(page)).toBe('overview');
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowLeft');
    expect(await selectedTab(page)).toBe('decisions');
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.getAttribute('role'))).toBe('tabpanel');
    await page.reload();
    await page.getByRole('heading', { name: 'Serving requests; no cluster to check' }).waitFor();
    expect(await selectedTab(page)).toBe('decisions');
  });

  it('opens what there is to say of a policy, and keeps it open when the state changes', async () => {
    const { page } = await open();
    await page.getByRole('tab', { name: /^Policies/ }).click();
    const policy = page.getByRole('button', { name: 'control-plane-taints (details)' });
    await policy.focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('spec of the policy').waitFor();
    expect(await policy.getAttribute('aria-expanded')).toBe('true');
    expect(await page.getByLabel('spec of the policy').textContent()).toContain('mode: Deny');
    expect(await focused(page)).toContain('control-plane-taints');
  });

  it('shows its state also if the filter hides the policy of the address', async () => {
    const address = `${listening.adminUrl}/#policies/TaintPolicy/control-plane-taints?q=nothing`;
    const { page, faults } = await openPage(browser(), address);
    await page.getByText('No policy matches.').waitFor();
    await page.locator('#policies-filter').fill('');
    await page.getByLabel('spec of the policy').waitFor();
    expect(faults).toEqual([]);
  });

  it.each(['light', 'dark'] as const)('has nothing that axe objects to, %s', async (colorScheme) => {
    await deny('cp-9');
    const { page, faults } = await open({ colorScheme });
    await page.getByRole('heading', { name: 'Serving requests; no cluster to check' }).waitFor();
    const found: string[] = [];
    for (const name of ['overview', 'policies', 'decisions']) {
      await page.locator(`#tab-${name}`).click();
      found.push(...(await inaccessible(page)));
    }
    expect(found).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('has the colours that the browser is set to, also when that changes', async () => {
    const { page } = await open({ colorScheme: 'light' });
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await ground()).not.toBe(light);
    await page.emulateMedia({ colorScheme: 'light' });
    expect(await ground()).toBe(light);
  });
});

const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent ?? '');
const selectedTab = (page: Page) =>
  page.evaluate(() => document.querySelector('[role=tab][aria-selected=true]')?.getAttribute('data-name'));

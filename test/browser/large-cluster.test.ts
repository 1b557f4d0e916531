import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { describeWithChromium } from './describe-with-chromium.ts';
import { openPage } from './opened-page.ts';
import { type PageServer, servePage } from './page-server.ts';
import { CONFLICT_NODE } from './sample-nodes.ts';
import { SAMPLE_TIME, samplePage } from './sample-page.ts';

const NODES = 5_000;
const DAEMON_SETS = 50;

/** Far fewer than the nodes have cells; with all rows in the document it would be 30,000. */
const MAX_ELEMENTS = 6_000;

/** How often each page is opened, in turns; the fastest counts, for a busy machine only makes it slower. */
const ROUNDS = 2;
/** At most, with a hundred times as many nodes. It is 1.6 and 1.2; with all rows in the document it would be 6 and 300. */
const TIMES_SLOWER = { shownMs: 4, drawnMs: 10 } as const;

describeWithChromium(`the page of a leader with ${NODES} nodes and ${DAEMON_SETS} DaemonSets`, (browser) => {
  let server: PageServer;
  beforeAll(async () => {
    const sample = samplePage({ nodes: NODES, daemonSets: DAEMON_SETS, broken: true });
    server = await servePage(sample, { at: SAMPLE_TIME });
  });
  afterAll(() => server.stop());

  const open = async (panel: string, options?: Parameters<typeof openPage>[2]) =>
    openPage(browser(), `${server.url}/#${panel}`, options);

  it('says first what is wrong, the worst first, and leads there', async () => {
    const { page, faults } = await open('overview');
    await page.getByRole('heading', { name: /\d problems/ }).waitFor();
    const problems = page.locator('#problems > li');
    const texts = await problems.allTextContents();
    expect(texts[0]).toContain('kube-flannel/kube-flannel-ds is kept off 1,499 of 5,000 nodes by taints');
    expect(texts[1]).toContain(
      'TaintPolicy idle is not in force: spec.taints[0].key: "readiness.k8s.io/*" protects nothing: DOMAIN/* never covers taints that Kubernetes or an agent sets and removes, so name an exact key',
    );
    expect(texts[2]).toContain('dedicated=gpu:NoSchedule is missing on 1 node: another writer removes it repeatedly');
    await page.getByText('1 node is being repaired').waitFor();
    const cause = problems.filter({
      hasText: 'dedicated=storage:NoSchedule has another value on 1 node: storage-c-0003',
    });
    await cause.getByText('TaintPolicy storage-pool: mode Audit does not set it').waitFor();
    await cause.getByRole('link', { name: /has another value/ }).click();
    await page.locator('#nodes-count').filter({ hasText: '1 of 5,000 nodes' }).waitFor();
    expect(await page.evaluate(() => location.hash)).toBe('#nodes?show=another-value&policy=storage-pool');
    // On the other tabs, the worst problem is one line, which leads back.
    await page
      .locator('#summary')
      .getByRole('link', { name: /kube-flannel-ds is kept off/ })
      .click();
    await cause.getByRole('link', { name: 'storage-c-0003' }).click();
    await page
      .locator('#node-details')
      .getByRole('row', { name: /^dedicated=storage:NoSchedule ?another value/ })
      .waitFor();
    expect(faults).toEqual([]);
  });

  it('has one command for a daemon that is kept off, and the same in its panel', async () => {
    const { page, faults } = await open('overview');
    const cause = page.locator('#problems > li').first();
    const command = await cause.locator('code').textContent();
    expect(command).toMatch(
      /^taintkeeper coverage fix -n kube-flannel --daemonset kube-flannel-ds --taint dedicated --taint example\.com\/edge \| kubectl apply -f - && .* && kubectl rollout restart -n kube-flannel daemonset kube-flannel-ds$/,
    );
    await cause.getByText('Lets it run on all 1,499, and replaces all of its pods.').waitFor();
    await cause.getByRole('link').first().click();
    const details = page.locator('#daemonset-details');
    await details.getByText(/^As of /).waitFor();
    expect(await details.locator('code').first().textContent()).toBe(command);
    expect(faults).toEqual([]);
  });

  it('copies a command', async () => {
    const { page, faults } = await open('overview', { permissions: ['clipboard-read', 'clipboard-write'] });
    const cause = page.locator('#problems > li').filter({ hasText: 'example.com/edge:NoExecute is missing' });
    await cause.getByRole('button', { name: /^Copy/ }).click();
    await cause.getByText('Copied').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
      'kubectl taint node edge-a-0001 edge-c-0003 example.com/edge:NoExecute',
    );
    expect(await cause.textContent()).toContain('evicts the pods there that do not tolerate it.');
    expect(faults).toEqual([]);
  });

  it('selects the command where a page may not write to the clipboard', async () => {
    const { page } = await openPage(browser(), server.url);
    await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
    const cause = page.locator('#problems > li').filter({ hasText: 'has another value' });
    await cause.getByRole('button', { name: /^Copy/ }).click();
    await cause.getByText('Press Ctrl+C').waitFor();
    expect(await page.evaluate(() => getSelection()?.toString())).toBe(
      'kubectl taint --overwrite node storage-c-0003 dedicated=storage:NoSchedule',
    );
  });

  it.each(['nodes', 'coverage', 'policies', 'decisions'])(
    'takes at most a fifth of the window for its summary on the tab %s',
    async (tab) => {
      for (const viewport of [
        { width: 1280, height: 800 },
        { width: 390, height: 844 },
      ]) {
        const { page } = await open(tab, { viewport });
        await page.getByRole('heading', { name: /\d problems/ }).waitFor();
        const box = await page.locator('#summary').boundingBox();
        expect(box?.height).toBeLessThan(viewport.height / 5);
      }
    },
  );

  it('names the nodes that wait with a startup taint, and for what', async () => {
    const { page } = await open('overview');
    await page.getByRole('heading', { name: '2 nodes with a startup taint' }).waitFor();
    const row = page.locator('#waiting').getByRole('row', { name: /worker-a-0040/ });
    expect(await row.textContent()).toContain('waits for a ready pod of DaemonSet cilium/cilium');
  });

  it('shows the nodes with a problem first, and why', async () => {
    const { page, faults } = await open('nodes');
    const rows = page.locator('#nodes-table tbody:not(.spacer) tr');
    await rows.first().waitFor();
    expect((await rows.allTextContents()).slice(0, 5).map((text) => text.split(/(?<=\d{4})/)[0])).toEqual([
      'gpu-a-0004',
      CONFLICT_NODE,
      // What a policy only watches.
      'edge-a-0001',
      'edge-c-0003',
      'storage-c-0003',
    ]);
    expect(await rows.nth(1).getByRole('cell').first().textContent()).toBe(
      ' conflict dedicated=gpu:NoSchedule · another writer removes it repeatedly',
    );
    await rows.getByRole('link', { name: CONFLICT_NODE }).click();
    expect(await page.evaluate(() => location.hash)).toBe(`#nodes/${CONFLICT_NODE}`);
    const details = page.locator('#node-details');
    await details.getByText('removes it repeatedly').waitFor();
    await details.getByRole('link', { name: 'Latest decisions about it: 1' }).click();
    await page.locator('#decisions-count').filter({ hasText: '1 of the latest 5 decisions' }).waitFor();
    expect(faults).toEqual([]);
  });

  it('has an address for a node, with what the list is filtered by', async () => {
    const { page, faults } = await open('nodes/gpu-a-0004?show=missing&policy=gpu-pool');
    await page.locator('#node-details h3').filter({ hasText: 'gpu-a-0004' }).waitFor();
    await page.locator('#nodes-count').filter({ hasText: '1 of 5,000 nodes' }).waitFor();
    expect(await page.locator('#nodes-policy').inputValue()).toBe('gpu-pool');
    expect(await page.getByRole('link', { name: 'gpu-a-0004', exact: true }).last().getAttribute('aria-current')).toBe(
      'true',
    );
    // To the tab and back: a panel is found as it was left.
    await page.getByRole('tab', { name: /^Decisions/ }).click();
    await page.getByRole('tab', { name: /^Nodes/ }).click();
    expect(await page.evaluate(() => location.hash)).toBe('#nodes/gpu-a-0004?show=missing&policy=gpu-pool');
    await page.locator('#nodes-filter').fill('gpu');
    await page.waitForFunction(() => location.hash.includes('q=gpu'));
    await page.locator('#node-details').getByRole('link', { name: 'Close' }).click();
    await page.locator('#node-details').waitFor({ state: 'hidden' });
    expect(faults).toEqual([]);
    await page.goto(`${server.url}/#nodes/gone-1`);
    await page.locator('#node-details').getByText('There is no node gone-1.').waitFor();
  });

  it('shows the first node, and its problem, on the first screen of a phone', async () => {
    const { page } = await open('nodes', { viewport: { width: 390, height: 844 } });
    const first = page.locator('#nodes-table tbody:not(.spacer) tr').first();
    await first.waitFor();
    const box = await first.boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThan(640);
    const state = await first.getByText('missing').boundingBox();
    expect((state?.x ?? 0) + (state?.width ?? 0)).toBeLessThan(390);
  });

  it('keeps few of the rows in the document, wherever one scrolls to', async () => {
    const { page } = await open('nodes');
    await page.locator('#nodes-table tbody:not(.spacer) tr').first().waitFor();
    expect(await elements(page)).toBeLessThan(MAX_ELEMENTS);
    const table = page.locator('#nodes-table');
    expect(await table.getAttribute('aria-rowcount')).toBe(String(NODES + 1));
    const scroller = page.locator('#nodes-scroller');
    await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await page
      .getByRole('row', { name: /^worker-c-1165/ })
      .first()
      .waitFor();
    expect(await page.locator('#nodes-table tr[aria-rowindex]').last().getAttribute('aria-rowindex')).toBe(
      String(NODES + 1),
    );
    expect(await elements(page)).toBeLessThan(MAX_ELEMENTS);
    // From far below to a list of one.
    await page.locator('#nodes-filter').fill('cp-2');
    await page.getByRole('row', { name: /^cp-2/ }).waitFor();
    expect(await page.locator('#nodes-table tr[aria-rowindex]').count()).toBe(2);
  });

  it('filters the nodes by name, state and policy', async () => {
    const { page } = await open('nodes');
    const count = page.locator('#nodes-count');
    const says = (text: string | RegExp) => count.filter({ hasText: text }).waitFor();
    await says('5,000 nodes');
    await page.keyboard.press('/');
    await page.keyboard.type('gpu-a-00');
    await says(/^99 of 5,000 nodes/);
    await page.getByLabel('Show').and(page.locator('#nodes-show')).selectOption('problem');
    await says(/^1 of 5,000 nodes/);
    await page.locator('#nodes-filter').fill('no such node');
    await page.getByText('No node matches.').waitFor();
    await page.locator('#nodes-filter').fill('');
    await page.locator('#nodes-show').selectOption('');
    await page.locator('#nodes-policy').selectOption('storage-pool');
    await says(/^500 of 5,000 nodes/);
  });

  it('draws every node with a protected taint as one mark, by pool, in a few paths, and a mark leads to its node', async () => {
    const { page } = await open('nodes');
    const pools = page.locator('#nodes-map .pool');
    await pools.first().waitFor();
    // The pool with the most problems first, then the largest.
    expect(await pools.locator('h3').allTextContents()).toEqual([
      'pool=gpu · 600 nodes, 598 protected, 1 conflict, 1 missing',
      'pool=edge · 400 nodes, 398 audited, 2 missing',
      'pool=storage · 500 nodes, 499 audited, 1 another value',
      'pool=control-plane · 3 nodes, 3 protected',
    ]);
    await page.getByText('3,497 nodes without a protected or audited taint').waitFor();
    for (const map of await pools.locator('svg').all()) {
      expect(await map.locator('path').count()).toBeLessThanOrEqual(5);
    }
    await pools
      .locator('svg')
      .last()
      .click({ position: { x: 4, y: 4 } });
    expect(await page.locator('#node-details h3').textContent()).toMatch(/^cp-1/);
  });

  it('has the coverage matrix walked through by keyboard, and says why a daemon is kept off', async () => {
    const { page, faults } = await open('coverage');
    const grid = page.getByRole('grid');
    await grid.getByRole('row', { name: /kube-flannel-ds/ }).waitFor();
    expect(await grid.getByRole('row').count()).toBe(DAEMON_SETS + 1);
    expect(await grid.locator('td[tabindex="0"]').count()).toBe(1);
    await grid.locator('td[tabindex="0"]').focus();
    await page.keyboard.press('Control+End');
    expect(await page.evaluate(() => document.activeElement?.closest('tr')?.rowIndex)).toBe(DAEMON_SETS);
    await page.locator('#coverage-filter').fill('kube-flannel');
    await grid
      .getByRole('gridcell', { name: /kept off/ })
      .first()
      .focus();
    expect(await page.locator('#coverage-answer').textContent()).toMatch(
      /kube-flannel\/kube-flannel-ds on gpu . \(200 nodes\): ◐ kept off, .*taint dedicated=gpu:NoSchedule/,
    );
    expect(await grid.locator('td[tabindex="0"]').count()).toBe(1);
    expect(faults).toEqual([]);
  });

  it('explains a node as the command line does: each policy, who wrote the taints, decisions, and what to run', async () => {
    const { page, faults } = await open('nodes/gpu-a-0004');
    const details = page.locator('#node-details');
    await details.getByText('spec.taints is owned by field manager "kubectl-taint"').waitFor();
    const rows = details.locator('table').first().getByRole('row');
    expect((await rows.allTextContents())[1]).toBe(
      'dedicated=gpu:NoSchedule missingrequired by gpu-pool (Restore, spec.taints[0]); the leader is about to set it',
    );
    await details
      .getByRole('paragraph')
      .filter({ hasText: /^Next: nothing: the leader is about to set it$/ })
      .waitFor();
    await details.getByText('None of the latest decisions is about it.').waitFor();
    await details.getByText(/^As of 20\d\d-/).waitFor();
    expect(await details.getByText(/^note: a replica may not read Events/).count()).toBe(1);
    // With the keyboard alone: the policy, and back.
    await details.getByRole('link', { name: 'gpu-pool' }).focus();
    await page.keyboard.press('Enter');
    await page.locator('tr.details').getByLabel('spec of the policy').waitFor();
    expect(faults).toEqual([]);
  });

  it('has an address for a DaemonSet, with where it is kept off and what lets it run there', async () => {
    const { page, faults } = await open('coverage/kube-flannel/kube-flannel-ds?show=tainted');
    const details = page.locator('#daemonset-details');
    await details.getByText('Runs on 3,501 nodes, kept off 1,499 by taints').waitFor();
    await details.getByText('it was last written by field manager "kubectl-taint"').waitFor();
    expect(await details.locator('code').allTextContents()).toEqual([
      expect.stringContaining(' && kubectl rollout restart -n kube-flannel daemonset kube-flannel-ds'),
      'taintkeeper explain daemonset kube-flannel/kube-flannel-ds',
    ]);
    await page
      .locator('#coverage-count')
      .filter({ hasText: /^35 of 50 DaemonSets/ })
      .waitFor();
    await details.getByRole('link', { name: 'cp-1' }).click();
    await page.locator('#node-details h3').filter({ hasText: 'cp-1' }).waitFor();
    await page.goBack();
    await details.getByRole('link', { name: 'Close' }).click();
    await details.waitFor({ state: 'hidden' });
    await page.getByRole('link', { name: 'team-00/agent-00' }).click();
    await details.getByRole('heading', { name: 'team-00/agent-00' }).waitFor();
    expect(faults).toEqual([]);
  });

  it('has an address for a policy, whose violators lead to what is known of them', async () => {
    const { page, faults } = await open('policies/TolerationPolicy/cni-tolerations');
    const details = page.locator('tr.details');
    await details.getByRole('link', { name: 'kube-flannel/kube-flannel-ds' }).click();
    await page.locator('#daemonset-details').getByRole('heading', { name: 'kube-flannel/kube-flannel-ds' }).waitFor();
    await page.goto(`${server.url}/#policies`);
    const row = page.getByRole('row', { name: /storage-pool/ });
    await row.getByRole('link', { name: /the list/ }).click();
    await page.locator('#nodes-count').filter({ hasText: '1 of 5,000 nodes' }).waitFor();
    expect(faults).toEqual([]);
  });

  it('tells patches in lines that come and go', async () => {
    const { page } = await open('decisions');
    const restored = page.getByRole('listitem').filter({ hasText: 'Node gpu-b-0002' }).first();
    await restored.waitFor();
    const lines = await restored.locator('.diff li').allTextContents();
    expect(lines).toContain('− removed: dedicated=batch:NoSchedule');
    expect(lines).toContain('+ added: dedicated=gpu:NoSchedule');
  });

  it('is there, and answers, nearly as soon as with a hundredth of the nodes', async () => {
    const sample = samplePage({ nodes: NODES / 100, daemonSets: DAEMON_SETS, broken: true });
    const small = await servePage(sample, { at: SAMPLE_TIME });
    onTestFinished(() => small.stop());
    const few: Pace[] = [];
    const many: Pace[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      few.push(await paceOf(small.url, NODES / 100));
      many.push(await paceOf(server.url, NODES));
    }
    const best = (paces: readonly Pace[], what: keyof Pace) => Math.min(...paces.map((pace) => pace[what]));
    for (const what of ['shownMs', 'drawnMs'] as const) {
      const [manyMs, fewMs] = [best(many, what), best(few, what)];
      process.stdout.write(
        `page: ${NODES} nodes × ${DAEMON_SETS} DaemonSets, ${what}: ${manyMs.toFixed()}, with ${NODES / 100} nodes ${fewMs.toFixed()}\n`,
      );
      expect(manyMs).toBeLessThan(TIMES_SLOWER[what] * fewMs);
    }
  });

  /** Opens the nodes at this address, and filters them. */
  async function paceOf(url: string, nodes: number): Promise<Pace> {
    const { page } = await openPage(browser(), `${url}/#nodes`);
    await page.locator('#nodes-table tbody:not(.spacer) tr').first().waitFor();
    const shownMs = await page.evaluate(() => performance.now());
    const times = await page.evaluate(async () => {
      const input = document.querySelector<HTMLInputElement>('#nodes-filter');
      const found: number[] = [];
      // Most nodes are workers.
      for (const text of ['w', 'wo', 'wor']) {
        await new Promise((resolve) => requestAnimationFrame(resolve));
        const start = performance.now();
        if (input) input.value = text;
        input?.dispatchEvent(new Event('input'));
        // To be asked for its height, the page is laid out.
        document.body.getBoundingClientRect();
        found.push(performance.now() - start);
      }
      return found;
    });
    expect(await page.locator('#nodes-count').textContent()).toMatch(
      new RegExp(` of ${nodes.toLocaleString('en')} nodes`),
    );
    await page.close();
    return { shownMs, drawnMs: Math.min(...times) };
  }
});

/** In milliseconds. */
interface Pace {
  /** From the beginning of the navigation until there are rows. */
  readonly shownMs: number;
  /** From a change of the filter until the rows are laid out. */
  readonly drawnMs: number;
}

const elements = (page: Page) => page.evaluate(() => document.getElementsByTagName('*').length);

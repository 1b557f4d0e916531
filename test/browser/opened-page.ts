import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What is waited for comes much sooner, also on a machine with other things to do. */
const TIMEOUT_MS = 10_000;

/** A page in a browser, and all that it did that it should not have. */
export interface OpenedPage {
  readonly page: Page;
  /** Console errors, among them violations of the CSP; exceptions; requests to other origins. */
  readonly faults: readonly string[];
}

/** Opens the page at this address. It is closed with the running test. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<OpenedPage> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    locale: 'en-GB',
    timezoneId: 'UTC',
    ...options,
  });
  onTestFinished(() => context.close());
  context.setDefaultTimeout(TIMEOUT_MS);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => faults.push(`exception: ${error.message}`));
  const { origin } = new URL(url);
  page.on('request', (request) => {
    const asked = new URL(request.url());
    if (asked.origin !== origin && asked.protocol !== 'data:') faults.push(`request: ${request.url()}`);
  });
  await page.goto(url);
  return { page, faults };
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string | null;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

/** What axe finds on the page as it is, other than what it calls minor. */
export async function inaccessible(page: Page): Promise<string[]> {
  // By the debugger, which the page's CSP does not bind.
  await page.evaluate(AXE);
  const { violations } = await page.evaluate<AxeResults>('axe.run()');
  return violations
    .filter(({ impact }) => impact !== 'minor')
    .flatMap(({ id, impact, nodes }) =>
      nodes
        .slice(0, 3)
        .map(({ html, failureSummary = '' }) => `${impact} ${id}: ${html.slice(0, 200)} ${failureSummary}`),
    );
}

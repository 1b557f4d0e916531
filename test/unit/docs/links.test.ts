import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { allPages, type Page, ROOT } from './pages.ts';

const pages = allPages();

it('there are pages, and links to look at', () => {
  expect(pages.length).toBeGreaterThan(20);
  expect(pages.flatMap(linksOf).length).toBeGreaterThan(50);
});

describe.each(pages)('$path', (page) => {
  it('has links only to what there is', () => {
    expect(linksOf(page).flatMap((link) => fault(page, link) ?? [])).toEqual([]);
  });
});

it('the index has every page of docs/ and docs/reference/', () => {
  const index = pages.find(({ path }) => path === 'docs/README.md');
  const listed = (index ? linksOf(index) : []).map((link) => `docs/${link}`);
  const wanted = pages.filter(({ path }) => /^docs\/(reference\/)?[^/]+\.md$/.test(path) && path !== index?.path);
  expect(wanted.map(({ path }) => path).filter((path) => !listed.includes(path))).toEqual([]);
});

it.each([
  { link: 'no-such-page.md', says: 'no file docs/no-such-page.md' },
  { link: 'install.md#no-such-heading', says: 'docs/install.md has no #no-such-heading' },
  { link: '#no-such-heading', says: 'docs/operating.md has no #no-such-heading' },
  { link: 'install.md#locked-out', says: undefined },
  { link: '../manifests/chart/values.yaml', says: undefined },
  { link: 'https://example.com/x#y', says: undefined },
])('a link to $link: $says', ({ link, says }) => {
  expect(fault({ path: 'docs/operating.md', text: '# Operating' }, link)).toBe(says);
});

/** Targets of links and images, those in code left out. */
function linksOf({ text }: Page): string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, '').replaceAll(/`[^`\n]*`/g, 'code');
  const inline = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  const html = [...prose.matchAll(/\b(?:src|srcset|href)="([^"]+)"/g)].map(([, target = '']) => target);
  return [...inline, ...html];
}

/** What is wrong with a link of the page. Other sites are not asked. */
function fault(page: Page, link: string): string | undefined {
  if (/^[a-z]+:/.test(link)) return undefined;
  const [file = '', anchor] = link.split('#');
  const path = file === '' ? page.path : normalize(join(dirname(page.path), file));
  if (!existsSync(join(ROOT, path))) return `no file ${path}`;
  if (anchor === undefined || statSync(join(ROOT, path)).isDirectory()) return undefined;
  const text = path === page.path ? page.text : readFileSync(join(ROOT, path), 'utf8');
  return anchorsOf(text).includes(anchor) ? undefined : `${path} has no #${anchor}`;
}

/** The anchors that GitHub gives the headings; of equal ones, the later are numbered. */
function anchorsOf(text: string): string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, '');
  const seen = new Map<string, number>();
  return [...prose.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => {
    const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = words.replaceAll(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-');
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
}

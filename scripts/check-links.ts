/**
 * Checks the links of all pages: the file, the heading and the named test must exist, the index of docs/ must have every page, and a page must show each
 * picture. Paths of this repository in code quotes must exist, too. It does not check links to other sites, nor the changelog's paths. `npm run lint` runs it.
 */
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { hasTest } from './test-titles.ts';

const ROOT = join(import.meta.dirname, '..');
const INDEX = 'docs/README.md';

/** Pages on which the text of a link to a test is the title of that test. */
const TITLED = ['test/attacks.md', 'test/good-practices.md', 'test/outages.md'];

interface Link {
  readonly text: string;
  readonly target: string;
}

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

const paths = globSync(['*.md', '{docs,design,bench,certs,manifests,examples,test}/**/*.md'], { cwd: ROOT }).sort();
const faults = [
  ...paths.flatMap(brokenLinks),
  ...paths.flatMap(missingPaths),
  ...TITLED.flatMap(unknownTests),
  ...pagesNotInIndex(),
  ...unusedPictures(),
];
for (const fault of faults) process.stderr.write(`${fault}\n`);
if (faults.length > 0) process.exitCode = 1;

/** Links and images of a Markdown text, except in code. */
function linksIn(markdown: string): Link[] {
  const prose = markdown.replaceAll(/^```[\s\S]*?^```$/gm, '').replaceAll(/`([^`\n]*)`(?!\w)/g, '$1');
  const inline = [...prose.matchAll(/(?:\[([^\][]*))?\]\(([^)\s]+)\)/g)];
  const html = [...prose.matchAll(/\b(?:src|srcset|href)=()"([^"]+)"/g)];
  return [...inline, ...html].map(([, text = '', target = '']) => ({ text, target }));
}

function brokenLinks(page: string): string[] {
  return linksIn(read(page)).flatMap(({ target }) => faultOf(page, target) ?? []);
}

function missingPaths(page: string): string[] {
  if (page === 'CHANGELOG.md') return [];
  const named = [
    ...read(page).matchAll(/`((?:src|test|scripts|docs|design|manifests|bench|demo|examples)\/[\w./-]*[\w/])`/g),
  ];
  // NAME in capital letters stands for a name.
  return named.flatMap(([, path = '']) =>
    /[A-Z]{3}/.test(path) || existsSync(join(ROOT, path)) ? [] : `${page}: there is no ${path}`,
  );
}

function faultOf(page: string, target: string): string | undefined {
  if (/^[a-z]+:/.test(target)) return undefined;
  const [file = '', anchor] = target.split('#');
  const path = file === '' ? page : normalize(join(dirname(page), file));
  if (!existsSync(join(ROOT, path))) return `${page}: there is no file ${path}`;
  if (anchor === undefined || statSync(join(ROOT, path)).isDirectory()) return undefined;
  return anchorsOf(read(path)).includes(anchor) ? undefined : `${page}: ${path} has no heading #${anchor}`;
}

/** The anchors that GitHub gives the headings. It numbers the later ones of equal headings. */
function anchorsOf(markdown: string): string[] {
  const prose = markdown.replaceAll(/^```[\s\S]*?^```$/gm, '');
  const seen = new Map<string, number>();
  return [...prose.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => {
    const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = words.replaceAll(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-');
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
}

function unknownTests(page: string): string[] {
  const links = [...read(page).matchAll(/\[([^\]]*)\]\(([^)#:]+)\)/g)];
  const tests = links
    .map(([, text = '', target = '']) => [text, normalize(join(dirname(page), target))] as const)
    .filter(([, path]) => path.startsWith('test/') && path.endsWith('.ts'));
  if (tests.length === 0) return [`${page}: no link to a test`];
  return tests.flatMap(([text, path]) => {
    const title = text.replaceAll(/\s+/g, ' ');
    const found = existsSync(join(ROOT, path)) && (hasTest(path, title) || read(path).includes(title));
    return found ? [] : [`${page}: ${path} has no test "${title}"`];
  });
}

/** Where the links of the page lead, from the root. */
function targetsOf(page: string): string[] {
  return linksIn(read(page)).map(({ target }) => normalize(join(dirname(page), target)));
}

function pagesNotInIndex(): string[] {
  const listed = targetsOf(INDEX);
  const pages = globSync('docs/{,reference/}*.md', { cwd: ROOT }).filter((path) => path !== INDEX);
  return pages.filter((path) => !listed.includes(path)).map((path) => `${INDEX}: it has no link to ${path}`);
}

function unusedPictures(): string[] {
  const shown = paths.flatMap(targetsOf);
  const pictures = globSync('docs/images/*', { cwd: ROOT });
  return pictures.filter((path) => !shown.includes(path)).map((path) => `${path}: no page shows it`);
}

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { guideLines } from '../../e2e/guide-commands.ts';
import { ROOT } from './pages.ts';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

it('the function of docs/on-call.md starts the program as the image does', () => {
  const [line = ''] = guideLines('on-call.md', 'The command line in a replica');
  const [, entrypoint = ''] = /^ENTRYPOINT (\[.*\])$/m.exec(read('Dockerfile')) ?? [];
  expect(line).toContain(` -- ${(JSON.parse(entrypoint) as string[]).join(' ')} "$@"`);
});

/** The texts in the first cells of a table, each part between ellipses. */
function quoted(page: string, heading: string): string[] {
  const [, section = ''] = new RegExp(`^#+ ${heading}\\n([\\s\\S]*?)^#`, 'm').exec(`${read(page)}\n#`) ?? [];
  const cells = [...section.matchAll(/^\| ([^|]*) \|/gm)].map(([, cell = '']) => cell);
  const texts = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text));
  return texts.flatMap((text) => text.split('…').map((part) => part.trim())).filter((part) => part.length > 3);
}

/** Texts of the API server, of kubelets and of Go's TLS. */
const OF_OTHERS = [
  'is not allowed to modify taints',
  'is not allowed to modify labels',
  "would violate the pod's disruption budget",
];
const SOURCES = globSync('src/{explain,judge,kubernetes,native}/**/*.ts', { cwd: ROOT }).map(read).join('\n');
/** Names in a message stand for others, and code makes the rest. */
const literal = (text: string) =>
  text.replace(/^ValidatingAdmissionPolicy 'POLICY$|^'|'$/g, '').replace(/^POLICY\./, '');

describe('the pages quote what taintkeeper prints', () => {
  const tables = [
    { page: 'docs/on-call.md', heading: 'A node lost its taint', least: 5 },
    { page: 'docs/troubleshooting.md', heading: 'Messages of refused changes', least: 10 },
    { page: 'docs/troubleshooting.md', heading: 'Remove it with permission', least: 3 },
  ];
  it.each(tables)('$page: $heading has texts', ({ page, heading, least }) => {
    expect(quoted(page, heading).length).toBeGreaterThanOrEqual(least);
  });

  const texts = tables.flatMap(({ page, heading }) => quoted(page, heading).map((text) => ({ page, text })));
  it.each(texts.filter(({ text }) => !OF_OTHERS.includes(text)))('$page: $text', ({ text }) => {
    expect(SOURCES).toContain(literal(text));
  });
});

describe('each situation leads to its command within 200 words', () => {
  const page = read('docs/on-call.md');
  /** The words that a reader sees: targets of links and the lines of tables are none. */
  const words = (text: string) =>
    text
      .replaceAll(/\]\([^)]*\)/g, '')
      .replaceAll(/[|`[\]]|---|^#+/gm, ' ')
      .split(/\s+/)
      .filter(Boolean).length;

  it.each([
    ['a lost taint, and pods that do not belong there', 'A node lost its taint', 'kubectl taint node'],
    ['a node without its CNI', 'A new node stays NotReady', '/spec/template/spec/tolerations/-'],
    ['a startup taint', 'A node keeps a startup taint', 'taintkeeper explain node'],
    ['a refused change that the message can allow', 'A change is refused', 'run the command'],
    ['a refused change, in general', 'A change is refused', 'kubectl patch taintpolicy'],
    ['x509 after a restored backup', 'The webhook does not answer', 'rollout restart'],
    ['locked out', 'Locked out', 'kubectl delete --ignore-not-found clusterrole'],
    ['the leader must stop', 'Stop the leader', 'helm upgrade'],
  ])('%s', (_why, heading, command) => {
    const target = `](#${heading.toLowerCase().replaceAll(' ', '-')})`;
    const begin = page.indexOf(`\n## ${heading}\n`);
    const end = page.indexOf(command, begin);
    expect([page.indexOf(target), begin, end].filter((index) => index < 0)).toEqual([]);
    // The reader stops at the row, and goes on at the heading.
    expect(words(page.slice(0, page.indexOf(target))) + words(page.slice(begin, end))).toBeLessThanOrEqual(200);
  });
});

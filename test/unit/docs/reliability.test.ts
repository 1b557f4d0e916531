import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { OUTAGES } from '../../real-node/measure/outages.ts';
import { isRun, testsLinkedIn } from './linked-tests.ts';
import { ROOT } from './pages.ts';

const PAGE = readFileSync(join(ROOT, 'docs/reliability.md'), 'utf8');

it('the table of real nodes has a row for each outage that there is, in its order and words', () => {
  const rows = rowsUnder('On real nodes').map(([name, what]) => ({ name, what }));
  expect(rows).toEqual(OUTAGES.map(({ name, what }) => ({ name: `\`${name}\``, what })));
});

it('each outage that others had is held by tests that there are, or by a row of the table', () => {
  const rows = rowsUnder('Outages that others had');
  expect(rows.length).toBeGreaterThan(10);
  for (const [, , held = ''] of rows) {
    const named = testsLinkedIn(held);
    expect(named.filter(({ path }) => !isRun(path))).toEqual([]);
    expect(named.filter(({ text, path }) => !readFileSync(join(ROOT, path), 'utf8').includes(text))).toEqual([]);
    const outages = [...held.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name);
    expect(outages.filter((name) => !OUTAGES.some((outage) => outage.name === name))).toEqual([]);
    expect(named.length).toBeGreaterThan(0);
  }
});

/** The cells of the rows of the first table below a heading, without its head. */
function rowsUnder(heading: string): string[][] {
  const [, section = ''] = PAGE.split(`\n## ${heading}\n`);
  const lines = (section.split(/\n##+ /)[0] ?? '').split('\n').filter((line) => line.startsWith('| '));
  return lines.slice(2).map((line) => line.split(' | ').map((cell) => cell.replaceAll(/^\| | \|$/g, '')));
}

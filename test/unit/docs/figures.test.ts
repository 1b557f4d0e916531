import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { allPages, ROOT } from './pages.ts';

const RESULTS = readFileSync(join(ROOT, 'bench/RESULTS.md'), 'utf8');
const LINK = /\]\((?:\.\.\/)*bench\/RESULTS\.md(?:#([\w-]+))?\)/g;
const NUMBER = String.raw`\d[\d,]*(?:\.\d+)?`;
/** A number with a unit, or one of several before it: `21 to 39 ms`, `125; 166 MiB`. */
const FIGURE = new RegExp(
  String.raw`(?<![\w.,])(${NUMBER})(?=(?:(?:[,;]| to| and| or| of its) ${NUMBER})* ?(ms|s|[KMG]i?B|%)(?!\w))`,
  'g',
);

interface Figure {
  readonly page: string;
  readonly figure: string;
  /** The sections of the results that the sentence or the table links. Empty: the whole page. */
  readonly sections: readonly string[];
}

const numberOf = (text: string) => Number(text.replaceAll(',', ''));
const sectionsOf = (text: string) => [...text.matchAll(LINK)].map(([, anchor = '']) => anchor);
/** Without code and the targets of links, which have figures of their own. */
const prose = (text: string) => text.replaceAll(/`[^`]*`|\]\([^)]*\)/g, ' ');
const figuresIn = (text: string) =>
  [...prose(text).matchAll(FIGURE)].map(([, value = '', unit = '']) => `${value} ${unit}`);
const sentencesOf = (block: string) => block.replaceAll(/\n\s*/g, ' ').split(/(?<=[.:]) (?=[*[`A-Z])/);

/** The figures of each sentence with a link to the results, and of a table below a paragraph with one. */
function figuresOf(page: string, text: string): Figure[] {
  const blocks = text.split(/\n\n+|\n(?=- )/);
  return blocks.flatMap((block, index) => {
    const above = sectionsOf(blocks[index - 1] ?? '');
    const cited = block.startsWith('|')
      ? block.split('\n').map((row) => ({ cited: row, sections: [...above, ...sectionsOf(row)] }))
      : sentencesOf(block).map((sentence) => ({ cited: sentence, sections: sectionsOf(sentence) }));
    return cited
      .filter(({ sections }) => sections.length > 0)
      .flatMap(({ cited: part, sections }) => figuresIn(part).map((figure) => ({ page, figure, sections })));
  });
}

/** The numbers in sections of the results. */
function numbersIn(results: string, sections: readonly string[]): number[] {
  const parts = results.split(/^## /m);
  const linked = parts.filter((part) => sections.includes((part.split('\n')[0] ?? '').replaceAll('.', '')));
  const text = sections.includes('') ? results : linked.join('\n');
  return [...text.matchAll(new RegExp(NUMBER, 'g'))].map(([number]) => numberOf(number));
}

/** Whether a number rounds to the figure. The results may have milliseconds for a figure in seconds. */
function isIn(numbers: readonly number[], figure: string): boolean {
  const [value = '', unit] = figure.split(' ');
  const decimals = value.split('.')[1]?.length ?? 0;
  const scaled = unit === 's' ? [...numbers, ...numbers.map((number) => number / 1_000)] : numbers;
  return scaled.some((number) => Number(number.toFixed(decimals)) === numberOf(value));
}

const figures = allPages()
  .filter(({ path }) => /^(README|ROADMAP|docs\/.*|test\/attacks)\.md$/.test(path))
  .flatMap(({ path, text }) => figuresOf(path, text));

describe('a figure beside a link to bench/RESULTS.md stands in the linked section', () => {
  it.each(figures)('$page: $figure', ({ figure, sections }) => {
    expect(isIn(numbersIn(RESULTS, sections), figure)).toBe(true);
  });

  it('there are such figures', () => expect(figures.length).toBeGreaterThan(10));
});

describe('figuresOf and isIn', () => {
  const results = '# Results\n\n1.9 s\n\n## a.ts\n\n| 20.99 ms | 38.68 | 1,234 MiB |\n\n## b.ts\n\n239 ms\n';
  const link = (section: string) => `([x](../bench/RESULTS.md#${section}))`;

  it.each([
    ['a range, rounded', `It takes 21 to 39 ms ${link('ats')}.`, ['21 ms', '39 ms'], []],
    ['a figure that no number rounds to', `It takes 20 to 39 ms ${link('ats')}.`, ['20 ms', '39 ms'], ['20 ms']],
    ['a list', `It takes 21, 22 and 39 ms ${link('ats')}.`, ['21 ms', '22 ms', '39 ms'], ['22 ms']],
    ['a figure of another section', `It takes 1,234 MiB ${link('bts')}.`, ['1,234 MiB'], ['1,234 MiB']],
    ['seconds of milliseconds', `It takes 0.24 s ${link('bts')}.`, ['0.24 s'], []],
    ['a sentence without a link', `It takes 7 s. It takes 1,234 MiB ${link('ats')}.`, ['1,234 MiB'], []],
    ['code', `It takes \`7 s\` ${link('ats')}.`, [], []],
    ['a table below a link', `Measured ${link('ats')}:\n\n| |\n| --- |\n| 21 ms, 5 % |`, ['21 ms', '5 %'], ['5 %']],
    ['a link to the whole page', 'It takes 1.9 s and 3 s ([x](../bench/RESULTS.md)).', ['1.9 s', '3 s'], ['3 s']],
  ])('%s', (_why, text, found, wrong) => {
    const figures = figuresOf('page', text);
    expect(figures.map(({ figure }) => figure)).toEqual(found);
    expect(
      figures.filter(({ figure, sections }) => !isIn(numbersIn(results, sections), figure)).map(({ figure }) => figure),
    ).toEqual(wrong);
  });
});

import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { formatCoverage } from '../../../src/cli/coverage/output.ts';
import { columns, formatAs, type Look, lookOf, namesIn } from '../../../src/cli/output.ts';
import { reportCoverage } from '../../../src/coverage/report.ts';
import { daemonSet, node } from '../scheduling/scheduling.ts';

const message = `the serving certificate ${'is not trusted by this webhook, '.repeat(10)}and that is all`;
const found = { data: () => ({ message }), table: () => 'NAME\n' };

it('a long message is one line, in whatever format', () => {
  expect(formatAs('yaml', found)).toBe(`message: ${message}\n`);
  expect(parse(formatAs('yaml', found))).toEqual({ message });
  expect(formatAs('json', found)).toBe(`{\n  "message": "${message}"\n}\n`);
  expect(formatAs('table', found)).toBe('NAME\n');
});

const look = (given: Partial<Look>): Look => ({ wide: false, colors: false, width: undefined, ...given });

describe('a table', () => {
  const rows = [
    ['NAME', 'WHY'],
    ['a', 'one two three four'],
    ['long-name', 'five'],
  ];

  it('is as wide as it gets where nothing bounds it', () => {
    expect(columns(rows)).toBe('NAME       WHY\na          one two three four\nlong-name  five\n');
  });

  it('breaks its last column where the terminal ends', () => {
    const wrapped = columns(
      [
        ['NAME', 'WHY'],
        ['a', `one two three four ${'x'.repeat(20)} five`],
      ],
      look({ width: 24 }),
    );
    expect(wrapped.split('\n')).toEqual([
      'NAME  WHY',
      'a     one two three four',
      `      ${'x'.repeat(20)}`,
      '      five',
      '',
    ]);
  });

  it('is left to the terminal where hardly anything is left for the last column', () => {
    expect(columns(rows, look({ width: 20 }))).toBe(columns(rows));
  });

  it('has colours that take no place', () => {
    const decisions = [
      ['OBJECT', 'DECISION', 'NODES'],
      ['denied', { text: 'denied', level: 'failed' }, 'failed, missing'],
      ['b', { text: 'runs 1/2', level: 'attention' }, 'failed'],
      ['c', { text: 'allowed', level: 'ok' }, 'no'],
      ['d', { text: 'free', level: 'quiet' }, 'ok'],
    ] as const;
    const painted = columns(decisions, look({ colors: true }));
    expect(stripVTControlCharacters(painted)).toBe(columns(decisions));
    const [heading, denied, running, allowed, free] = painted.split('\n');
    expect(heading).toContain('\u001b[1mOBJECT\u001b[22m');
    // The name of an object says nothing of how it stands, in whatever column.
    expect(denied).toBe('denied  \u001b[31mdenied\u001b[39m    failed, missing');
    expect(running).toBe('b       \u001b[33mruns 1/2\u001b[39m  failed');
    expect(allowed).toBe('c       \u001b[32mallowed\u001b[39m   no');
    expect(free).toBe('d       \u001b[2mfree\u001b[22m      ok');
  });
});

it.each([
  { stream: {}, wide: false, width: undefined },
  { stream: { isTTY: true, columns: 90 }, wide: false, width: 90 },
  { stream: { isTTY: true, columns: 90 }, wide: true, width: undefined },
  { stream: { isTTY: true, columns: 0 }, wide: false, width: undefined },
])('lines to $stream, wide: $wide, have at most $width characters', ({ stream, wide, width }) => {
  expect(lookOf(stream, wide)).toMatchObject({ wide, width });
});

it('-o wide leaves no name out', () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  expect(namesIn(names, 3, look({}))).toBe('a, b, and 3 more');
  expect(namesIn(names, 3, look({ wide: true }))).toBe('a, b, c, d, e');
});

describe('the groups of coverage', () => {
  const daemonSets = [{ ...daemonSet('agent'), annotations: {} }];
  const nodes = Array.from({ length: 12 }, (_, i) => node(`n${i}`, [{ key: `k${i}`, effect: 'NoSchedule' }]));
  const report = reportCoverage({ daemonSets, nodes, placements: new Map(), grouped: true, onlyGaps: false });
  const headings = (format: 'table' | 'wide') =>
    stripVTControlCharacters(formatCoverage(report, { refused: [], notes: [], grouped: true, format }))
      .split('\n')
      .filter((line) => /^DAEMONSET +[A-Z]( |$)/.test(line))
      .map((line) => line.split(/ +/).slice(1).join(''));

  it.each([
    { why: 'ten abreast', isTTY: false, columns: 80, format: 'table' as const, found: ['ABCDEFGHIJ', 'KL'] },
    { why: 'all of them, if asked', isTTY: false, columns: 80, format: 'wide' as const, found: ['ABCDEFGHIJKL'] },
    { why: 'as many as fit', isTTY: true, columns: 40, format: 'table' as const, found: ['ABC', 'DEF', 'GHI', 'JKL'] },
    { why: 'one, at least', isTTY: true, columns: 10, format: 'table' as const, found: [...'ABCDEFGHIJKL'] },
  ])('are $why', ({ isTTY, columns, format, found }) => {
    const { stdout } = process;
    const before = { isTTY: stdout.isTTY, columns: stdout.columns };
    Object.assign(stdout, { isTTY, columns });
    try {
      expect(headings(format).map((line) => line.replaceAll(/[^A-L]/g, ''))).toEqual(found);
    } finally {
      Object.assign(stdout, before);
    }
  });
});

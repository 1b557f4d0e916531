import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Look } from '../../../../src/cli/output/look.ts';
import { columns, namesIn } from '../../../../src/cli/output/table.ts';

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

it('-o wide leaves no name out', () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  expect(namesIn(names, 3, look({}))).toBe('a, b, and 3 more');
  expect(namesIn(names, 3, look({ wide: true }))).toBe('a, b, c, d, e');
});

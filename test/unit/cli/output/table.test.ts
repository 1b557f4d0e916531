import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { allCommands } from '../../../../src/cli/commands.ts';
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

  const DELETION = 'kubectl delete pods -n gpu --field-selector=status.phase=Failed --selector=app=a';
  const DOCTOR = 'taintkeeper talos doctor --talosconfig ./talosconfig';
  it.each<{ why: string; text: string; lines: string[] }>([
    { why: 'first half of a deletion would delete more', text: DELETION, lines: [DELETION] },
    {
      why: 'words before a command are wrapped',
      text: `these pods have failed and stay: ${DELETION}`,
      lines: ['these pods have failed', 'and stay:', DELETION],
    },
    {
      why: 'where a command ends is unknown, so the rest stays on its line',
      text: `run ${DELETION} && ${DOCTOR}, and wait`,
      lines: ['run', `${DELETION} && ${DOCTOR}, and wait`],
    },
    { why: 'a quoted command is one, too', text: `use "${DOCTOR}"`, lines: ['use', `"${DOCTOR}"`] },
    { why: 'a command of this program', text: `run ${DOCTOR}`, lines: ['run', DOCTOR] },
    {
      why: 'the name of this program alone is no command',
      text: 'taintkeeper is not installed in the cluster',
      lines: ['taintkeeper is not', 'installed in the cluster'],
    },
  ])('never breaks a command, because each line runs by itself when it is pasted: $why', ({ text, lines }) => {
    const wrapped = columns(
      [
        ['NAME', 'WHY'],
        ['a', text],
      ],
      look({ width: 30 }),
    );
    const [first = '', ...rest] = lines;
    expect(wrapped).toBe(['NAME  WHY', `a     ${first}`, ...rest.map((line) => `      ${line}`), ''].join('\n'));
  });

  it.each(allCommands(() => {}).map((command) => command.name()))('knows the command %s', (name) => {
    const text = `taintkeeper ${name} --option x`;
    expect(columns([['WHY'], [text]], look({ width: 20 }))).toBe(`WHY\n${text}\n`);
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

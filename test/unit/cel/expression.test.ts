import { describe, expect, it } from 'vitest';
import {
  all,
  any,
  bind,
  cel,
  choose,
  concatenated,
  FALSE,
  literal,
  not,
  reference,
  repeated,
  TOO_LONG,
  TRUE,
} from '../../../src/cel/expression.ts';
import { exists, listOf } from '../../../src/cel/lists.ts';

const a = cel(1)`a == 1`;
const b = cel(1)`b == 1`;
const c = cel(1)`c == 1`;

describe('literal', () => {
  it.each([
    ['plain', '"plain"', ''],
    ['', '""', ''],
    ['say "hi"', '"say \\"hi\\""', 'the text may not end the literal'],
    ['\\', '"\\\\"', 'nor escape its end'],
    ['two\nlines', '"two\\U0000000alines"', 'a literal ends with its line'],
    ["it's", '"it\'s"', 'single quotes end nothing'],
    ['größer 🦆', '"größer 🦆"', 'what can be read stays readable'],
    ['a\u202eb', '"a\\U0000202eb"', 'what turns the text around is spelled out'],
    ['" || true || "', '"\\" || true || \\""', 'an injection stays text'],
  ])('%j becomes %s', (text, expected) => {
    expect(literal(text)).toBe(expected);
  });
});

describe('an expression from its text', () => {
  const list = { name: 'list', definition: cel(1)`object.list` };

  it('has what stands in it as text, expressions with what they use, and variables as references', () => {
    const expression = cel(3)`size(${list}) > ${5} && ${reference('other')} == ${'"x"'}`;
    expect(expression.text).toBe('size(list) > 5 && other == "x"');
    expect([...expression.uses].sort()).toEqual(['list', 'other']);
    expect([expression.cost(1), expression.cost(100)]).toEqual([5, 5]);
  });

  it('writes references as it is told to, but for those that are bound in it', () => {
    const upperCase = (name: string) => name.toUpperCase();
    expect(cel(1)`${list}[0] == "list"`.written(upperCase)).toBe('LIST[0] == "list"');
    expect(bind([list], cel(1)`${list} == ${reference('other')}`).written(upperCase)).toBe(
      '[object.list].exists(list,\nlist == OTHER)',
    );
  });

  it('indents what has several lines as the line that it stands in', () => {
    const lines = cel(1)`a &&\nb`;
    expect(cel(1)`list.exists(a,\n  ${lines})`.text).toBe('list.exists(a,\n  a &&\n  b)');
  });
});

describe('expressions', () => {
  it.each([
    ['and in or', any([all([a, b]), c]), '(a == 1 && b == 1) || c == 1'],
    ['or in and', all([any([a, b]), c]), '(a == 1 || b == 1) && c == 1'],
    ['or in or', any([any([a, b]), c]), 'a == 1 || b == 1 || c == 1'],
    ['not', not(all([a, b])), '!(a == 1 && b == 1)'],
    ['not not', not(not(a)), 'a == 1'],
    ['one part', any([a]), 'a == 1'],
    ['a part twice', all([a, a]), 'a == 1'],
    ['nothing of any', any([]), 'false'],
    ['nothing of all', all([]), 'true'],
    ['true in any', any([a, TRUE]), 'true'],
    ['false in any', any([a, FALSE]), 'a == 1'],
    ['false in all', all([a, FALSE]), 'false'],
    ['not true', not(TRUE), 'false'],
    ['exists', exists(reference('list'), 'x', a), 'list.exists(x, a == 1)'],
    ['exists, whatever it is', exists(reference('list'), 'x', TRUE), 'size(list) > 0'],
    ['exists, never', exists(reference('list'), 'x', FALSE), 'false'],
    ['not a name', not(reference('known')), '!known'],
    ['choose what is known', choose(FALSE, b, c), 'c == 1'],
    ['choose what is known to be so', choose(TRUE, b, c), 'b == 1'],
    ['choose', choose(a, b, c), '(\n  a == 1\n  ? b == 1\n  : c == 1\n)'],
  ])('%s', (_what, expression, text) => {
    expect(expression.text).toBe(text);
  });

  it('use what is bound around them, and not the item of a list', () => {
    expect([...exists(reference('list'), 'x', cel(1)`x == ${reference('y')}`).uses].sort()).toEqual(['list', 'y']);
  });

  it('are broken into lines where they get long', () => {
    const long = ['one', 'two', 'three'].map((name) => cel(1)`${name}.startsWith("${'x'.repeat(40)}")`);
    expect(not(any(long)).text.split('\n')).toEqual([
      '!(',
      `  ${long[0]?.text} ||`,
      `  ${long[1]?.text} ||`,
      `  ${long[2]?.text}`,
      ')',
    ]);
    expect(listOf(long.map(({ text }) => text)).split('\n')).toHaveLength(5);
  });

  it('have no blanks at the end of a line, so that kubectl shows them as they are', () => {
    const long = any(['one', 'two', 'three'].map((name) => cel(1)`${name}.startsWith("${'x'.repeat(40)}")`));
    expect(
      choose(a, exists(reference('list'), 'x', long), bind([{ name: 'list', definition: a }], long)).text,
    ).not.toMatch(/ $/m);
  });

  it('cost what their parts do, those of a list once for each item', () => {
    const { cost } = all([a, exists(reference('list'), 'x', cel(10)`x`)]);
    expect(cost(100) - cost(99)).toBe(cost(1) - cost(0));
    expect(cost(1) - cost(0)).toBeGreaterThanOrEqual(10);
  });
});

it('repeated counts an expression in the body of a loop as often as it is evaluated', () => {
  const body = repeated((size) => size, cel(10)`x == 1`);
  const loop = cel(3)`${reference('list')}.exists(x, ${body})`;
  expect(loop.text).toBe('list.exists(x, x == 1)');
  expect(loop.cost(7)).toBe(3 + 1 + 7 * 10);
  expect(repeated((size) => size, TOO_LONG)).toBe(TOO_LONG);
});

describe('bind', () => {
  const variables = [
    { name: 'outer', definition: cel(1)`1` },
    { name: 'inner', definition: cel(1)`${reference('outer')} + 1` },
    { name: 'idle', definition: cel(1)`2` },
  ];

  it('defines what is used, also by another variable, and nothing else', () => {
    const bound = bind(variables, cel(1)`${reference('inner')} == 2`);
    expect(bound.text).toBe('[1].exists(outer,\n[outer + 1].exists(inner,\ninner == 2))');
    expect([...bound.uses]).toEqual([]);
  });

  it('leaves an expression alone that uses none', () => {
    expect(bind(variables, a)).toBe(a);
  });
});

describe('an expression that is longer than anyone reads', () => {
  const long = (character: string) => cel(1)`x == "${character.repeat(60_000)}"`;

  it.each([
    ['by itself', cel(1)`${'x'.repeat(100_001)}`],
    ['as the sum of its parts', any([long('a'), long('b')])],
  ])('is not written: %s', (_what, expression) => {
    expect(expression).toBe(TOO_LONG);
  });

  it.each([
    ['a part twice counts once', any([long('a'), long('a')])],
    ['nor do line breaks and indentation count', cel(1)`x${`\n${' '.repeat(99)}`.repeat(2_000)}`],
  ])('is another one: %s', (_what, expression) => {
    expect(expression).not.toBe(TOO_LONG);
  });

  it('decides nothing where it does not matter', () => {
    expect(any([TOO_LONG, TRUE])).toBe(TRUE);
    expect(all([TOO_LONG, FALSE])).toBe(FALSE);
  });

  it.each([
    ['any', any([a, TOO_LONG])],
    ['all', all([a, TOO_LONG])],
    ['not', not(TOO_LONG)],
    ['choose', choose(a, TOO_LONG, b)],
    ['exists', exists(reference('list'), 'x', TOO_LONG)],
    ['bind', bind([{ name: 'v', definition: a }], all([reference('v'), TOO_LONG]))],
    ['cel', cel(1)`size(${TOO_LONG}) > 1`],
  ])('leaves nothing of what it is a part of: %s', (_what, expression) => {
    expect(expression).toBe(TOO_LONG);
  });
});

it('concatenated joins expressions and literals, and adds what joining them costs', () => {
  const text = concatenated(['"node "', cel((size) => size)`${reference('name')}`], (size) => 100 * size);
  expect(text.text).toBe('"node " +\nname');
  expect([...text.uses]).toEqual(['name']);
  expect(text.cost(3)).toBe(304);
});

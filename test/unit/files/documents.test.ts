import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseDocuments } from '../../../src/files/documents.ts';
import { InputError } from '../../../src/files/input-error.ts';

const values = (text: string) => parseDocuments(text, 'f.yaml').map(({ value }) => value);

/** What is wrong with the text, line by line. */
function faults(text: string): readonly string[] {
  try {
    parseDocuments(text, 'f.yaml');
  } catch (error) {
    if (error instanceof InputError) return error.faults;
    throw error;
  }
  return [];
}

const LARGE = 1_100_000;

describe('reads', () => {
  it.each<{ why: string; text: string; expected: unknown[] }>([
    { why: 'one document', text: 'a: 1\n', expected: [{ a: 1 }] },
    { why: 'many', text: 'a: 1\n---\na: 2\n---\na: 3', expected: [{ a: 1 }, { a: 2 }, { a: 3 }] },
    { why: 'nothing', text: '', expected: [] },
    { why: 'nothing but comments', text: '# a\n---\n# b\n', expected: [] },
    { why: 'no empty documents among others', text: '---\n---\na: 1\n---\nnull\n---\n~\n---\n', expected: [{ a: 1 }] },
    { why: 'JSON', text: '{"a": [1, {"b": null}]}', expected: [{ a: [1, { b: null }] }] },
    { why: 'JSON indented with tabs', text: '{\n\t"a": [\n\t\t1\n\t]\n}\n', expected: [{ a: [1] }] },
    { why: 'a byte order mark', text: '\uFEFFa: 1', expected: [{ a: 1 }] },
    {
      why: 'Windows line ends',
      text: 'a: 1\r\nb:\r\n  - 2\r\n---\r\nc: 3\r\n',
      expected: [{ a: 1, b: [2] }, { c: 3 }],
    },
    { why: 'anchors', text: 'a: &x [1]\nb: *x', expected: [{ a: [1], b: [1] }] },
    {
      why: 'merge keys',
      text: 'a: &x { p: 1, q: 2 }\nb:\n  <<: *x\n  q: 3',
      expected: [{ a: { p: 1, q: 2 }, b: { p: 1, q: 3 } }],
    },
    {
      why: 'yes, no and on as text, as YAML 1.2 does',
      text: 'a: [yes, no, on]',
      expected: [{ a: ['yes', 'no', 'on'] }],
    },
    { why: 'what is no object', text: 'just text', expected: ['just text'] },
    { why: 'large JSON', text: `{"a":"${'x'.repeat(LARGE)}"}`, expected: [{ a: 'x'.repeat(LARGE) }] },
    {
      why: 'large JSON with a byte order mark',
      text: `\uFEFF{"a":"${'x'.repeat(LARGE)}"}`,
      expected: [{ a: 'x'.repeat(LARGE) }],
    },
    { why: 'JSON objects in a row, a line each', text: '{"a":1}\n{"a":2}\n', expected: [{ a: 1 }, { a: 2 }] },
    { why: 'JSON objects in a row on one line', text: ' {"a":1}{"a":{"b":2}} ', expected: [{ a: 1 }, { a: { b: 2 } }] },
    {
      why: 'JSON objects in a row, with brackets and quotes in texts',
      text: '{"a":"}{\\"]"}\n\n{\n  "a": "\\\\"\n}',
      expected: [{ a: '}{"]' }, { a: '\\' }],
    },
    {
      why: 'JSON objects in a row, then YAML',
      text: '{"a":1}{"a":2}\n---\na: 3\n',
      expected: [{ a: 1 }, { a: 2 }, { a: 3 }],
    },
    { why: 'JSON objects in YAML documents', text: '{"a":1}\n---\n{"a":2}\n', expected: [{ a: 1 }, { a: 2 }] },
    { why: 'JSON objects and comments', text: '{"a":1}\n# b\n{"a":2}\n', expected: [{ a: 1 }, { a: 2 }] },
    { why: 'a flow mapping of YAML', text: "{a: '}', b: [1]}", expected: [{ a: '}', b: [1] }] },
    {
      why: 'large JSON objects in a row',
      text: `{"a":"${'x'.repeat(LARGE)}"}\n{"b":1}`,
      expected: [{ a: 'x'.repeat(LARGE) }, { b: 1 }],
    },
    { why: 'lists nested 200 deep', text: `${'['.repeat(200)}${']'.repeat(200)}`, expected: [nestedList(200)] },
  ])('$why', ({ text, expected }) => {
    expect(values(text)).toEqual(expected);
  });

  it('__proto__ as a key like any other', () => {
    for (const text of ['__proto__: { a: 1 }', '{"__proto__": {"a": 1}}', 'x: &x { a: 1 }\n<<: { __proto__: *x }']) {
      const [value] = values(text);
      expect(Object.hasOwn(value as object, '__proto__')).toBe(true);
      expect((value as { a?: unknown }).a).toBeUndefined();
    }
  });
});

function nestedList(levels: number): unknown[] {
  return levels === 1 ? [] : [nestedList(levels - 1)];
}

describe('says where and why for', () => {
  it.each<{ why: string; text: string; expected: (string | RegExp)[] }>([
    { why: 'a syntax error', text: 'a: 1\nb: [1\n', expected: [/^f\.yaml:3:1: Flow sequence/] },
    {
      why: 'a syntax error behind Windows line ends',
      text: 'a: 1\r\nb: [1\r\n',
      expected: [/^f\.yaml:3:1: Flow sequence/],
    },
    { why: 'a tab for indentation', text: 'a:\n\tb: 1\n', expected: [/^f\.yaml:2:1: Tabs are not allowed/] },
    {
      why: 'keys that are there twice, quoted or not',
      text: 'a: 1\n"a": 2\n',
      expected: ['f.yaml:2:1: Map keys must be unique'],
    },
    { why: 'keys that are there twice', text: 'a: 1\nb: 2\na: 3\n', expected: ['f.yaml:3:1: Map keys must be unique'] },
    {
      why: 'keys that are there twice in JSON',
      text: '{"a":1,"a":2}',
      expected: ['f.yaml:1:8: Map keys must be unique'],
    },
    { why: 'a map for a key', text: 'b: 1\n? { a: 1 }\n: 2\n', expected: ['f.yaml:2:3: expected a text for a key'] },
    { why: 'a list for a key', text: '[a]: 1\n', expected: ['f.yaml:1:1: expected a text for a key'] },
    { why: 'bytes for a key', text: '!!binary aGk=: 1\n', expected: ['f.yaml:1:10: expected a text for a key'] },
    { why: 'an alias for a key', text: 'a: &x [b]\n*x : 1\n', expected: ['f.yaml:2:1: expected a text for a key'] },
    {
      why: 'an error in each of two documents',
      text: 'a: *x\n---\nb: [\n',
      expected: [/^f\.yaml:\d:\d: /, /^f\.yaml:\d:\d: /],
    },
    {
      why: 'an alias without anchor',
      text: '\na: *nope',
      expected: ['f.yaml:2:4: *nope has no anchor: a text that begins with "*" needs quotes'],
    },
    {
      why: 'each of several aliases without anchor, in each document',
      text: 'a: [*.example.com, &x b, *x]\n---\na: *x',
      expected: [
        'f.yaml:1:5: *.example.com has no anchor: a text that begins with "*" needs quotes',
        'f.yaml:3:4: *x has no anchor: a text that begins with "*" needs quotes',
      ],
    },
    {
      why: 'an alias before its anchor',
      text: 'a: *x\nb: &x 1',
      expected: ['f.yaml:1:4: *x has no anchor: a text that begins with "*" needs quotes'],
    },
    {
      why: 'an asterisk alone',
      text: 'a:\n  - key: *\n',
      expected: ['f.yaml:2:10: a text that begins with "*" needs quotes'],
    },
    { why: 'an unknown tag', text: 'a: !foo 1', expected: ['f.yaml:1:4: Unresolved tag: !foo'] },
    {
      why: 'an alias that leads into itself',
      text: 'a: &x\n  b: [*x]',
      expected: [/^f\.yaml:2:7: this alias leads into itself/],
    },
    {
      why: 'two merge keys in one mapping, of which one would be lost',
      text: 'a: &x { b: 1 }\nc:\n  <<: *x\n  <<: { d: 2 }\n',
      expected: ['f.yaml:4:3: Map keys must be unique'],
    },
    {
      why: 'a merge key without a mapping',
      text: 'a: &x 1\nc:\n  <<: *x\n---\n<<: [{ b: 1 }, text]\n---\n<<:\n',
      expected: [3, 5, 7].map(
        (line) =>
          `f.yaml:${line}:${line === 3 ? 3 : 1}: expected a mapping, an alias of one, or a list of these for "<<"`,
      ),
    },
    {
      why: 'a merge key with an alias without anchor',
      text: 'a:\n  <<: *x',
      expected: ['f.yaml:2:7: *x has no anchor: a text that begins with "*" needs quotes'],
    },
    {
      why: 'a mapping that is merged into itself',
      text: 'a: &x\n  <<: *x',
      expected: ['f.yaml:2:7: this alias leads into itself'],
    },
    { why: 'aliases that multiply', text: aliasBomb(), expected: [/^f\.yaml:1:1: Excessive alias count/] },
    {
      why: 'a syntax error behind JSON objects in a row',
      text: '{"a":1}\n{"a":2}\n{"a": [}\n',
      expected: [/^f\.yaml:3:8: /, /^f\.yaml:/],
    },
    {
      why: 'keys that are there twice in the second of two JSON objects',
      text: '{"a":1}\n{"a":1,\n "a":2}',
      expected: ['f.yaml:3:2: Map keys must be unique'],
    },
    { why: 'a list of JSON objects without brackets', text: '{"a":1},\n{"a":2}', expected: [/^f\.yaml:1:8: /] },
    {
      why: 'large JSON that is cut off',
      text: `{"a":"${'x'.repeat(LARGE)}`,
      expected: [/^f\.yaml: Unterminated string in JSON/],
    },
  ])('$why', ({ text, expected }) => {
    expect(faults(text)).toEqual(expected.map((e) => (typeof e === 'string' ? e : expect.stringMatching(e))));
  });

  it.each([
    { why: 'text that is nested too deep for the parser', text: '[{a: '.repeat(10_000) },
    { why: 'text with an error in every line', text: '{\n'.repeat(500) },
    { why: '20,000 aliases, in good time', text: `a: &x 1\nb: [${'*x, '.repeat(20_000)}]` },
    { why: '20,000 aliases without anchor', text: `a: [${'*x, '.repeat(20_000)}]` },
  ])('$why, in few lines', ({ text }) => {
    expect(faults(text).length).toBeGreaterThan(0);
    expect(faults(text).length).toBeLessThanOrEqual(21);
    for (const fault of faults(text)) expect(fault).toMatch(/^f\.yaml:/);
  });

  it('bytes of any kind, or takes them for text', () => {
    const seen = { refused: 0, taken: 0 };
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const text = Buffer.from(bytes).toString('utf8');
        const found = faults(text);
        for (const fault of found) expect(fault).toMatch(/^f\.yaml:\d+:\d+: [^\n]*$/);
        if (found.length === 0) values(text);
        seen[found.length > 0 ? 'refused' : 'taken']++;
      }),
      { numRuns: 500 },
    );
    expect(Math.min(seen.refused, seen.taken)).toBeGreaterThan(10);
  });
});

/** A thousand million items in 10 lines. */
function aliasBomb(): string {
  const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
  for (let i = 1; i < 9; i++)
    lines.push(
      `a${i}: &a${i} [${Array(10)
        .fill(`*a${i - 1}`)
        .join(', ')}]`,
    );
  return lines.join('\n');
}

describe('locate', () => {
  const text = [
    'kind: Node', // 1
    'spec:', // 2
    '  taints:', // 3
    '    - key: a', // 4
    '      effect: NoSchedule', // 5
    '    - { key: b, "quoted key": 1 }', // 6
    '  empty:', // 7
    '---',
    'kind: Pod', // 9
    'x: &anchor { y: 1 }', // 10
    'z: *anchor', // 11
  ].join('\n');
  const [node, pod] = parseDocuments(text, 'f.yaml');

  it.each([
    { path: [], place: 'f.yaml:1:1' },
    { path: ['spec'], place: 'f.yaml:2:1' },
    { path: ['spec', 'taints'], place: 'f.yaml:3:3' },
    { path: ['spec', 'taints', 0], place: 'f.yaml:4:7' },
    { path: ['spec', 'taints', 0, 'effect'], place: 'f.yaml:5:7' },
    { path: ['spec', 'taints', 1], place: 'f.yaml:6:7' },
    { path: ['spec', 'taints', 1, 'quoted key'], place: 'f.yaml:6:17' },
    { path: ['spec', 'empty', 'deeper'], place: 'f.yaml:7:3' },
    { path: ['spec', 'taints', 7, 'key'], place: 'f.yaml:3:3' },
    { path: ['spec', 'absent'], place: 'f.yaml:2:1' },
    { path: ['kind', 'of', 'text'], place: 'f.yaml:1:1' },
  ])('finds $path at $place, or what is nearest above it', ({ path, place }) => {
    expect(node?.locate(path)).toBe(place);
  });

  it('counts lines from the top of the file, not of the document', () => {
    expect(pod?.locate(['kind'])).toBe('f.yaml:9:1');
    expect(pod?.locate(['z'])).toBe('f.yaml:11:1');
  });

  it.each<{ why: string; text: string; path: (string | number)[]; place: string }>([
    { why: 'below an alias: where it is written', text: 'a: &x { y: 1 }\nz: *x', path: ['z', 'y'], place: '1:9' },
    { why: 'an alias itself', text: 'a: &x { y: 1 }\nz: *x', path: ['z'], place: '2:1' },
    { why: 'an alias in a list', text: 'a: &x { y: 1 }\nz:\n  - *x', path: ['z', 0], place: '3:5' },
    { why: 'below an alias in a list', text: 'a: &x { y: 1 }\nz:\n  - *x', path: ['z', 0, 'y'], place: '1:9' },
    { why: 'an item of an aliased list', text: 'a: &x [1, 2]\nz: *x', path: ['z', 1], place: '1:11' },
    { why: 'absent below an alias', text: 'a: &x { y: 1 }\nz: *x', path: ['z', 'absent'], place: '2:1' },
    { why: 'merged', text: 'a: &x { y: 1 }\nz:\n  <<: *x\n  w: 2', path: ['z', 'y'], place: '1:9' },
    { why: 'its own beside a merge key', text: 'a: &x { y: 1 }\nz:\n  <<: *x\n  y: 2', path: ['z', 'y'], place: '4:3' },
    { why: 'the anchor that was last', text: 'a: &x 1\nb: &x { y: 2 }\nz: *x', path: ['z', 'y'], place: '2:9' },
    { why: 'a key without a name', text: 'a:\n  b: 1\n  ~: 2', path: ['a', ''], place: '3:3' },
  ])('follows aliases and merge keys: $why', ({ text, path, place }) => {
    expect(parseDocuments(text, 'f.yaml')[0]?.locate(path)).toBe(`f.yaml:${place}`);
  });

  it('finds the same in JSON, and behind Windows line ends', () => {
    expect(parseDocuments('{"a": 1,\n "b": [1,\n  2]}', 'f.json')[0]?.locate(['b', 1])).toBe('f.json:3:3');
    expect(parseDocuments('a: 1\r\nb:\r\n  c: 2\r\n', 'f.yaml')[0]?.locate(['b', 'c'])).toBe('f.yaml:3:3');
  });

  it('counts lines from the top of the file in JSON objects in a row', () => {
    const [, second] = parseDocuments('{"a": 1}\r\n{\r\n  "b": [\r\n    2]}', 'f.json');
    expect(second?.locate([])).toBe('f.json:2:1');
    expect(second?.locate(['b', 0])).toBe('f.json:4:5');
  });

  it('knows where each of several large JSON objects begins', () => {
    const [, second] = parseDocuments(`{"a":"${'x'.repeat(LARGE)}"}\n  {"b":1}`, 'f.json');
    expect(second?.locate(['b'])).toBe('f.json:2:3');
  });

  it('knows only the file for large JSON', () => {
    expect(parseDocuments(`{"a":"${'x'.repeat(LARGE)}"}`, 'f.json')[0]?.locate(['a'])).toBe('f.json');
  });
});

/** Each scalar of the value, with its path. */
function scalarsIn(value: unknown, path: (string | number)[] = []): { path: (string | number)[]; value: unknown }[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => scalarsIn(item, [...path, index]));
  if (typeof value !== 'object' || value === null) return [{ path, value }];
  return Object.entries(value).flatMap(([key, below]) => scalarsIn(below, [...path, key]));
}

describe('scalar', () => {
  it.each<{ why: string; text: string; expected: string | undefined; asWritten?: boolean }>([
    { why: 'zeros in front', text: 'x: 0010', expected: '0010' },
    { why: 'zeros at the end', text: 'x: 1.10', expected: '1.10' },
    { why: 'an exponent', text: 'x: 1e3', expected: '1e3' },
    { why: 'hexadecimal', text: 'x: 0x1F', expected: '0x1F' },
    { why: 'octal', text: 'x: 0o17', expected: '0o17' },
    { why: 'infinity', text: 'x: -.Inf', expected: '-.Inf' },
    { why: 'no number', text: 'x: .NaN', expected: '.NaN' },
    {
      why: 'more digits than a number has',
      text: 'x: 123456789012345678901234567890',
      expected: '123456789012345678901234567890',
    },
    { why: 'a boolean', text: 'x: True', expected: 'True' },
    { why: 'null', text: 'x: ~', expected: '~' },
    { why: 'a text in quotes', text: 'x: "0010" # 10', expected: '0010' },
    { why: 'a number by its tag', text: 'x: !!int "0010"', expected: '0010' },
    { why: 'a mapping', text: 'x: {}', expected: undefined },
    { why: 'nothing', text: 'y: 1', expected: undefined },
    { why: 'an alias', text: 'a: &r 0010\nx: *r', expected: '0010' },
    { why: 'the anchor that was last before the alias', text: 'a: &r 1.10\nx: *r\nb: &r 1.20', expected: '1.10' },
    { why: 'a merge key', text: 'a: &m { x: 0010 }\n<<: *m', expected: '0010' },
    {
      why: 'a merge key in a text of which all keys are texts',
      text: 'a: &m { x: 0010 }\n<<: *m',
      expected: '0010',
      asWritten: true,
    },
    { why: 'a merged mapping without an anchor', text: '<<: { x: 0010 }', expected: '0010' },
    { why: 'its own before a merge key', text: 'x: 0010\n<<: { x: 010 }', expected: '0010' },
    { why: 'its own behind a merge key', text: '<<: { x: 010 }\nx: 0010', expected: '0010' },
    { why: 'the first of several merged', text: '<<: [{ y: 1 }, { x: 0010 }, { x: 010 }]', expected: '0010' },
    {
      why: 'a mapping with a merge key, merged',
      text: 'a: &a { x: 0010 }\nb: &b { <<: *a, y: 1 }\n<<: *b',
      expected: '0010',
    },
    {
      why: 'an alias of an alias in a merged mapping',
      text: 'a: &a 0010\nb: &b { x: *a }\n<<: [*b]',
      expected: '0010',
    },
    { why: 'a key in quotes, which merges nothing', text: '"<<": { x: 0010 }', expected: undefined },
    { why: 'JSON', text: '{"x": 1.10}', expected: '1.10' },
    { why: 'large JSON', text: `{"x": 1.10, "a": "${'x'.repeat(LARGE)}"}`, expected: undefined },
    {
      why: 'large JSON, as written',
      text: `{"x": 1.10, "a": "${'x'.repeat(LARGE)}"}`,
      expected: '1.10',
      asWritten: true,
    },
  ])('keeps the spelling: $why', ({ text, expected, asWritten }) => {
    expect(parseDocuments(text, 'f.yaml', { asWritten: asWritten ?? false })[0]?.scalar(['x'])).toBe(expected);
  });

  it.each([
    'a: &x { p: 0010, q: [1.10, &y 0x1F] }\nb:\n  <<: *x\n  q: *y\nc: [*x, { <<: [*x, { r: 1e3 }], p: *y }]\n',
    'a: &x { p: 1 }\nb: &y { p: 2, <<: *x, q: 3 }\nc: { <<: [*y, *x], "<<": 4 }\nd: &x { p: 5 }\ne: { <<: *x }\n',
    '{"a": [1.10, {"b": true, "c": null}], "d": "e"}',
    '1.10: { 0x1F: &x 0010, True: *x }\n~: 5\n"~": 6\n',
  ])('is that of the value at each path: %j', (text) => {
    for (const asWritten of [false, true]) {
      // A key that is null is refused where keys are texts.
      if (asWritten && text.includes('~')) continue;
      const [document] = parseDocuments(text, 'f.yaml', { asWritten });
      const scalars = scalarsIn(document?.value);
      expect(scalars.length).toBeGreaterThan(2);
      const read = scalars.map(({ path }) => ({ path, value: parse(document?.scalar(path) ?? '?') }));
      expect(read).toEqual(scalars);
    }
  });
});

describe('as written', () => {
  const read = (text: string) => parseDocuments(text, 'f.yaml', { asWritten: true }).map(({ value }) => value);

  it.each<{ why: string; text: string; expected: unknown }>([
    {
      why: 'keys that are numbers',
      text: '0010: a\n1.10: b\n0x1F: c\n',
      expected: { '0010': 'a', '1.10': 'b', '0x1F': 'c' },
    },
    {
      why: 'keys of which only the spelling differs',
      text: '1: a\n01: b\n1.0: c',
      expected: { 1: 'a', '01': 'b', '1.0': 'c' },
    },
    { why: 'a key that is a boolean', text: 'True: a', expected: { True: 'a' } },
    { why: 'bytes, which are a text', text: 'a: !!binary aGk=', expected: { a: 'hi' } },
    { why: 'a timestamp by its tag', text: 'a: !!timestamp 2001-01-01', expected: { a: '2001-01-01' } },
    {
      why: 'merge keys',
      text: 'a: &x { 1.10: b }\nc: { <<: *x }',
      expected: { a: { '1.10': 'b' }, c: { '1.10': 'b' } },
    },
    { why: 'a key by its tag', text: '!!int "07": a\n!!str 1.10: b', expected: { '07': 'a', '1.10': 'b' } },
    {
      why: 'a merge key by its tag',
      text: 'a: &x { b: 1 }\nc: { !!merge <<: *x }',
      expected: { a: { b: 1 }, c: { b: 1 } },
    },
    { why: 'a key << in quotes', text: '"<<": 1', expected: { '<<': 1 } },
    { why: 'numbers', text: 'a: 1.10', expected: { a: 1.1 } },
    {
      why: 'numbers that only Go reads',
      text: '[0b101, -0B1_0, 0O17, +0x1F, 0X1F, 1_000, -1_000.5, 1_0e3]',
      expected: [5, -2, 15, 31, 31, 1000, -1000.5, 10_000],
    },
    {
      why: 'numbers by their tags, and texts that look like numbers',
      text: '[!!int 0b101, !!float 1_0.5, !!str 0b101, "1_000", 0b12, 0b_, _1, 0x1p4, 1_000x]',
      expected: [5, 10.5, '0b101', '1_000', '0b12', '0b_', '_1', '0x1p4', '1_000x'],
    },
  ])('$why', ({ text, expected }) => {
    expect(read(text)).toEqual([expected]);
  });

  it.each<{ why: string; text: string; says: string }>([
    { why: 'one text twice, once in quotes', text: '1: a\n"1": b', says: 'f.yaml:2:1: Map keys must be unique' },
    { why: 'a key that is null', text: 'a:\n  ~: b', says: 'f.yaml:2:3: this key is null: put it in quotes' },
    { why: 'a set', text: 'a: !!set { b }', says: 'f.yaml:1:4: Unresolved tag' },
  ])('refuses $why', ({ text, says }) => {
    expect(() => read(text)).toThrow(says);
  });
});

describe('a template of Go or Helm', () => {
  it.each<{ why: string; text: string; place: string }>([
    { why: 'an action for a value', text: 'kind: Node\nname: {{ include "agent.name" . }}\n', place: '2:7' },
    { why: 'a condition around the object', text: '{{- if .Values.on }}\nkind: Node\n{{- end }}\n', place: '1:1' },
    { why: 'an action for a list', text: 'spec:\n  tolerations: {{- toYaml . | nindent 4 }}\n', place: '2:16' },
    { why: 'a loop', text: 'a:\n  {{- range .Values.list }}\n  - {{ . }}\n  {{- end }}\n', place: '2:3' },
    { why: 'a comment', text: '{{/* about */}}\nkind: Node\n', place: '1:1' },
    { why: 'an action in JSON', text: '{"kind": "Node", "name": {{ .Values.name | quote }}}', place: '1:26' },
    { why: 'an action behind one in a text', text: 'a: "{{ .x }}"\nb: x-{{ .y }}\nc: {{ .z }}\n', place: '3:4' },
  ])('is named in one line: $why', ({ text, place }) => {
    expect(faults(text)).toEqual([
      `f.yaml:${place}: this is a template: render it first, for example with helm template`,
    ]);
  });

  it.each<{ why: string; text: string }>([
    { why: 'a comment', text: '# {{ .x }}\na: [' },
    { why: 'a text in quotes', text: 'summary: "{{ $labels.node }}"\na: [' },
    { why: 'a block of text', text: 'a: |\n  {{ .x }}\nb: [' },
  ])('is not what has braces only in $why', ({ text }) => {
    expect(faults(text).join()).not.toContain('template');
  });
});

it('an index of a list may be a text, as Object.entries gives it', () => {
  const [document] = parseDocuments('files:\n  - mode: 0o600\n  - mode: 0o644\n', 'a.yaml');
  for (const index of [1, '1']) {
    expect(document?.locate(['files', index, 'mode'])).toBe('a.yaml:3:5');
    expect(document?.scalar(['files', index, 'mode'])).toBe('0o644');
  }
  expect(document?.scalar(['files', 'x', 'mode'])).toBeUndefined();
});

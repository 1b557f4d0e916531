import fc from 'fast-check';

/** Names that JavaScript, JSON pointers, YAML, terminals or logs may take for something else. */
const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'length',
  '',
  '0',
  '-1',
  '~1',
  '/',
  'a/b~c',
  '*',
  '<<',
  'kind',
  'key',
  'effect',
  'value',
  'taints',
  'tolerations',
  'annotations',
  'labels',
  'taintkeeper.dev/allow-removal',
  'taintkeeper.dev/ignore',
];

/** Texts that forge lines, colours and directions, are half a character, or mean something to a parser. */
const TEXTS = [
  ...NAMES,
  'n\r\n{"level":50,"msg":"forged"}',
  '\u001B[31m\u009B31m\u001B]0;title\u0007',
  '\u2028\u2029\u202E\uFEFF\u0000',
  '\uD800',
  'dedicated=gpu:NoSchedule',
  'dedicated:NoExecute, =:, a=b=c:NoSchedule',
  'NoSchedule',
  '2026-01-01T00:00:00Z',
  'x'.repeat(300),
  'ä€😀'.repeat(50),
  '*'.repeat(100),
  `${'a*'.repeat(60)}b`,
  ','.repeat(500),
];

export const hostileName = fc.oneof(fc.constantFrom(...NAMES), fc.string({ maxLength: 12 }));

export const hostileText = fc.oneof(fc.constantFrom(...TEXTS), fc.string({ unit: 'binary', maxLength: 40 }));

/** Any JSON, and what has a meaning here in places where it has none. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: hostileText },
  { weight: 2, arbitrary: fc.constantFrom<unknown>(null, true, false, 0, -0, -1, 1e308, 0.5, [], {}, [[]], [null]) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
  {
    weight: 2,
    arbitrary: fc.array(
      fc.record(
        {
          key: hostileText,
          value: hostileText,
          effect: fc.oneof(fc.constantFrom('NoSchedule', 'NoExecute', 'PreferNoSchedule'), hostileText),
          operator: fc.constantFrom('Exists', 'Equal', 'Lt', ''),
        },
        { requiredKeys: [] },
      ),
      { maxLength: 4 },
    ),
  },
  { weight: 1, arbitrary: fc.dictionary(hostileName, hostileText, { maxKeys: 4 }) },
);

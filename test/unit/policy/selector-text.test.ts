import { describe, expect, it } from 'vitest';
import { selects } from '../../../src/kubernetes/label-selector.ts';
import type { PolicySelector } from '../../../src/policy/selector.ts';
import { parseSelector } from '../../../src/policy/selector-text.ts';

it.each<{ text: string; why?: string; selector: PolicySelector }>([
  { text: 'pool=gpu', selector: { matchLabels: { pool: 'gpu' } } },
  { text: 'pool==gpu', selector: { matchLabels: { pool: 'gpu' } } },
  { text: 'pool=', selector: { matchLabels: { pool: '' } } },
  { text: ' pool = gpu , example.com/tier=1 ', selector: { matchLabels: { pool: 'gpu', 'example.com/tier': '1' } } },
  { text: 'pool!=cpu', selector: { matchExpressions: [{ key: 'pool', operator: 'NotIn', values: ['cpu'] }] } },
  { text: 'pool', selector: { matchExpressions: [{ key: 'pool', operator: 'Exists' }] } },
  { text: '!pool', selector: { matchExpressions: [{ key: 'pool', operator: 'DoesNotExist' }] } },
  {
    text: 'pool in (gpu, tpu),zone notin (a),!spot,tier=1',
    selector: {
      matchLabels: { tier: '1' },
      matchExpressions: [
        { key: 'pool', operator: 'In', values: ['gpu', 'tpu'] },
        { key: 'zone', operator: 'NotIn', values: ['a'] },
        { key: 'spot', operator: 'DoesNotExist' },
      ],
    },
  },
  {
    text: 'pool=a,pool=b',
    why: 'both must hold, though no label can do that',
    selector: { matchLabels: { pool: 'a' }, matchExpressions: [{ key: 'pool', operator: 'In', values: ['b'] }] },
  },
  { text: 'constructor=x', selector: { matchLabels: { constructor: 'x' } } },
])('reads $text', ({ text, selector }) => {
  expect(parseSelector(text)).toEqual({ ok: true, selector });
});

it.each([
  { text: '', problem: 'KEY=VALUE' },
  { text: ',', problem: 'KEY=VALUE' },
  { text: 'pool=gpu tier=1', problem: 'got "pool=gpu tier=1"' },
  { text: 'tier=1, pool in gpu ', problem: 'got "pool in gpu"' },
  { text: 'pool=gpu,,tier=1', problem: 'KEY=VALUE' },
  // As labels.Parse has it: a comma promises another requirement.
  { text: 'pool=gpu,', problem: 'KEY=VALUE' },
  { text: 'pool in (gpu),', problem: 'KEY=VALUE' },
  { text: 'pool in (gpu), ', problem: 'got "pool in (gpu), "' },
  { text: '!pool,', problem: 'KEY=VALUE' },
  { text: 'pool in gpu', problem: 'KEY=VALUE' },
  { text: 'pool in (gpu', problem: 'KEY=VALUE' },
  { text: 'pool=-gpu', problem: '"-gpu" is no label value' },
  { text: 'Example.com/pool=gpu', problem: 'label key' },
  { text: 'a=b,__proto__=x', problem: 'label key' },
  { text: 'pool>1', problem: 'label key' },
])('does not take "$text" for a selector', ({ text, problem }) => {
  const result = parseSelector(text);
  expect(result).toEqual({ ok: false, problem: expect.stringContaining(problem) });
});

// A backtracking expression took hours for this.
it('needs little time for twenty thousand spaces', () => {
  expect(parseSelector(`${' '.repeat(20_000)}(`).ok).toBe(false);
});

/*
 * The cases of labels.Parse itself: k8s.io/apimachinery 0.36, pkg/labels/selector_test.go. Left out are `>` and `<`, and the empty text,
 * which selects everything there: an option without a value is a mistake here.
 */
describe('as labels.Parse does', () => {
  type Expected = readonly (readonly [key: string, operator: string, ...values: string[]])[];

  /** The same in whatever order, and however equality is written. */
  function requirements({ matchLabels = {}, matchExpressions = [] }: PolicySelector): Expected {
    const equal = Object.entries(matchLabels).map(([key, value]) => [key, 'In', value] as const);
    const others = matchExpressions.map(
      ({ key, operator, values = [] }) => [key, operator, ...[...new Set(values)].sort()] as const,
    );
    return [...equal, ...others].sort(([one], [other]) => (one < other ? -1 : 1));
  }

  it.each<[string, Expected]>([
    ['\rx', [['x', 'Exists']]],
    ['this-is-a-dns.domain.com/key-with-dash', [['this-is-a-dns.domain.com/key-with-dash', 'Exists']]],
    [
      'this-is-another-dns.domain.com/key-with-dash in (so,what)',
      [['this-is-another-dns.domain.com/key-with-dash', 'In', 'so', 'what']],
    ],
    [
      '0.1.2.domain/99 notin (10.10.100.1, tick.tack.clock)',
      [['0.1.2.domain/99', 'NotIn', '10.10.100.1', 'tick.tack.clock']],
    ],
    ['foo  in\t (abc)', [['foo', 'In', 'abc']]],
    ['x notin\n (abc)', [['x', 'NotIn', 'abc']]],
    ['x  notin\t\t(abc,def)', [['x', 'NotIn', 'abc', 'def']]],
    ['x in (abc,)', [['x', 'In', '', 'abc']]],
    ['x in (abc,abc)', [['x', 'In', 'abc']]],
    ['x in ()', [['x', 'In', '']]],
    ['x in (a,,a,,a,,a,,)', [['x', 'In', '', 'a']]],
    [
      'x notin (abc,,def),bar,z in (),w',
      [
        ['bar', 'Exists'],
        ['w', 'Exists'],
        ['x', 'NotIn', '', 'abc', 'def'],
        ['z', 'In', ''],
      ],
    ],
    [
      'x=a,y!=b,z in (h,i,j)',
      [
        ['x', 'In', 'a'],
        ['y', 'NotIn', 'b'],
        ['z', 'In', 'h', 'i', 'j'],
      ],
    ],
    ['x notin ( )', [['x', 'NotIn', '']]],
    ['x notin (, a)', [['x', 'NotIn', '', 'a']]],
    ['a ', [['a', 'Exists']]],
    ['a in (x,y,notin, z,in)', [['a', 'In', 'in', 'notin', 'x', 'y', 'z']]],
    [
      'x= ,z= ',
      [
        ['x', 'In', ''],
        ['z', 'In', ''],
      ],
    ],
  ])('reads %j', (text, expected) => {
    const result = parseSelector(text);
    expect(result.ok ? requirements(result.selector) : result).toEqual(expected);
  });

  it.each([
    ...['x=a||y=b', 'x==a==b', '!x=a', 'x<a', 'x,,y', ',x,y', 'x nott in (y)', 'a in (xyz),'],
    ...['a in (xyz)b notin ()', 'a in (xyz abc)', 'a notin(', 'a (', '('],
  ])('refuses %j', (text) => {
    expect(parseSelector(text).ok).toBe(false);
  });

  it.each<[string, Record<string, string>, boolean]>([
    ['x=y', { x: 'y' }, true],
    ['x=y,z=w', { x: 'y', z: 'w' }, true],
    ['x!=y,z!=w', { x: 'z', z: 'a' }, true],
    ['notin=in', { notin: 'in' }, true],
    ['x', { x: 'z' }, true],
    ['!x', { y: 'z' }, true],
    ['x=z', {}, false],
    ['x=y', { x: 'z' }, false],
    ['x=y,z=w', { x: 'w', z: 'w' }, false],
    ['x!=y,z!=w', { x: 'z', z: 'w' }, false],
    ['x', { y: 'z' }, false],
    ['!x', { x: 'z' }, false],
    ['foo=bar,baz=blah', { foo: 'bar', baz: 'blah' }, true],
    ['baz=bar', { foo: 'bar', baz: 'blah' }, false],
    ['foo=bar,foobar=bar,baz=blah', { foo: 'bar', baz: 'blah' }, false],
  ])('selects by %j of %j: %s', (text, labels, is) => {
    const result = parseSelector(text);
    expect(result.ok && selects(result.selector, labels)).toBe(is);
  });
});

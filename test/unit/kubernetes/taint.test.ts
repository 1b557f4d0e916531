import { describe, expect, it } from 'vitest';
import {
  formatTaint,
  parseTaint,
  repels,
  sameTaint,
  type Taint,
  taintsOnlyIn,
  valuesAmong,
  withoutEqualEnds,
  withTaints,
} from '../../../src/kubernetes/taint.ts';

const gpu: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const cpu: Taint = { key: 'dedicated', value: 'cpu', effect: 'NoSchedule' };
const evicting: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoExecute' };
const other: Taint = { key: 'other', effect: 'NoSchedule' };

describe('taintsOnlyIn', () => {
  it.each<{ why: string; before: Taint[]; after: Taint[]; removed: Taint[] }>([
    { why: 'nothing changed', before: [gpu], after: [gpu], removed: [] },
    { why: 'only the order changed', before: [gpu, other], after: [other, gpu], removed: [] },
    { why: 'the taint was removed', before: [gpu, other], after: [other], removed: [gpu] },
    { why: 'a changed value counts as removed', before: [gpu], after: [cpu], removed: [gpu] },
    { why: 'a changed effect is another taint', before: [gpu], after: [evicting], removed: [gpu] },
    {
      why: 'timeAdded does not count',
      before: [gpu],
      after: [{ ...gpu, timeAdded: '2026-01-01T00:00:00Z' } as Taint],
      removed: [],
    },
    { why: 'no value and null are the same', before: [{ ...other, value: null }], after: [other], removed: [] },
    {
      why: 'a key that looks like another key with its value is another key',
      before: [gpu],
      after: [{ key: 'dedicated=gpu', effect: 'NoSchedule' }],
      removed: [gpu],
    },
    { why: 'no value and an empty one are the same', before: [{ ...other, value: '' }], after: [other], removed: [] },
    { why: 'an added taint removes nothing', before: [], after: [gpu], removed: [] },
  ])('$why', ({ before, after, removed }) => {
    expect(taintsOnlyIn(before, after)).toEqual(removed);
  });
});

describe('taintsOnlyIn of lists so long that their equal ends are left out first', () => {
  const taint = (index: number, value = ''): Taint => ({ key: `example.com/${index}`, value, effect: 'NoSchedule' });
  const long = Array.from({ length: 300 }, (_, index) => taint(index));
  const without = (...indexes: number[]) => long.filter((_, index) => !indexes.includes(index));
  const changed = (index: number) => long.with(index, taint(index, 'changed'));

  it.each<{ why: string; after: readonly Taint[]; removed: readonly number[] }>([
    { why: 'nothing', after: [...long], removed: [] },
    { why: 'the first', after: without(0), removed: [0] },
    { why: 'the last', after: without(299), removed: [299] },
    { why: 'one in the middle', after: without(150), removed: [150] },
    { why: 'the first, the middle and the last', after: without(0, 150, 299), removed: [0, 150, 299] },
    { why: 'all', after: [], removed: long.map((_, index) => index) },
    { why: 'all but the first', after: long.slice(0, 1), removed: long.map((_, index) => index).slice(1) },
    { why: 'all but the last', after: long.slice(-1), removed: long.map((_, index) => index).slice(0, -1) },
    { why: 'the first, by its value', after: changed(0), removed: [0] },
    { why: 'the last, by its value', after: changed(299), removed: [299] },
    { why: 'nothing by another order', after: long.toReversed(), removed: [] },
    { why: 'nothing by additions at both ends', after: [taint(-1), ...long, taint(300)], removed: [] },
    { why: 'one of them beside an addition', after: [taint(-1), ...without(150)], removed: [150] },
  ])('$why', ({ after, removed }) => {
    expect(taintsOnlyIn(long, after)).toEqual(removed.map((index) => long[index]));
  });
});

it.each<{ why: string; before: Taint[]; after: Taint[]; left: [Taint[], Taint[]] }>([
  { why: 'nothing of equal lists', before: [gpu, other], after: [{ ...gpu }, { ...other }], left: [[], []] },
  { why: 'a removal from the middle', before: [gpu, evicting, other], after: [gpu, other], left: [[evicting], []] },
  {
    why: 'another value before two that are the same',
    before: [gpu, evicting, other],
    after: [cpu, evicting, other],
    left: [[gpu], [cpu]],
  },
  { why: 'what is new in the middle', before: [gpu, other], after: [gpu, evicting, other], left: [[], [evicting]] },
  { why: 'one of two that are the same', before: [gpu, gpu], after: [gpu], left: [[gpu], []] },
  { why: 'another value', before: [gpu, other], after: [cpu, other], left: [[gpu], [cpu]] },
  { why: 'another effect', before: [gpu, other], after: [evicting, other], left: [[gpu], [evicting]] },
  {
    why: 'another time',
    before: [gpu, other],
    after: [{ ...gpu, timeAdded: '2026-01-01T00:00:00Z' }, other],
    left: [[gpu], [{ ...gpu, timeAdded: '2026-01-01T00:00:00Z' }]],
  },
  { why: 'all of lists that share nothing', before: [gpu, other], after: [], left: [[gpu, other], []] },
])('withoutEqualEnds leaves $why', ({ before, after, left }) => {
  expect(withoutEqualEnds(before, after)).toEqual(left);
});

it('valuesAmong has the values of exactly the taints with one of the given keys', () => {
  const values = valuesAmong([gpu, { ...evicting, value: 'cpu' }, other], [cpu]);
  expect([...values.values()]).toEqual(['gpu', 'cpu']);
});

it.each([
  { text: 'dedicated=gpu:NoSchedule', taint: gpu },
  { text: 'other:NoSchedule', taint: { ...other, value: undefined } },
  { text: 'other=:NoSchedule', taint: { ...other, value: '' } },
  { text: 'other:NoSuchEffect', taint: undefined },
  { text: ':NoSchedule', taint: undefined },
])('parseTaint reads what formatTaint writes: $text', ({ text, taint }) => {
  expect(parseTaint(text)).toEqual(taint);
});

it.each([
  { other: gpu, same: true },
  { other: cpu, same: true },
  { other: evicting, same: false },
  { other: { ...gpu, key: 'other' }, same: false },
])('sameTaint goes by key and effect: $other.key=$other.value:$other.effect is the same: $same', ({ other, same }) => {
  expect(sameTaint(gpu, other)).toBe(same);
});

it.each([
  { effect: 'NoSchedule', expected: true },
  { effect: 'NoExecute', expected: true },
  { effect: 'PreferNoSchedule', expected: false },
  { effect: 'NoSuchEffect', expected: false },
])('a taint with the effect $effect keeps pods of DaemonSets off nodes: $expected', ({ effect, expected }) => {
  expect(repels({ effect })).toBe(expected);
});

describe('withTaints', () => {
  it('returns a copy if nothing is added', () => {
    const taints = [other];
    expect(withTaints(taints, [])).toEqual([other]);
    expect(withTaints(taints, [])).not.toBe(taints);
  });

  it('appends missing taints, and keeps the order of the present ones', () => {
    expect(withTaints([other, evicting], [gpu])).toEqual([other, evicting, gpu]);
  });

  it('replaces a value in place instead of adding a second taint with the key and effect', () => {
    expect(withTaints([cpu, other], [gpu])).toEqual([gpu, other]);
  });

  it('does not change its arguments', () => {
    const taints = Object.freeze([other]);
    withTaints(taints, [gpu]);
    expect(taints).toEqual([other]);
  });
});

it('needs little time for as many taints as a request can contain', () => {
  const many = Array.from({ length: 100_000 }, (_, index) => ({ key: `example.com/${index}`, effect: 'NoSchedule' }));
  expect(taintsOnlyIn(many, many.slice(1))).toEqual(many.slice(0, 1));
  expect(withTaints(many.slice(1), many.slice(0, 1))).toHaveLength(many.length);
});

it.each([
  [gpu, 'dedicated=gpu:NoSchedule'],
  [other, 'other:NoSchedule'],
  [{ ...other, value: '' }, 'other:NoSchedule'],
])('formatTaint writes a taint as kubectl does: %o', (taint, text) => {
  expect(formatTaint(taint)).toBe(text);
});

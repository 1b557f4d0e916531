import { describe, expect, it } from 'vitest';
import { droppedTaints, formatTaint, type Taint, withTaints } from '../../../src/kubernetes/taint.ts';

const gpu: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const cpu: Taint = { key: 'dedicated', value: 'cpu', effect: 'NoSchedule' };
const evicting: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoExecute' };
const other: Taint = { key: 'other', effect: 'NoSchedule' };

describe('droppedTaints', () => {
  it.each<{ why: string; before: Taint[]; after: Taint[]; dropped: Taint[] }>([
    { why: 'nothing changed', before: [gpu], after: [gpu], dropped: [] },
    { why: 'only the order changed', before: [gpu, other], after: [other, gpu], dropped: [] },
    { why: 'the taint is gone', before: [gpu, other], after: [other], dropped: [gpu] },
    { why: 'a changed value counts as dropped', before: [gpu], after: [cpu], dropped: [gpu] },
    { why: 'a changed effect is another taint', before: [gpu], after: [evicting], dropped: [gpu] },
    {
      why: 'timeAdded does not count',
      before: [gpu],
      after: [{ ...gpu, timeAdded: '2026-01-01T00:00:00Z' } as Taint],
      dropped: [],
    },
    { why: 'no value and null are the same', before: [{ ...other, value: null }], after: [other], dropped: [] },
    {
      why: 'a key that looks like another key with its value is another key',
      before: [gpu],
      after: [{ key: 'dedicated=gpu', effect: 'NoSchedule' }],
      dropped: [gpu],
    },
    { why: 'no value and an empty one are the same', before: [{ ...other, value: '' }], after: [other], dropped: [] },
    { why: 'an added taint drops nothing', before: [], after: [gpu], dropped: [] },
  ])('$why', ({ before, after, dropped }) => {
    expect(droppedTaints(before, after)).toEqual(dropped);
  });
});

describe('withTaints', () => {
  it('appends what is not there, and keeps the order of what is', () => {
    expect(withTaints([other, evicting], [gpu])).toEqual([other, evicting, gpu]);
  });

  it('puts a value back in place instead of adding a second taint of that key and effect', () => {
    expect(withTaints([cpu, other], [gpu])).toEqual([gpu, other]);
  });

  it('leaves its arguments alone', () => {
    const taints = Object.freeze([other]);
    withTaints(taints, [gpu]);
    expect(taints).toEqual([other]);
  });
});

it('copes with as many taints as a request can hold', () => {
  const many = Array.from({ length: 100_000 }, (_, index) => ({ key: `example.com/${index}`, effect: 'NoSchedule' }));
  expect(droppedTaints(many, many.slice(1))).toEqual(many.slice(0, 1));
  expect(withTaints(many.slice(1), many.slice(0, 1))).toHaveLength(many.length);
});

it.each([
  [gpu, 'dedicated=gpu:NoSchedule'],
  [other, 'other:NoSchedule'],
  [{ ...other, value: '' }, 'other:NoSchedule'],
])('formatTaint writes a taint as kubectl does: %o', (taint, text) => {
  expect(formatTaint(taint)).toBe(text);
});

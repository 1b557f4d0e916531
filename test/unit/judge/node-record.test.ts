import { expect, it } from 'vitest';
import {
  isRemoved,
  recordedTaints,
  type StartupProgress,
  startupIn,
  withoutMissing,
} from '../../../src/judge/node-record.ts';
import { recordedTaints as recordedOf, recordListing } from './established.ts';

const GPU = 'dedicated=gpu:NoSchedule';

it('without what it says of missing taints, a record is as before the node lost them', () => {
  const record = recordListing(`${GPU}, other:NoExecute`);
  const [first, ...rest] = record.taints.map((taint) => ({ ...taint, removedAt: 1, earlierDeletedAt: 2 }));
  if (!first) throw new Error('none');
  const kept = { ...record, startup: [], taints: [first, ...rest] };
  const blocked = { reason: 'Conflict', message: 'no' };
  const missing = { ...kept, taints: [{ ...first, missingSince: 3, blocked }, ...rest] };
  expect(withoutMissing(missing)).toStrictEqual(kept);
});

it('a record says something of its own Node, and of no other one of that name', () => {
  const record = recordListing(GPU, 'u1');
  expect(recordedTaints(record, 'u1')).toBe(record.taints);
  expect([recordedTaints(record, 'u2'), recordedTaints(undefined, 'u1')]).toEqual([[], []]);
});

it('a record says of its own Node alone how far it is with startup taints', () => {
  const startup: StartupProgress[] = [
    { key: 'boot', effect: 'NoSchedule', state: 'Waiting', policies: ['p'], since: 0 },
  ];
  const record = { ...recordListing(GPU, 'u1'), startup };
  expect(startupIn(record, 'u1')).toEqual(startup);
  for (const uid of ['u2', undefined]) expect([startupIn(record, uid), startupIn(undefined, uid)]).toEqual([[], []]);
  expect(startupIn(recordListing(GPU, 'u1'), 'u1')).toEqual([]);
});

it.each([
  { text: GPU, value: 'gpu', anyValue: false, expected: true },
  { text: GPU, value: 'cpu', anyValue: false, expected: false },
  { text: GPU, value: 'cpu', anyValue: true, expected: true },
  { text: 'dedicated:NoSchedule', value: undefined, anyValue: false, expected: true },
  { text: 'dedicated:NoExecute', value: undefined, anyValue: true, expected: false },
])('$text, recorded as removed, is the required taint with the value $value, any: $anyValue: $expected', (one) => {
  const { text, value, anyValue, expected } = one;
  const taint = { key: 'dedicated', effect: 'NoSchedule', ...(value === undefined ? {} : { value }) };
  expect(isRemoved(recordedOf(text, { removedAt: 0 }), { taint, anyValue })).toBe(expected);
  expect(isRemoved(recordedOf(text), { taint, anyValue })).toBe(false);
});

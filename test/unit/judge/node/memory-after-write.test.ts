import { expect, it } from 'vitest';
import { ALLOW_REMOVAL_LIFE_MS } from '../../../../src/judge/allow-removal.ts';
import { memoryAfterWrite, type WrittenStep } from '../../../../src/judge/node/memory-after-write.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import { cpu, gpu, other } from '../request/node-updates.ts';
import { ALL_STORED, LATER, memory, memoryAfterChanges, memoryAfterReboot, restored, writtenStep } from './memories.ts';

it('a change is forgotten after the window, when another one is recorded', () => {
  const written = [other, other].map((taint) => ({ taint, change: 'set', wasAsWritten: false }) as const);
  expect(memoryAfterChanges(restored(0, 1), written, LATER).changes).toEqual([
    { taint: gpu, change: 'set', at: 1 },
    { taint: other, change: 'set', at: LATER },
  ]);
});

it('a record that was deleted stays deleted', () => {
  const deleting = writtenStep({
    startup: { boot: { kind: 'Delete', startupBoot: null }, toSetAgain: [], waiting: [] },
  });
  expect(memoryAfterWrite(memory({ unusedRecord: 0 }), deleting, LATER, ALL_STORED).unusedRecord).toBe('Deleted');
  expect(memoryAfterWrite(memory({ unusedRecord: 0 }), writtenStep({}), LATER, ALL_STORED).unusedRecord).toBe(0);
});

it('a change that another writer has undone is kept, and one that the leader itself follows with another one is not', () => {
  const known = memory({
    changes: [
      { taint: other, change: 'set', at: 0 },
      { taint: gpu, change: 'set', at: 0 },
      { taint: gpu, change: 'set', at: 1 },
    ],
  });
  const timesAfter = (wasAsWritten: boolean) =>
    memoryAfterChanges(known, [{ taint: gpu, change: 'remove', wasAsWritten }], 5).changes.map(({ taint, at }) => [
      taint.key,
      at,
    ]);
  expect(timesAfter(false)).toEqual([
    ['other', 0],
    ['dedicated', 0],
    ['dedicated', 1],
    ['dedicated', 5],
  ]);
  expect(timesAfter(true)).toEqual([
    ['other', 0],
    ['dedicated', 0],
    ['dedicated', 5],
  ]);
});

it('a deleted entry is no change any more, and what was written about other taints is', () => {
  const [allowed, set, allowedOther] = [
    { taint: gpu, change: 'allow', at: 0 },
    { taint: gpu, change: 'set', at: 1 },
    { taint: other, change: 'allow', at: 2 },
  ] as const;
  const before = memory({ changes: [allowed, set, allowedOther] });
  const changesAfter = (revoked: Taint[], changes: WrittenStep['changes'] = []) =>
    memoryAfterWrite(before, writtenStep({ revoked, changes }), 3, ALL_STORED).changes;
  expect(changesAfter([gpu, cpu])).toEqual([set, allowedOther]);
  expect(changesAfter([])).toEqual(before.changes);
  const allowedAgain = { taint: gpu, change: 'allow', wasAsWritten: false } as const;
  expect(changesAfter([gpu], [allowedAgain])).toEqual([set, allowedOther, { taint: gpu, change: 'allow', at: 3 }]);
});

it('an entry that has expired is forgotten an hour later, when another write is recorded', () => {
  const before = memory({
    expired: [
      { taint: gpu, at: 0 },
      { taint: other, at: 1 },
    ],
  });
  const expiredAfter = (expired: Taint[]) =>
    memoryAfterWrite(before, writtenStep({ expired }), ALLOW_REMOVAL_LIFE_MS, ALL_STORED).expired;
  expect(expiredAfter([])).toEqual([{ taint: other, at: 1 }]);
  expect(expiredAfter([gpu])).toEqual([
    { taint: other, at: 1 },
    { taint: gpu, at: ALLOW_REMOVAL_LIFE_MS },
  ]);
});

it('a reboot ends the record of the taints that it sets again, and is forgotten after the window', () => {
  const before = memory({
    changes: [
      { taint: gpu, change: 'remove', at: 1 },
      { taint: other, change: 'remove', at: 1 },
    ],
    reboots: [0, 1],
  });
  expect(memoryAfterReboot(before, [gpu, { ...gpu, key: 'a' }], LATER)).toMatchObject({
    changes: [{ taint: other, change: 'remove', at: 1 }],
    reboots: [1, LATER],
  });
});

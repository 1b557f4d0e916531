import { expect, it } from 'vitest';
import {
  CONFLICT,
  conflictChangesInMs,
  conflictsNow,
  isBlank,
  memoryAfterChanges,
  memoryAfterReboot,
  type NodeMemory,
  newMemory,
  rebootsPausedForMs,
  type TaintChangeKind,
} from '../../../../src/judge/node/node-memory.ts';
import { identity } from '../../../../src/kubernetes/taint.ts';
import { gpu, other } from '../request/node-updates.ts';

const LATER = CONFLICT.windowMs;
const memory = (more: Partial<NodeMemory> = {}): NodeMemory => ({ ...newMemory('u1'), ...more });
const restored = (...times: number[]) => memory({ changes: times.map((at) => ({ taint: gpu, change: 'set', at })) });
const CONFLICTS: NodeMemory['conflicts'] = new Map([[identity(gpu), { taint: gpu, change: 'set', policies: ['p'] }]]);

it.each<{ why: string; more: Partial<NodeMemory>; is: boolean }>([
  { why: 'a new one', more: {}, is: true },
  { why: 'one with a change', more: { changes: [{ taint: gpu, change: 'set', at: 0 }] }, is: false },
  { why: 'one with a conflict', more: { conflicts: CONFLICTS }, is: false },
  { why: 'one with a taint beside its entry', more: { standing: [{ taint: gpu, at: 0 }] }, is: false },
  { why: 'one with the time of deleted entries', more: { entriesEndedAt: 0 }, is: false },
  { why: 'one with a reboot', more: { reboots: [0] }, is: false },
])('a memory need not be kept: $why is $is', ({ more, is }) => {
  expect(isBlank(memory(more))).toBe(is);
});

it('a change is forgotten after the window, when another one is recorded', () => {
  const written = [gpu, other, other].map((taint) => ({ taint, change: 'set' as const }));
  expect(memoryAfterChanges(restored(0, 1), written.slice(1), LATER).changes).toEqual([
    { taint: gpu, change: 'set', at: 1 },
    { taint: other, change: 'set', at: LATER },
  ]);
});

it.each<{ why: string; before: TaintChangeKind[]; next: TaintChangeKind; after: TaintChangeKind[] }>([
  { why: 'a removal undoes what was set', before: ['set', 'set'], next: 'remove', after: ['remove'] },
  { why: 'to set it undoes removals', before: ['remove', 'remove'], next: 'set', after: ['set'] },
  { why: 'to set it undoes entries', before: ['remove', 'allow'], next: 'set', after: ['set'] },
  { why: 'an entry has served its removal', before: ['allow', 'allow'], next: 'remove', after: ['remove'] },
  {
    why: 'an entry undoes no removal: a webhook may undo each removal that an entry permits',
    before: ['remove', 'remove'],
    next: 'allow',
    after: ['remove', 'remove', 'allow'],
  },
  { why: 'an entry undoes what was set', before: ['set'], next: 'allow', after: ['allow'] },
  { why: 'the same again', before: ['remove'], next: 'remove', after: ['remove', 'remove'] },
])('the leader forgets what it has undone itself: $why', ({ before, next, after }) => {
  const ofOther = { taint: other, change: before[0] ?? next, at: 0 };
  const known = memory({ changes: [ofOther, ...before.map((change, at) => ({ taint: gpu, change, at }))] });
  const { changes } = memoryAfterChanges(known, [{ taint: gpu, change: next }], 5);
  expect(changes.filter(({ taint }) => taint === other)).toEqual([ofOther]);
  expect(changes.flatMap(({ taint, change }) => (taint === gpu ? change : []))).toEqual(after);
});

it('a conflict ends when the leader has undone its change', () => {
  const known = memoryAfterChanges({ ...restored(0, 1, 2), conflicts: CONFLICTS }, [], 3);
  expect(conflictsNow(known, [], 4).size).toBe(1);
  expect(conflictsNow(memoryAfterChanges(known, [{ taint: gpu, change: 'remove' }], 4), [], 5).size).toBe(0);
});

it('a reboot ends the record of the taints that it sets again, and is forgotten after the window', () => {
  const before = memory({
    changes: [
      { taint: gpu, change: 'remove', at: 0 },
      { taint: other, change: 'remove', at: 0 },
    ],
    reboots: [0, 1],
  });
  expect(memoryAfterReboot(before, [gpu, { ...gpu, key: 'a' }], LATER)).toMatchObject({
    changes: [{ taint: other, change: 'remove', at: 0 }],
    reboots: [1, LATER],
  });
});

it.each<{ why: string; reboots: number[]; now: number; pausedForMs: number }>([
  { why: 'fewer than three', reboots: [0, 1], now: 2, pausedForMs: 0 },
  { why: 'three', reboots: [0, 1, 2], now: 10, pausedForMs: CONFLICT.windowMs - 10 },
  { why: 'three, one of them before the window', reboots: [0, 1, 2], now: LATER, pausedForMs: 0 },
  { why: 'three, long ago', reboots: [0, 1, 2], now: 10 * LATER, pausedForMs: 0 },
])('reboots are paused after three in the window: $why', ({ reboots, now, pausedForMs }) => {
  expect(rebootsPausedForMs(memory({ reboots }), now)).toBe(pausedForMs);
});

it('a conflict names each policy once', () => {
  const left = ['p', 'q', 'p'].map((policy) => ({ taint: gpu, change: 'set' as const, policy }));
  const conflicts = conflictsNow({ ...restored(0), conflicts: CONFLICTS }, left, 1);
  expect([...conflicts.values()]).toEqual([{ taint: gpu, change: 'set', policies: ['p', 'q'] }]);
});

it.each<{ why: string; times: number[]; changesInMs: number | undefined }>([
  { why: 'nothing was changed', times: [], changesInMs: undefined },
  { why: 'the first change leaves the window', times: [5, 7], changesInMs: CONFLICT.windowMs - 5 },
])('when a conflict changes: $why', ({ times, changesInMs }) => {
  expect(conflictChangesInMs(restored(...times), gpu, 10)).toBe(changesInMs);
});

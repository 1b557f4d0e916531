import { describe, expect, it } from 'vitest';
import { memoryAfterWrite, type WrittenStep } from '../../../../src/judge/node/memory-after-write.ts';
import { isBlank, type NodeMemory, newMemory } from '../../../../src/judge/node/node-memory.ts';
import { lastRebootMsAgo, rebootsPausedForMs } from '../../../../src/judge/node/recorded-reboots.ts';
import {
  allowedByLeader,
  conflictChangesInMs,
  conflictsNow,
  isAsWritten,
  type TaintChange,
  UNDO_BUDGET,
} from '../../../../src/judge/node/undone-changes.ts';
import { stillUnstored } from '../../../../src/judge/node/unstored-taints.ts';
import type { StoredNode } from '../../../../src/judge/node-view.ts';
import { type Taint, taintIdentity } from '../../../../src/kubernetes/taint.ts';
import { cpu, gpu, other } from '../request/node-updates.ts';
import { ALL_STORED, memoryAfterChanges, memoryAfterReboot, setAgain, writtenStep } from './memories.ts';

const third: Taint = { key: 'third', effect: 'NoSchedule' };
const LATER = UNDO_BUDGET.windowMs;
const memory = (more: Partial<NodeMemory> = {}): NodeMemory => ({ ...newMemory('u1'), ...more });
const restored = (...times: number[]) => memory({ changes: times.map((at) => ({ taint: gpu, change: 'set', at })) });
const CONFLICTS = new Map([[taintIdentity(gpu), { taint: gpu, policyNames: ['p'] }]]);

it.each<{ why: string; more: Partial<NodeMemory>; is: boolean }>([
  { why: 'a new one', more: {}, is: true },
  { why: 'one with a change', more: { changes: [{ taint: gpu, change: 'set', at: 0 }] }, is: false },
  { why: 'one with a conflict', more: { conflicts: CONFLICTS }, is: false },
  { why: 'one with a taint beside its entry', more: { carriedWithEntry: [{ taint: gpu, at: 0 }] }, is: false },
  { why: 'one with the time of deleted entries', more: { entriesEndedAt: 0 }, is: false },
  { why: 'one with a reboot', more: { reboots: [0] }, is: false },
  { why: 'one with a taint that was not stored', more: { unstored: { bootId: 'B', taints: [gpu] } }, is: false },
])('a memory need not be kept: $why is $is', ({ more, is }) => {
  expect(isBlank(memory(more))).toBe(is);
});

it('a change is forgotten after the window, when another one is recorded', () => {
  const written = [other, other].map((taint) => ({ taint, change: 'set', wasAsWritten: false }) as const);
  expect(memoryAfterChanges(restored(0, 1), written, LATER).changes).toEqual([
    { taint: gpu, change: 'set', at: 1 },
    { taint: other, change: 'set', at: LATER },
  ]);
});

describe('what another writer has undone', () => {
  const GPU_ENTRY = 'dedicated=gpu:NoSchedule';
  const changed = (...changes: TaintChange['change'][]) =>
    memory({ changes: changes.map((change, at) => ({ taint: gpu, change, at })) });

  it.each<{ last: TaintChange['change'][]; node: Pick<StoredNode, 'taints' | 'allowRemoval'>; is: boolean }>([
    { last: ['set'], node: { taints: [other, gpu], allowRemoval: undefined }, is: true },
    { last: ['set'], node: { taints: [other], allowRemoval: undefined }, is: false },
    { last: ['set'], node: { taints: [cpu], allowRemoval: undefined }, is: false },
    { last: ['remove'], node: { taints: [other], allowRemoval: undefined }, is: true },
    { last: ['remove'], node: { taints: [gpu], allowRemoval: undefined }, is: false },
    { last: ['remove'], node: { taints: [cpu], allowRemoval: undefined }, is: false },
    { last: ['allow'], node: { taints: [gpu], allowRemoval: GPU_ENTRY }, is: true },
    { last: ['allow'], node: { taints: [gpu], allowRemoval: undefined }, is: false },
    { last: ['allow'], node: { taints: [], allowRemoval: GPU_ENTRY }, is: false },
    { last: ['set', 'remove'], node: { taints: [], allowRemoval: undefined }, is: true },
    { last: [], node: { taints: [gpu], allowRemoval: undefined }, is: false },
  ])('a taint is as the leader has left it: $is after $last with $node', ({ last, node, is }) => {
    expect(isAsWritten(changed(...last), node, gpu, 5)).toBe(is);
    expect(isAsWritten(changed(...last), node, gpu, LATER + last.length)).toBe(false);
  });

  it('counts, and a change that the leader itself follows with another one does not', () => {
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

  it('an entry is that of the leader until it writes something else about the taint', () => {
    expect(allowedByLeader(changed('allow'), 5)).toEqual([gpu]);
    expect(allowedByLeader(changed('allow', 'remove'), 5)).toEqual([]);
    expect(allowedByLeader(changed('allow'), LATER)).toEqual([]);
  });
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

describe('the taints that the API server has not stored after a reboot', () => {
  const unstored = memory({ unstored: { bootId: 'B', taints: [gpu, other] } });

  it.each<{ why: string; of: NodeMemory; node: Pick<StoredNode, 'bootId' | 'taints'>; still: Taint[] }>([
    { why: 'all', of: unstored, node: { bootId: 'B', taints: [] }, still: [gpu, other] },
    {
      why: 'those that it lacks, with any value',
      of: unstored,
      node: { bootId: 'B', taints: [third, cpu] },
      still: [other],
    },
    { why: 'none of another boot', of: unstored, node: { bootId: 'C', taints: [] }, still: [] },
    { why: 'none if all were stored', of: memory(), node: { taints: [] }, still: [] },
  ])('are due on the node: $why', ({ of, node, still }) => {
    expect(stillUnstored(of.unstored, node)).toEqual(still);
  });

  it.each<{ why: string; sent: Taint[]; bootId: string; taints: Taint[]; after: NodeMemory['unstored'] }>([
    { why: 'one is stored now', sent: [gpu, third], bootId: 'B', taints: [], after: { bootId: 'B', taints: [other] } },
    { why: 'one is not', sent: [gpu], bootId: 'B', taints: [gpu], after: { bootId: 'B', taints: [other, gpu] } },
    { why: 'all are', sent: [gpu, other], bootId: 'B', taints: [], after: undefined },
    { why: 'it is another boot', sent: [gpu], bootId: 'C', taints: [gpu], after: { bootId: 'C', taints: [gpu] } },
  ])('are known after a write: $why', ({ sent, bootId, taints, after }) => {
    const startup = { boot: undefined, toSetAgain: sent.map(setAgain), waiting: [] };
    expect(memoryAfterWrite(unstored, writtenStep({ startup }), 0, { bootId, taints }).unstored).toEqual(after);
  });
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

it('the last reboot is as long ago as it was recorded', () => {
  expect(lastRebootMsAgo(memory({ reboots: [3, 7] }), 10)).toBe(3);
  expect(lastRebootMsAgo(memory(), 10)).toBe(undefined);
});

it.each<{ why: string; reboots: number[]; now: number; pausedForMs: number }>([
  { why: 'fewer than three', reboots: [0, 1], now: 2, pausedForMs: 0 },
  { why: 'three', reboots: [0, 1, 2], now: 10, pausedForMs: UNDO_BUDGET.windowMs - 10 },
  { why: 'three, one of them before the window', reboots: [0, 1, 2], now: LATER, pausedForMs: 0 },
  { why: 'three, long ago', reboots: [0, 1, 2], now: 10 * LATER, pausedForMs: 0 },
])('reboots are paused after three in the window: $why', ({ reboots, now, pausedForMs }) => {
  expect(rebootsPausedForMs(memory({ reboots }), now)).toBe(pausedForMs);
});

it('a conflict names each policy once', () => {
  const left = ['p', 'q', 'p'].map((policy) => ({ taint: gpu, policy }));
  const conflicts = conflictsNow({ ...restored(0), conflicts: CONFLICTS }, left, 1);
  expect([...conflicts.values()]).toEqual([{ taint: gpu, policyNames: ['p', 'q'] }]);
});

it.each<{ why: string; times: number[]; changesInMs: number | undefined }>([
  { why: 'nothing was changed', times: [], changesInMs: undefined },
  { why: 'the first change leaves the window', times: [5, 7], changesInMs: UNDO_BUDGET.windowMs - 5 },
])('when a conflict changes: $why', ({ times, changesInMs }) => {
  expect(conflictChangesInMs(restored(...times), gpu, 10)).toBe(changesInMs);
});

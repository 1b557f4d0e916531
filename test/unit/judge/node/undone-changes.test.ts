import { describe, expect, it } from 'vitest';
import {
  allowedByLeader,
  conflictChangesInMs,
  conflictsNow,
  isAsWritten,
  type TaintChange,
  UNDO_BUDGET,
} from '../../../../src/judge/node/undone-changes.ts';
import type { StoredNode } from '../../../../src/judge/node-view.ts';
import { cpu, gpu, other } from '../request/node-updates.ts';
import { CONFLICTS, LATER, memory, restored } from './memories.ts';

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

  it('an entry is that of the leader until it writes something else about the taint', () => {
    expect(allowedByLeader(changed('allow'), 5)).toEqual([gpu]);
    expect(allowedByLeader(changed('allow', 'remove'), 5)).toEqual([]);
    expect(allowedByLeader(changed('allow'), LATER)).toEqual([]);
  });
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

import { expect, it } from 'vitest';
import {
  CONFLICT,
  conflictChangesInMs,
  conflictsNow,
  isBlank,
  memoryAfterReboot,
  memoryAfterRestoration,
  type NodeMemory,
  newMemory,
  rebootsPausedForMs,
} from '../../../../src/judge/node/node-memory.ts';
import { identity } from '../../../../src/kubernetes/taint.ts';
import { gpu, other } from '../request/node-updates.ts';

const LATER = CONFLICT.windowMs;
const memory = (more: Partial<NodeMemory> = {}): NodeMemory => ({ ...newMemory('u1'), ...more });
const restored = (...times: number[]) => memory({ restorations: times.map((at) => ({ taint: gpu, at })) });
const CONFLICTS = new Map([[identity(gpu), { taint: gpu, policies: ['p'] }]]);

it.each<{ why: string; more: Partial<NodeMemory>; is: boolean }>([
  { why: 'a new one', more: {}, is: true },
  { why: 'one with a restoration', more: { restorations: [{ taint: gpu, at: 0 }] }, is: false },
  { why: 'one with a conflict', more: { conflicts: CONFLICTS }, is: false },
  { why: 'one with a taint beside its entry', more: { standing: [{ taint: gpu, at: 0 }] }, is: false },
  { why: 'one with the time of deleted entries', more: { entriesEndedAt: 0 }, is: false },
  { why: 'one with a reboot', more: { reboots: [0] }, is: false },
])('a memory need not be kept: $why is $is', ({ more, is }) => {
  expect(isBlank(memory(more))).toBe(is);
});

it('a restoration is forgotten after the window, when another one is recorded', () => {
  const { restorations } = memoryAfterRestoration(restored(0, 1), [other, other], LATER);
  expect(restorations).toEqual([
    { taint: gpu, at: 1 },
    { taint: other, at: LATER },
  ]);
});

it('a reboot ends the record of the taints that it sets again, and is forgotten after the window', () => {
  const before = memory({
    restorations: [
      { taint: gpu, at: 0 },
      { taint: other, at: 0 },
    ],
    reboots: [0, 1],
  });
  expect(memoryAfterReboot(before, [gpu, { ...gpu, key: 'a' }], LATER)).toMatchObject({
    restorations: [{ taint: other, at: 0 }],
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
  const losses = ['p', 'q', 'p'].map((name) => ({ taint: gpu, policy: { name } }));
  const conflicts = conflictsNow({ ...restored(0), conflicts: CONFLICTS }, losses, 1);
  expect([...conflicts.values()]).toEqual([{ taint: gpu, policies: ['p', 'q'] }]);
});

it.each<{ why: string; times: number[]; changesInMs: number | undefined }>([
  { why: 'nothing was restored', times: [], changesInMs: undefined },
  { why: 'the first restoration leaves the window', times: [5, 7], changesInMs: CONFLICT.windowMs - 5 },
])('when a conflict changes: $why', ({ times, changesInMs }) => {
  expect(conflictChangesInMs(restored(...times), gpu, 10)).toBe(changesInMs);
});

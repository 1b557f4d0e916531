import { expect, it } from 'vitest';
import { lastRebootMsAgo, rebootsPausedForMs } from '../../../../src/judge/node/recorded-reboots.ts';
import { UNDO_BUDGET } from '../../../../src/judge/node/undone-changes.ts';
import { LATER, memory } from './memories.ts';

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

import { expect, it } from 'vitest';
import { harmOfLoss } from '../../../src/judge/harm-of-loss.ts';

it.each([
  { blockedBy: undefined, mode: 'Restore', harm: 'Repairing' },
  { blockedBy: undefined, mode: 'Deny', harm: 'Repairing' },
  { blockedBy: 'Conflict', mode: 'Restore', harm: 'Conflict' },
  { blockedBy: 'Conflict', mode: 'Audit', harm: 'Conflict' },
  { blockedBy: 'ModeDoesNotRestore', mode: 'Audit', harm: 'Reported' },
  { blockedBy: 'ModeDoesNotRestore', mode: 'Restore', harm: 'Missing' },
  { blockedBy: 'WouldEvictPods', mode: 'Deny', harm: 'Missing' },
  { blockedBy: 'ValuesDiffer', mode: 'Audit', harm: 'Missing' },
  { blockedBy: 'OtherValuePresent', mode: 'Restore', harm: 'Missing' },
] as const)('$harm: $blockedBy in mode $mode', ({ blockedBy, mode, harm }) => {
  expect(harmOfLoss(blockedBy, mode)).toBe(harm);
});

import { expect, it } from 'vitest';
import { isBlank, type NodeMemory } from '../../../../src/judge/node/node-memory.ts';
import { gpu } from '../request/node-updates.ts';
import { CONFLICTS, memory } from './memories.ts';

it.each<{ why: string; more: Partial<NodeMemory>; is: boolean }>([
  { why: 'a new one', more: {}, is: true },
  { why: 'one with a change', more: { changes: [{ taint: gpu, change: 'set', at: 0 }] }, is: false },
  { why: 'one with a conflict', more: { conflicts: CONFLICTS }, is: false },
  { why: 'one with a taint beside its entry', more: { carriedWithEntry: [{ taint: gpu, at: 0 }] }, is: false },
  { why: 'one with an entry that has expired', more: { expired: [{ taint: gpu, at: 0 }] }, is: false },
  { why: 'one with a reboot', more: { reboots: [0] }, is: false },
  { why: 'one with a record of a boot that no policy uses', more: { unusedRecord: 0 }, is: false },
  { why: 'one with a taint that was not stored', more: { unstored: { bootId: 'B', taints: [gpu] } }, is: false },
])('a memory need not be kept: $why is $is', ({ more, is }) => {
  expect(isBlank(memory(more))).toBe(is);
});

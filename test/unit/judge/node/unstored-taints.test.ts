import { describe, expect, it } from 'vitest';
import { memoryAfterWrite } from '../../../../src/judge/node/memory-after-write.ts';
import type { NodeMemory } from '../../../../src/judge/node/node-memory.ts';
import { stillUnstored } from '../../../../src/judge/node/unstored-taints.ts';
import type { StoredNode } from '../../../../src/judge/node-view.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import { cpu, gpu, other } from '../request/node-updates.ts';
import { memory, setAgain, writtenStep } from './memories.ts';

const third: Taint = { key: 'third', effect: 'NoSchedule' };

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

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import { formatTaint } from '../../../../src/kubernetes/taint.ts';
import { recordListing } from '../../judge/established.ts';
import { rule } from '../../judge/node-drifts.ts';
import { nodeEntry } from './node-entries.ts';
import { startRepair } from './repaired-nodes.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const gpu: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const starting: Taint = { key: 'boot.example.com/preparing', effect: 'NoSchedule' };
const GPU = formatTaint(gpu);
const SETTLE_MS = 600_000;
const everything = { p: rule('Restore', { key: '*', restrict: ['Removal'] }) };

const remembered = (writes: ReturnType<typeof startRepair>['writes']) =>
  writes.map(({ patch }) => patch.metadata.annotations['taintkeeper.dev/remembered']);

describe('a taint that only a wildcard means', () => {
  it('is written into the memory once it has stayed on a Ready node', async () => {
    const { writes } = startRepair(everything, [nodeEntry('n1', [gpu])]);
    await vi.advanceTimersByTimeAsync(SETTLE_MS - 1);
    expect(writes).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(remembered(writes)).toEqual([GPU]);
  });

  it('that an operator sets and takes off while the node starts never is', async () => {
    const { writes, change } = startRepair(everything, [nodeEntry('n1', [gpu, starting])]);
    await vi.advanceTimersByTimeAsync(SETTLE_MS / 2);
    change('n1', { taints: [gpu] });
    await vi.advanceTimersByTimeAsync(10 * SETTLE_MS);
    expect(remembered(writes)).toEqual([GPU]);
  });

  it.each<[what: string, change: object, back: object]>([
    ['the node was not Ready', { ready: false }, { ready: true }],
    ['the taint was gone', { taints: [] }, { taints: [gpu] }],
    ['the taint had another value', { taints: [{ ...gpu, value: 'cpu' }] }, { taints: [gpu] }],
  ])('begins anew when for a moment %s', async (_what, away, back) => {
    const { writes, change } = startRepair(everything, [nodeEntry('n1', [gpu])]);
    await vi.advanceTimersByTimeAsync(SETTLE_MS - 1_000);
    change('n1', away);
    change('n1', back);
    await vi.advanceTimersByTimeAsync(SETTLE_MS - 1);
    expect(writes).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(remembered(writes)).toEqual([GPU]);
  });

  it('is written once more, at once, when somebody takes the memory away', async () => {
    const entry = nodeEntry('n1', [gpu]);
    const known = { ...entry, value: { ...entry.value, remembered: GPU } };
    const stored = { n1: { ...recordListing(GPU), uid: entry.uid } };
    const { writes, change } = startRepair(everything, [known], { stored });
    await vi.advanceTimersByTimeAsync(0);
    change('n1', { remembered: undefined });
    await vi.advanceTimersByTimeAsync(0);
    expect(remembered(writes)).toEqual([GPU]);
  });

  it('costs nothing with --audit', async () => {
    const { writes } = startRepair(everything, [nodeEntry('n1', [gpu])], { audit: true });
    await vi.advanceTimersByTimeAsync(2 * SETTLE_MS);
    expect(writes).toEqual([]);
  });
});

it('a node with more taints than its record lists: the policy names it, until there is room', async () => {
  const many = Array.from({ length: 66 }, (_, index): Taint => ({ key: `k-${index}`, effect: 'NoSchedule' }));
  const { repair, change } = startRepair(everything, [nodeEntry('n1', many)]);
  await vi.advanceTimersByTimeAsync(SETTLE_MS);
  expect(repair.troubles()).toEqual([
    {
      kind: 'TaintPolicy',
      policy: 'p',
      reason: 'NodeRecordFull',
      message: 'a key with "*" protects at most 64 taints of a node, and these carry more: n1',
    },
  ]);
  change('n1', { taints: many.slice(0, 64) });
  await vi.advanceTimersByTimeAsync(0);
  expect(repair.troubles()).toEqual([]);
});

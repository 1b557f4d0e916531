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
const ESTABLISHED_AFTER_MS = 600_000;
const everything = { p: rule('Restore', { key: '*', restrict: ['Removal'] }) };

/** The records are written within this time. */
const PROMPT_MS = 500;

/** The taints of each record, as text. */
const recorded = ({ records }: ReturnType<typeof startRepair>) =>
  Object.values(records.all()).map(({ taints }) => taints.map(formatTaint).join(', '));

describe('a taint that only a pattern matches', () => {
  it('is recorded once it has stayed on a Ready node', async () => {
    const cluster = startRepair(everything, [nodeEntry('n1', [gpu])]);
    await vi.advanceTimersByTimeAsync(ESTABLISHED_AFTER_MS - 1);
    expect(recorded(cluster)).toEqual([]);
    await vi.advanceTimersByTimeAsync(PROMPT_MS);
    expect(recorded(cluster)).toEqual([GPU]);
    expect([cluster.records.writes(), cluster.writes]).toEqual([['POST n1'], []]);
  });

  it('that an operator sets and takes off while the node starts never is', async () => {
    const cluster = startRepair(everything, [nodeEntry('n1', [gpu, starting])]);
    await vi.advanceTimersByTimeAsync(ESTABLISHED_AFTER_MS / 2);
    cluster.change('n1', { taints: [gpu] });
    await vi.advanceTimersByTimeAsync(10 * ESTABLISHED_AFTER_MS);
    expect(recorded(cluster)).toEqual([GPU]);
  });

  it.each<[what: string, change: object, back: object]>([
    ['the node was not Ready', { ready: false }, { ready: true }],
    ['the taint was gone', { taints: [] }, { taints: [gpu] }],
    ['the taint had another value', { taints: [{ ...gpu, value: 'cpu' }] }, { taints: [gpu] }],
  ])('begins anew when for a moment %s', async (_what, away, back) => {
    const cluster = startRepair(everything, [nodeEntry('n1', [gpu])]);
    await vi.advanceTimersByTimeAsync(ESTABLISHED_AFTER_MS - 1_000);
    cluster.change('n1', away);
    cluster.change('n1', back);
    await vi.advanceTimersByTimeAsync(ESTABLISHED_AFTER_MS - 1);
    expect(recorded(cluster)).toEqual([]);
    await vi.advanceTimersByTimeAsync(PROMPT_MS);
    expect(recorded(cluster)).toEqual([GPU]);
  });

  it('is restored at once where an earlier leader recorded it', async () => {
    const { change, taintsOf } = startRepair(everything, [nodeEntry('n1', [gpu])], {
      stored: { n1: recordListing(GPU, 'uid-n1') },
    });
    await vi.advanceTimersByTimeAsync(PROMPT_MS);
    change('n1', { taints: [] });
    await vi.advanceTimersByTimeAsync(PROMPT_MS);
    expect(taintsOf('n1')).toEqual([gpu]);
  });

  it('waits anew where its record is deleted', async () => {
    const cluster = startRepair(everything, [nodeEntry('n1', [gpu])]);
    await vi.advanceTimersByTimeAsync(ESTABLISHED_AFTER_MS + PROMPT_MS);
    cluster.records.remove('n1');
    await vi.advanceTimersByTimeAsync(ESTABLISHED_AFTER_MS - 1_000);
    expect(recorded(cluster)).toEqual([]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(recorded(cluster)).toEqual([GPU]);
  });

  it('is recorded with --audit too: it is protected as soon as that ends', async () => {
    const cluster = startRepair(everything, [nodeEntry('n1', [gpu])], { audit: true });
    await vi.advanceTimersByTimeAsync(ESTABLISHED_AFTER_MS + PROMPT_MS);
    expect([recorded(cluster), cluster.writes]).toEqual([[GPU], []]);
  });
});

it('a node with more taints than its record lists: the policy names it, until there is room', async () => {
  const many = Array.from({ length: 66 }, (_, index): Taint => ({ key: `k-${index}`, effect: 'NoSchedule' }));
  const { repair, change } = startRepair(everything, [nodeEntry('n1', many)]);
  await vi.advanceTimersByTimeAsync(ESTABLISHED_AFTER_MS);
  expect(repair.problems()).toEqual([
    {
      kind: 'TaintPolicy',
      policy: 'p',
      reason: 'NodeRecordFull',
      message: 'a key with "*" protects at most 64 taints of a node, and these carry more: n1',
    },
  ]);
  change('n1', { taints: many.slice(0, 64) });
  await vi.advanceTimersByTimeAsync(0);
  expect(repair.problems()).toEqual([]);
});

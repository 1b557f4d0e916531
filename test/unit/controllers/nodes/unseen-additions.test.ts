import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ADDITION_GRACE_MS } from '../../../../src/judge/unseen-additions.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import type { TaintRule } from '../../../../src/policy/taint-rule.ts';
import { recordListing } from '../../judge/established.ts';
import { type Policies, rule } from '../../judge/node-drifts.ts';
import { nodeEntry } from './node-entries.ts';
import { startRepair } from './repaired-nodes.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const gpu: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const other: Taint = { key: 'other', effect: 'NoSchedule' };
const GPU = 'dedicated=gpu:NoSchedule';
const GUARD: TaintRule = { key: 'dedicated', restrict: ['Addition'] };
const BOTH_WAYS: TaintRule = { key: 'dedicated', restrict: ['Removal', 'Addition'] };
const NOBODY_MAY = { p: rule('Restore', GUARD) };

/** A leader that has watched the node, without the taint, for so long. */
async function watching(
  policies: Policies,
  taints: readonly Taint[] = [other],
  { recorded }: { readonly recorded?: string } = {},
) {
  const stored = recorded === undefined ? {} : { n1: recordListing(recorded, 'uid-n1') };
  const run = startRepair(policies, [nodeEntry('n1', taints)], { stored });
  await vi.advanceTimersByTimeAsync(ADDITION_GRACE_MS);
  return {
    ...run,
    async arrive(value: Parameters<typeof run.change>[1]) {
      run.change('n1', value);
      await vi.advanceTimersByTimeAsync(1);
    },
  };
}

describe('a restricted taint that came while the webhook was not called', () => {
  it('is removed if no policy exempts users, and an Event and the log report it', async () => {
    const { arrive, taintsOf, said, messages } = await watching(NOBODY_MAY);
    await arrive({ taints: [other, gpu] });
    expect(taintsOf('n1')).toEqual([other]);
    expect(said()).toEqual(['n1 TaintAdditionReverted']);
    expect(messages()).toContain(
      `Node n1: TaintPolicy p removed restricted taint ${GPU}, which was added while taintkeeper was not called`,
    );
  });

  it.each<[string, Policies, string]>([
    ['it is protected as well', { p: rule('Restore', BOTH_WAYS) }, 'is removed only with permission'],
    ['the mode is Deny', { p: rule('Deny', GUARD) }, 'the policy does not remove it in its mode'],
  ])('is told once, and stays, where %s', async (_, policies, why) => {
    const { arrive, taintsOf, said, messages } = await watching(policies);
    await arrive({ taints: [other, gpu] });
    await arrive({ labels: { a: 'b' } });
    expect(taintsOf('n1')).toEqual([other, gpu]);
    expect(said()).toEqual(['n1 TaintAdditionFound']);
    expect(messages().filter((text) => text?.includes(why))).toHaveLength(1);
  });

  it('is removed three times, and stays when another writer adds it a fourth time', async () => {
    const { arrive, taintsOf, said } = await watching(NOBODY_MAY);
    for (let time = 1; time <= 4; time++) await arrive({ taints: [other, gpu] });
    expect(taintsOf('n1')).toEqual([other, gpu]);
    expect(said()).toEqual([...Array.from({ length: 3 }, () => 'n1 TaintAdditionReverted'), 'n1 TaintAdditionFound']);
  });

  it('is left alone with --audit', async () => {
    const { change, taintsOf, said } = startRepair(NOBODY_MAY, [nodeEntry('n1')], { audit: true });
    await vi.advanceTimersByTimeAsync(ADDITION_GRACE_MS);
    change('n1', { taints: [gpu] });
    await vi.advanceTimersByTimeAsync(1);
    expect([taintsOf('n1'), said()]).toEqual([[gpu], []]);
  });
});

describe('a restricted taint is left alone', () => {
  it.each([
    { what: 'that it lost before and is recorded to carry', recorded: GPU, told: [] },
    { what: 'but not one of which nothing is recorded', recorded: undefined, told: ['n1 TaintAdditionFound'] },
  ])('$what', async ({ recorded, told }) => {
    const policies = { p: rule('Deny', BOTH_WAYS) };
    const { arrive, taintsOf, said } = await watching(policies, [], recorded === undefined ? {} : { recorded });
    await arrive({ taints: [gpu] });
    expect(taintsOf('n1')).toEqual([gpu]);
    expect(said().filter((text) => text.includes('Addition'))).toEqual(told);
  });

  it('while the records cannot be read: nothing would restore a value that was replaced', async () => {
    const policies = { ...NOBODY_MAY, q: rule('Restore', { key: '*', restrict: ['Removal'] }) };
    const { records, change, taintsOf } = startRepair(policies, [nodeEntry('n1', [other])]);
    records.refuse(403);
    await vi.advanceTimersByTimeAsync(2 * ADDITION_GRACE_MS);
    change('n1', { taints: [other, gpu] });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(taintsOf('n1')).toEqual([other, gpu]);
  });

  it('that the node had before the leader came', async () => {
    const { arrive, taintsOf } = await watching(NOBODY_MAY, [gpu]);
    await arrive({ labels: { a: 'b' } });
    expect(taintsOf('n1')).toEqual([gpu]);
  });

  it('of another node of the same name', async () => {
    const { cluster, repair, taintsOf } = await watching(NOBODY_MAY);
    cluster.set('n1', nodeEntry('n1', [gpu], 'another'));
    repair.nodeChanged('n1');
    await vi.advanceTimersByTimeAsync(ADDITION_GRACE_MS);
    expect(taintsOf('n1')).toEqual([gpu]);
  });
});

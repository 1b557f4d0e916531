import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FORGET_CARRIED_MS, FORGET_GONE_MS } from '../../../../src/controllers/nodes/node-memories.ts';
import { UNKNOWN_MACHINE } from '../../../../src/kubernetes/machine.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import { type Policies, rule } from '../../judge/node-drifts.ts';
import { nodeEntry } from './node-entries.ts';
import { startRepair } from './repaired-nodes.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const GPU = 'dedicated=gpu:NoSchedule';
const gpu: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const deny: Policies = { p: rule('Deny', { key: 'dedicated', restrict: ['Removal'] }) };
const audit: Policies = { p: rule('Audit', { key: 'dedicated', restrict: ['Removal'] }) };
const restore: Policies = { p: rule('Restore', { key: 'dedicated', restrict: ['Removal'] }) };
const NAMES = ['n1', 'n2', 'n3'];

const remembering = (taints: readonly Taint[]) =>
  NAMES.map((name) => {
    const node = nodeEntry(name, [...taints]);
    return { ...node, value: { ...node.value, remembered: GPU } };
  });
/** The records of the nodes, as an earlier leader wrote them. */
const stored = Object.fromEntries(
  remembering([gpu]).map(({ name, uid }) => [
    name,
    { uid, machine: UNKNOWN_MACHINE, taints: [{ ...gpu, value: 'gpu', policies: ['p'] }] },
  ]),
);
const settle = () => vi.advanceTimersByTimeAsync(10_000);
const HOUR_MS = FORGET_CARRIED_MS;

describe('what nodes carry and remember', () => {
  it('is not written anew when a mode changes back and forth, however late', async () => {
    const { writes, setPolicies } = startRepair(deny, remembering([gpu]));
    for (const policies of [audit, deny, audit, deny]) {
      setPolicies(policies);
      await vi.advanceTimersByTimeAsync(2 * HOUR_MS);
    }
    expect(writes).toEqual([]);
  });

  it('is not written anew when a policy is deleted and created again within the hour', async () => {
    const { writes, setPolicies } = startRepair(deny, remembering([gpu]));
    await settle();
    for (let round = 0; round < 3; round++) {
      setPolicies({});
      await vi.advanceTimersByTimeAsync(0.9 * HOUR_MS);
      setPolicies(deny);
      await settle();
    }
    expect(writes).toEqual([]);
  });

  it('is forgotten once, when no policy has had it for an hour', async () => {
    const { writes, cluster } = startRepair({}, remembering([gpu]));
    await vi.advanceTimersByTimeAsync(0.9 * HOUR_MS);
    expect(writes).toEqual([]);
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    expect(writes.map(({ name }) => name)).toEqual(NAMES);
    expect([...cluster.values()].map(({ value }) => [value.taints, value.remembered])).toEqual(
      NAMES.map(() => [[gpu], undefined]),
    );
  });

  it('is not forgotten while a policy is not known, and has its hour from then on', async () => {
    let isComplete = false;
    const { writes } = startRepair({}, remembering([gpu]), { isComplete: () => isComplete });
    await vi.advanceTimersByTimeAsync(3 * HOUR_MS);
    isComplete = true;
    await vi.advanceTimersByTimeAsync(0.9 * HOUR_MS);
    expect(writes).toEqual([]);
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    expect(writes).toHaveLength(NAMES.length);
  });

  it('of a node that was created anew under the same name has an hour of its own', async () => {
    const { writes, cluster, repair } = startRepair({}, remembering([gpu]));
    await vi.advanceTimersByTimeAsync(0.9 * HOUR_MS);
    const before = cluster.get('n1');
    if (!before) throw new Error('no node n1');
    cluster.set('n1', { ...before, uid: 'another' });
    repair.nodeChanged('n1');
    await vi.advanceTimersByTimeAsync(0.5 * HOUR_MS);
    expect(writes.map(({ name }) => name)).toEqual(['n2', 'n3']);
  });
});

describe('what nodes remember and do not carry', () => {
  it('is forgotten soon where a policy only watches, once, and does not come back with the policy', async () => {
    const { change, writes, taintsOf, setPolicies } = startRepair(audit, remembering([gpu]));
    await settle();
    change('n1', { taints: [] });
    await vi.advanceTimersByTimeAsync(FORGET_GONE_MS / 2);
    expect(writes).toEqual([]);
    await vi.advanceTimersByTimeAsync(FORGET_GONE_MS);
    expect(writes.map(({ name }) => name)).toEqual(['n1']);
    setPolicies(restore);
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    expect(taintsOf('n1')).toEqual([]);
    expect(writes).toHaveLength(1);
  });

  it('is still missed by a policy that was replaced in one go', async () => {
    const { writes, taintsOf, setPolicies } = startRepair(deny, remembering([]), { stored });
    await settle();
    setPolicies({});
    await vi.advanceTimersByTimeAsync(FORGET_GONE_MS / 2);
    setPolicies(deny);
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    expect(writes).toEqual([]);
    setPolicies(restore);
    await settle();
    expect(taintsOf('n1')).toEqual([gpu]);
  });

  it('has its time anew when it was carried for a while', async () => {
    const { change, writes, setPolicies } = startRepair({}, remembering([gpu]));
    await vi.advanceTimersByTimeAsync(0.5 * HOUR_MS);
    change('n1', { taints: [] });
    await vi.advanceTimersByTimeAsync(FORGET_GONE_MS / 2);
    expect(writes).toEqual([]);
    change('n1', { taints: [gpu] });
    await settle();
    setPolicies(deny);
    await settle();
    expect(writes).toEqual([]);
  });

  it('comes back when the policy that was not known is', async () => {
    let isComplete = false;
    const { taintsOf, setPolicies } = startRepair({}, remembering([]), {
      isComplete: () => isComplete,
      stored,
    });
    await vi.advanceTimersByTimeAsync(2 * HOUR_MS);
    isComplete = true;
    setPolicies(restore);
    await settle();
    expect(taintsOf('n1')).toEqual([{ ...gpu }]);
  });
});

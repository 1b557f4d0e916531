import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import type { ClusterNode } from '../../../../src/cluster/objects/cluster-objects.ts';
import type { Entry } from '../../../../src/cluster/watch/cached-objects.ts';
import type { TaintRule } from '../../../../src/policy/taint-rule.ts';
import type { Policies } from '../../judge/node-drifts.ts';
import { nodeEntry } from './node-entries.ts';
import { startRepair } from './repaired-nodes.ts';

const ANNOTATION = 'taintkeeper.dev/startup-boot';
const TAINT = { key: 'example.com/network', effect: 'NoSchedule' } as const;
const RULE: TaintRule = {
  ...TAINT,
  ensure: 'UntilReady',
  readyWhen: { allocatable: [{ resource: 'example.com/gpu' }] },
  afterReboot: 'SetAgain',
};
const POLICIES: Policies = { p: { mode: 'Restore', taints: [RULE] } };

const entry = (name: string, value: Partial<ClusterNode>): Entry<ClusterNode> => {
  const bare = nodeEntry(name);
  return { ...bare, value: { ...bare.value, resources: ['example.com/gpu'], ...value } };
};
const named = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`);

beforeEach(() => void vi.useFakeTimers({ now: Date.parse('2026-11-28T12:00:00Z') }));
afterEach(() => void vi.useRealTimers());

it.each([
  { why: 'nodes without a record, under a new policy: no taint', startupBoot: undefined, taints: 0 },
  { why: 'records of earlier boots, which no leader has seen', startupBoot: { bootId: 'A' }, taints: 1 },
])('writes five boots a second of those that a list shows: $why', async ({ startupBoot, taints }) => {
  const value = { bootId: 'B', ...(startupBoot ? { startupBoot } : {}) };
  const { writes } = startRepair(
    POLICIES,
    named(1_000).map((name) => entry(name, value)),
  );
  const perSecond: number[] = [];
  for (let second = 0; second < 10; second++) {
    const before = writes.length;
    await vi.advanceTimersByTimeAsync(1_000);
    perSecond.push(writes.length - before);
  }
  // The first one waits for no turn.
  expect(Math.max(...perSecond.slice(1))).toBeLessThanOrEqual(5);
  expect(writes.length).toBeGreaterThanOrEqual(45);
  expect(writes.length).toBeLessThanOrEqual(51);
  for (const { patch } of writes) {
    expect(patch.metadata.annotations[ANNOTATION]?.split(' ')[0]).toBe('B');
    expect(patch.spec?.taints ?? []).toHaveLength(taints);
  }
});

it('writes the reboots that the watch shows at once, however many wait for their turns', async () => {
  const { writes, change } = startRepair(POLICIES, [
    ...named(100).map((name) => entry(name, { bootId: 'B' })),
    entry('rebooting', { bootId: 'A', startupBoot: { bootId: 'A' } }),
  ]);
  await vi.advanceTimersByTimeAsync(1_000);
  writes.splice(0);
  change('rebooting', { bootId: 'B' });
  await vi.advanceTimersByTimeAsync(10);
  expect(writes.filter(({ name }) => name === 'rebooting').map(({ patch }) => patch)).toMatchObject([
    {
      metadata: { annotations: { [ANNOTATION]: expect.stringMatching(/^B 2026-11-28T12:00:0[12]Z$/) } },
      spec: { taints: [TAINT] },
    },
  ]);
});

it('writes one that came too soon after others as soon as the pause ends, however many wait for their turns', async () => {
  const { writes, change } = startRepair(POLICIES, [entry('n1', { bootId: 'A', startupBoot: { bootId: 'A' } })]);
  await vi.advanceTimersByTimeAsync(10);
  for (const bootId of ['B', 'C', 'D', 'E']) {
    change('n1', { bootId });
    await vi.advanceTimersByTimeAsync(10);
  }
  await vi.advanceTimersByTimeAsync(590_000);
  expect(writes).toHaveLength(3);
  for (const name of named(100).slice(2)) change(name, { bootId: 'B', resources: ['example.com/gpu'] });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(writes.filter(({ name }) => name === 'n1')).toHaveLength(4);
});

it('a list shows one after a lost watch: it waits for its turn', async () => {
  const { writes, change } = startRepair(POLICIES, [
    ...named(20).map((name) => entry(name, { bootId: 'B' })),
    entry('rebooting', { bootId: 'A', startupBoot: { bootId: 'A' } }),
  ]);
  await vi.advanceTimersByTimeAsync(10);
  change('rebooting', { bootId: 'B' }, { isListed: true });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(writes.some(({ name }) => name === 'rebooting')).toBe(false);
  await vi.advanceTimersByTimeAsync(4_000);
  expect(writes.some(({ name }) => name === 'rebooting')).toBe(true);
});

it('removes the taint 30 seconds after it has set it again, and tells of both', async () => {
  const { change, events, taintsOf } = startRepair(
    POLICIES,
    [entry('n1', { bootId: 'A', startupBoot: { bootId: 'A' } })],
    { now: () => new Date() },
  );
  await vi.advanceTimersByTimeAsync(10);
  change('n1', { bootId: 'B' });
  await vi.advanceTimersByTimeAsync(10);
  expect(taintsOf('n1')).toEqual([TAINT]);
  await vi.advanceTimersByTimeAsync(30_500);
  expect(taintsOf('n1')).toEqual([TAINT]);
  await vi.advanceTimersByTimeAsync(600);
  expect(taintsOf('n1')).toEqual([]);
  expect(events.map(({ reason, note }) => `${reason}: ${note}`)).toEqual([
    'TaintAdded: added startup taint example.com/network:NoSchedule again: the node has rebooted',
    'StartupTaintRemoved: removed startup taint example.com/network:NoSchedule: resource example.com/gpu is allocatable',
  ]);
});

describe('a taint that a mutating webhook removes from the write after a reboot', () => {
  const rebooted = async (undoes: number) => {
    const started = startRepair(POLICIES, [entry('n1', { bootId: 'A', startupBoot: { bootId: 'A' } })]);
    await vi.advanceTimersByTimeAsync(10);
    for (let times = 0; times < undoes; times++) started.mutation.mockImplementationOnce(() => []);
    started.change('n1', { bootId: 'B' });
    await vi.advanceTimersByTimeAsync(2_000);
    return started;
  };
  const reasons = ({ repair }: { readonly repair: ReturnType<typeof startRepair>['repair'] }) =>
    repair.problems().map(({ reason }) => reason);

  it('is sent three times, and reported as long as the conflict lasts', async () => {
    const started = await rebooted(10);
    const { writes, said } = started;
    expect(writes.map(({ patch }) => patch.spec?.taints)).toEqual(Array(3).fill([TAINT]));
    expect(writes.map(({ patch }) => ANNOTATION in patch.metadata.annotations)).toEqual([true, false, false]);
    expect(said()).toEqual(['n1 TaintConflict']);
    expect(reasons(started)).toEqual(['TaintConflict', 'StartupTaintRefused']);
    await vi.advanceTimersByTimeAsync(590_000);
    expect(reasons(started)).toEqual(['TaintConflict', 'StartupTaintRefused']);
    // What the taint waits for holds by then.
    await vi.advanceTimersByTimeAsync(20_000);
    expect(reasons(started)).toEqual([]);
    expect(writes).toHaveLength(3);
  });

  it('is set once the webhook leaves it, and stays off if a user removes it then', async () => {
    const started = await rebooted(1);
    const { writes, said, change, taintsOf } = started;
    expect(taintsOf('n1')).toEqual([TAINT]);
    expect(said()).toEqual(['n1 TaintAdded']);
    expect(reasons(started)).toEqual([]);
    change('n1', { taints: [] });
    await vi.advanceTimersByTimeAsync(600_000);
    expect(writes).toHaveLength(2);
  });

  it('is not set again once readyWhen has held: the node may have run for weeks', async () => {
    const { writes, change, repair } = await rebooted(3);
    await vi.advanceTimersByTimeAsync(40_000);
    change('n1', { ready: true });
    await vi.advanceTimersByTimeAsync(700_000);
    change('n1', { resources: [] });
    await vi.advanceTimersByTimeAsync(700_000);
    expect(writes).toHaveLength(3);
    expect(repair.problems()).toEqual([]);
  });

  it('belongs to that boot', async () => {
    const { writes, change } = await rebooted(1);
    change('n1', { bootId: 'C', taints: [] });
    await vi.advanceTimersByTimeAsync(10);
    expect(writes).toHaveLength(3);
    change('n1', { taints: [] });
    await vi.advanceTimersByTimeAsync(600_000);
    expect(writes).toHaveLength(3);
  });
});

it('each boot in which the taint waits past its deadline is an Event', async () => {
  const { change, events } = startRepair(
    POLICIES,
    [entry('n1', { bootId: 'A', startupBoot: { bootId: 'A' }, taints: [TAINT], resources: [], ready: true })],
    { now: () => new Date() },
  );
  const remains = () => events.filter(({ reason }) => reason === 'StartupTaintRemains').length;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(remains()).toBe(1);
  for (const [index, bootId] of ['B', 'C'].entries()) {
    change('n1', { bootId });
    await vi.advanceTimersByTimeAsync(599_000);
    expect(remains()).toBe(index + 1);
    await vi.advanceTimersByTimeAsync(700_000);
    expect(remains()).toBe(index + 2);
  }
});

it('a record that is refused is reported, because the taint that the node still has waits for it', async () => {
  const before = { taints: [TAINT], resources: [], bootId: 'A', startupBoot: { bootId: 'A' } };
  const { repair, change, beforeWrite, writes } = startRepair(POLICIES, [entry('n1', before)]);
  await vi.advanceTimersByTimeAsync(1_000);
  beforeWrite.mockImplementation(() => {
    throw new ApiError('PATCH', '', 422, 'Invalid', 'metadata.annotations: Too long');
  });
  change('n1', { ...before, bootId: 'B' });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(writes.at(-1)?.patch.spec?.taints).toBeUndefined();
  expect(repair.problems()).toMatchObject([{ policy: 'p', reason: 'StartupTaintRefused' }]);
  beforeWrite.mockReset();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(repair.problems()).toEqual([]);
});

it('a kubelet that restarts without a reboot, and a boot that is not reported, change nothing', async () => {
  const { writes, change } = startRepair(POLICIES, [entry('n1', { bootId: 'A', startupBoot: { bootId: 'A' } })]);
  await vi.advanceTimersByTimeAsync(1_000);
  change('n1', { ready: false });
  change('n1', { ready: true, resources: [] });
  const { bootId: _, ...without } = entry('n1', { bootId: 'A', startupBoot: { bootId: 'A' } }).value;
  change('n1', { ...without, bootId: undefined } as never);
  change('n1', { bootId: 'A' });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(writes).toEqual([]);
});

describe('a node that needs no turn any more gives its place to those behind it', () => {
  const unrecorded = (count: number) => named(count).map((name) => entry(name, { bootId: 'B' }));
  const fewLabels = { pool: 'few' };
  const few: Policies = { few: { ...POLICIES.p, nodeSelector: { matchLabels: fewLabels } } as Policies[string] };

  it.each<{ why: string; next: Policies; least: number }>([
    { why: 'the policy is there again', next: POLICIES, least: 45 },
    { why: 'another policy is for ten nodes', next: few, least: 10 },
  ])('a policy for many nodes is deleted after some seconds: $why', async ({ next, least }) => {
    const { writes, setPolicies } = startRepair(POLICIES, [
      ...unrecorded(990),
      ...named(10).map((name) => entry(`few-${name}`, { bootId: 'B', labels: fewLabels })),
    ]);
    for (let round = 0; round < 3; round++) {
      await vi.advanceTimersByTimeAsync(2_000);
      setPolicies({});
      await vi.advanceTimersByTimeAsync(2_000);
      setPolicies(POLICIES);
    }
    setPolicies({});
    await vi.advanceTimersByTimeAsync(2_000);
    writes.splice(0);
    setPolicies(next);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(writes.length).toBeGreaterThanOrEqual(least);
    expect(writes.length).toBeLessThanOrEqual(51);
  });

  it('a node that reports its boot ID and withdraws it repeatedly delays no other node', async () => {
    const { writes, change } = startRepair(POLICIES, [...unrecorded(20), entry('toggling', {})]);
    await vi.advanceTimersByTimeAsync(100);
    for (let times = 0; times < 100; times++) {
      change('toggling', { bootId: 'B' });
      await vi.advanceTimersByTimeAsync(5);
      change('toggling', { bootId: undefined } as never);
      await vi.advanceTimersByTimeAsync(5);
    }
    change('last', { bootId: 'B', resources: ['example.com/gpu'] });
    await vi.advanceTimersByTimeAsync(4_000);
    expect(writes.some(({ name }) => name === 'last')).toBe(true);
  });

  it('a node that is deleted delays no other node', async () => {
    const { writes, change, remove } = startRepair(POLICIES, unrecorded(1_000));
    await vi.advanceTimersByTimeAsync(100);
    for (const name of named(1_000)) remove(name);
    change('last', { bootId: 'B', resources: ['example.com/gpu'] });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(writes.some(({ name }) => name === 'last')).toBe(true);
  });
});

describe('a policy that is new on nodes with the record of an earlier policy', () => {
  const OTHER: Policies = {
    q: { mode: 'Restore', taints: [{ ...RULE, key: 'example.com/storage' }] },
  };

  it.each<{ why: string; ended: Policies }>([
    { why: 'deleted', ended: {} },
    { why: 'set to Audit', ended: { p: { ...POLICIES.p, mode: 'Audit' } as Policies[string] } },
    {
      why: 'changed to Ignore',
      ended: { p: { mode: 'Restore', taints: [{ ...RULE, afterReboot: 'Ignore' }] } },
    },
  ])('taints no running node that rebooted in between: the earlier one was $why', async ({ ended }) => {
    const { writes, change, setPolicies, taintsOf } = startRepair(POLICIES, [
      entry('n1', { bootId: 'A', startupBoot: { bootId: 'A' }, ready: true }),
    ]);
    await vi.advanceTimersByTimeAsync(1_000);
    setPolicies(ended);
    await vi.advanceTimersByTimeAsync(9_500);
    expect(writes).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(writes.map(({ patch }) => patch)).toMatchObject([{ metadata: { annotations: { [ANNOTATION]: null } } }]);
    change('n1', { bootId: 'B' });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(writes).toHaveLength(1);
    setPolicies(OTHER);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(taintsOf('n1')).toEqual([]);
    expect(writes.at(-1)?.patch.metadata.annotations).toEqual({ [ANNOTATION]: 'B' });
    expect(writes).toHaveLength(2);
  });

  it('the records are deleted at five nodes a second, also by a leader that starts after the policy has ended', async () => {
    const value = { bootId: 'A', startupBoot: { bootId: 'A' } };
    const { writes } = startRepair({}, [
      ...named(100).map((name) => entry(name, value)),
      entry('none', { bootId: 'A' }),
    ]);
    await vi.advanceTimersByTimeAsync(9_900);
    expect(writes).toEqual([]);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(writes.length).toBeGreaterThanOrEqual(20);
    expect(writes.length).toBeLessThanOrEqual(27);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(writes).toHaveLength(100);
    expect(writes.some(({ name }) => name === 'none')).toBe(false);
  });

  const pool = (name: string): Policies => ({
    [name]: { ...POLICIES.p, nodeSelector: { matchLabels: { pool: name } } } as Policies[string],
  });
  const inPool = (name: string, node: string) =>
    entry(node, { bootId: 'A', startupBoot: { bootId: 'A' }, labels: { pool: name } });
  const atNode = (node: string, writes: ReturnType<typeof startRepair>['writes']) =>
    writes.filter(({ name }) => name === node).map(({ patch }) => patch.metadata.annotations[ANNOTATION]);

  it('a reboot that a list shows on the nodes of another policy does not wait for these deletions', async () => {
    const { writes, change, setPolicies } = startRepair({ ...pool('many'), ...pool('few') }, [
      ...named(1_000).map((name) => inPool('many', name)),
      inPool('few', 'rebooting'),
    ]);
    await vi.advanceTimersByTimeAsync(1_000);
    setPolicies(pool('few'));
    await vi.advanceTimersByTimeAsync(11_000);
    expect(writes.length).toBeGreaterThan(3);
    change('rebooting', { bootId: 'B' }, { isListed: true });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(atNode('rebooting', writes)).toEqual([expect.stringMatching(/^B /)]);
  });

  it('a node that waits for its deletion, and is selected again, waits with the reboots', async () => {
    const { writes, change, setPolicies } = startRepair(pool('many'), [
      ...named(1_000).map((name) => inPool('many', name)),
    ]);
    await vi.advanceTimersByTimeAsync(1_000);
    setPolicies({});
    await vi.advanceTimersByTimeAsync(11_000);
    setPolicies(pool('few'));
    change('n999', { bootId: 'B', labels: { pool: 'few' } }, { isListed: true });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(atNode('n999', writes)).toEqual([expect.stringMatching(/^B /)]);
    await vi.advanceTimersByTimeAsync(300_000);
    expect(atNode('n999', writes)).not.toContain(null);
  });
});

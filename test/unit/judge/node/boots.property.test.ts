import fc from 'fast-check';
import { expect, it } from 'vitest';
import { newMemory } from '../../../../src/judge/node/node-memory.ts';
import { nodeStep } from '../../../../src/judge/node/node-step.ts';
import { rebootsPausedForMs } from '../../../../src/judge/node/recorded-reboots.ts';
import { UNDO_BUDGET } from '../../../../src/judge/node/undone-changes.ts';
import type { StoredNode } from '../../../../src/judge/node-view.ts';
import { unmet } from '../../../../src/judge/startup/blocker.ts';
import { SETTLING_MS } from '../../../../src/judge/startup/reboot.ts';
import { checkUntilAllOccurred } from '../../../rounds.ts';
import { policySet } from '../../policy/policies.ts';
import {
  elapse,
  lead,
  type ModelCluster,
  type ModelLeader,
  type ModelWrite,
  newCluster,
  newLeader,
  register,
  withNode,
} from './model-cluster.ts';
import { KUBELET } from './node-sequences.ts';

const NODE = 'n1';
const TAINT = { key: 'example.com/network', effect: 'NoSchedule' } as const;
const POLICIES = policySet({
  taint: {
    network: {
      mode: 'Restore',
      taints: [
        {
          ...TAINT,
          ensure: 'UntilReady',
          afterReboot: 'SetAgain',
          readyWhen: { daemonSets: [{ namespace: 'kube-system', name: 'cni' }] },
        },
      ],
    },
  },
});
/** Longer than everything that a leader waits for. */
const QUIET_MS = 3 * UNDO_BUDGET.windowMs;

type Action =
  /** The kubelet reports another boot. The agent is not Ready in it, and the API server says so after a while. */
  | { readonly do: 'reboot'; readonly ready: boolean; readonly rewrittenInMs: number }
  /** It reports an earlier boot ID, or none. */
  | { readonly do: 'report'; readonly boot: 'earlier' | 'none' }
  | { readonly do: 'node'; readonly ready: boolean }
  | { readonly do: 'agent'; readonly ready: boolean }
  | { readonly do: 'remove' }
  | { readonly do: 'leader'; readonly next: 'none' | 'new' }
  | { readonly do: 'time'; readonly ms: number };

interface World {
  readonly cluster: ModelCluster;
  readonly leader: ModelLeader | undefined;
  readonly boots: readonly string[];
  /** Whether the agent of this boot is Ready. */
  readonly isReady: boolean;
  /** When the API server no longer shows the pods of the boot before. Undefined once it does not. */
  readonly rewrittenAt: number | undefined;
  /** The boot ID is an earlier one: what the API server shows may be of any boot. */
  readonly isForged: boolean;
  /** When this leader recorded a reboot. */
  readonly recordedAt: readonly number[];
}

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('reboot' as const),
      ready: fc.boolean(),
      rewrittenInMs: fc.constantFrom(0, 1_000, SETTLING_MS - 1),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('report' as const),
      boot: fc.constantFrom('earlier' as const, 'none' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('node' as const), ready: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('agent' as const), ready: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant<Action>({ do: 'remove' }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('leader' as const),
      next: fc.constantFrom('none' as const, 'new' as const, 'new' as const),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('time' as const),
      ms: fc.constantFrom(1_000, SETTLING_MS - 1_000, SETTLING_MS, 700_000),
    }),
  },
);

const nodeOf = ({ nodes }: ModelCluster) => nodes.get(NODE) as StoredNode;
const hasTaint = ({ taints }: Pick<StoredNode, 'taints'>) => taints.some(({ key }) => key === TAINT.key);

function start(): World {
  const registered = register(newCluster(POLICIES), KUBELET, NODE, { bootId: 'boot-0', ready: false });
  expect(nodeOf(registered)).toMatchObject({ taints: [TAINT], startupBoot: { bootId: 'boot-0' } });
  return {
    cluster: registered,
    leader: newLeader(POLICIES),
    boots: ['boot-0'],
    isReady: false,
    rewrittenAt: undefined,
    isForged: false,
    recordedAt: [],
  };
}

const withChange = (world: World, change: Partial<StoredNode>): World => ({
  ...world,
  cluster: withNode(world.cluster, { ...nodeOf(world.cluster), ...change }),
});

const withShown = (world: World, isReady: boolean): World => ({
  ...world,
  cluster: { ...world.cluster, ready: new Set(isReady ? [NODE] : []) },
});

function act(world: World, one: Action, occurred: string[]): World {
  switch (one.do) {
    case 'reboot': {
      const bootId = `boot-${world.boots.length}`;
      const rewrittenAt = world.cluster.now + one.rewrittenInMs;
      const after = withChange({ ...world, boots: [...world.boots, bootId] }, { bootId, ready: one.ready });
      return { ...after, isReady: false, isForged: false, rewrittenAt };
    }
    case 'report': {
      const [bootId] = one.boot === 'none' ? [] : world.boots;
      const { bootId: _, ...node } = nodeOf(world.cluster);
      const cluster = withNode(world.cluster, bootId === undefined ? node : { ...node, bootId });
      return { ...world, cluster, isForged: true };
    }
    case 'node':
      return withChange(world, { ready: one.ready });
    case 'agent':
      return { ...withShown(world, one.ready), isReady: one.ready, rewrittenAt: undefined };
    case 'remove':
      return withChange(world, { taints: [] });
    case 'leader':
      return { ...world, leader: one.next === 'none' ? undefined : newLeader(POLICIES), recordedAt: [] };
    case 'time':
      return pass(world, one.ms, occurred);
  }
}

/** Time passes until the API server shows this boot, and then the rest. */
function pass(world: World, ms: number, occurred: string[]): World {
  const until = world.cluster.now + ms;
  const { rewrittenAt = Infinity } = world;
  const first = wait(world, Math.max(0, Math.min(until, rewrittenAt) - world.cluster.now), occurred);
  if (rewrittenAt > until) return first;
  const shown = react({ ...withShown(first, first.isReady), rewrittenAt: undefined }, occurred);
  return wait(shown, until - shown.cluster.now, occurred);
}

function wait(world: World, ms: number, occurred: string[]): World {
  const { cluster, leaders, writes } = elapse(world.cluster, world.leader ? [world.leader] : [], ms);
  return check({ ...world, cluster, leader: leaders[0] }, writes, occurred);
}

/** The leader sees each change. */
function react(world: World, occurred: string[]): World {
  if (!world.leader) return world;
  const { cluster, leader, writes } = lead(world.cluster, world.leader);
  return check({ ...world, cluster, leader }, writes, occurred);
}

function check(world: World, writes: readonly ModelWrite[], occurred: string[]): World {
  let { recordedAt } = world;
  for (const { at, before, stored } of writes) {
    if (!stored) throw new Error('a write of the leader is refused');
    const { bootId, startupBoot } = before;
    if (hasTaint(before) && !hasTaint(stored)) {
      occurred.push(startupBoot?.setAt === undefined ? 'removed' : 'removed after a reboot');
      if (bootId !== undefined) expect(startupBoot?.bootId).toBe(bootId);
      if (bootId !== undefined && startupBoot?.setAt !== undefined) {
        expect(before.ready).toBe(true);
        expect(at).toBeGreaterThanOrEqual(startupBoot.setAt + SETTLING_MS);
      }
      if (!world.isForged) expect(world.isReady).toBe(true);
    }
    if (!hasTaint(before) && hasTaint(stored)) {
      occurred.push('set again');
      expect(startupBoot?.bootId).not.toBe(bootId);
      expect(stored.startupBoot).toEqual({ bootId, setAt: at });
    }
    if (startupBoot?.bootId === stored.startupBoot?.bootId) continue;
    if (hasTaint(before)) occurred.push('rebooted while it waits');
    expect(hasTaint(stored)).toBe(true);
    recordedAt = [...recordedAt.filter((one) => at - one < UNDO_BUDGET.windowMs), at];
    expect(recordedAt.length).toBeLessThanOrEqual(UNDO_BUDGET.limit);
  }
  checkNextLeader({ ...world, recordedAt }, occurred);
  return { ...world, recordedAt };
}

/** A new leader writes the same, unless this one pauses. */
function checkNextLeader({ cluster, leader }: World, occurred: string[]): void {
  const memory = leader?.memories.get(NODE);
  if (!leader) return;
  if (memory !== undefined && rebootsPausedForMs(memory, cluster.now) > 0) {
    occurred.push('paused');
    return;
  }
  const node = nodeOf(cluster);
  const desiredWith = (known: typeof memory) =>
    nodeStep(node, known, {
      policies: POLICIES.taintPolicies,
      blockers: () => (cluster.ready.has(NODE) ? [] : [unmet('its pod is not Ready')]),
      isComplete: true,
      now: cluster.now,
      apiTime: cluster.now,
    }).desired;
  expect(desiredWith(newMemory(node.uid ?? ''))).toEqual(desiredWith(memory));
}

it('in any sequence of boots, the taint is off only once the agent of this boot was Ready, or by hand', async () => {
  await checkUntilAllOccurred(
    fc.array(action, { minLength: 5, maxLength: 40, size: 'max' }),
    (actions) => {
      const occurred: string[] = [];
      const end = actions.reduce((world, one) => react(act(world, one, occurred), occurred), start());
      const settled = [
        { do: 'leader', next: 'new' },
        { do: 'node', ready: true },
        { do: 'agent', ready: true },
        { do: 'time', ms: QUIET_MS },
      ] as const;
      const { cluster } = settled.reduce<World>((world, one) => react(act(world, one, occurred), occurred), end);
      const { taints, bootId, startupBoot } = nodeOf(cluster);
      expect(taints).toEqual([]);
      if (bootId !== undefined) expect(startupBoot?.bootId).toBe(bootId);
      return occurred;
    },
    {
      numRuns: 1_000,
      usualSeed: 70,
      all: ['removed', 'removed after a reboot', 'set again', 'rebooted while it waits', 'paused'],
    },
  );
});

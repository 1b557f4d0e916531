import { describe, expect, it } from 'vitest';
import type { ClusterNode } from '../../../../src/cluster/objects/cluster-objects.ts';
import { watchRollouts } from '../../../../src/controllers/daemon-sets/rollout-watch.ts';
import type { SchedulingView } from '../../../../src/scheduling/coverage.ts';
import type { Rollout } from '../../../../src/scheduling/rollout.ts';

const DAY = 86_400;
const SECOND = 1_000;
/** The time of the API server at second 0. */
const START = Date.parse('2026-11-22T12:00:00Z');
const timesAt = (second: number) => ({ now: second * SECOND, apiTime: START + second * SECOND });
const rollout = (status: Partial<Rollout['status']> = {}, generation = 2): Rollout & SchedulingView => ({
  ...{ namespace: 'kube-system', name: 'cni', hostNetwork: true, tolerations: [] },
  ...{ nodeName: '', nodeSelector: { pool: 'main' }, nodeAffinity: undefined },
  ...{ generation, onDelete: false },
  status: { observedGeneration: generation, desired: 5, current: 5, updated: 5, unavailable: 0, ...status },
});

type Seen = readonly [seconds: number, rollout: Rollout & SchedulingView, unready?: readonly string[]];

/** Nodes that are not Ready, `POOL/NAME`. */
function unreadyNodes(names: readonly string[] = []): Map<string, ClusterNode> {
  const nodes = names.map((text): ClusterNode => {
    const [pool = '', name = ''] = text.split('/');
    return { name, labels: { pool }, taints: [], allowRemoval: undefined, ready: false };
  });
  return new Map(nodes.map((node) => [node.name, node]));
}

/** What is seen, by the second, and what is said of the last of them. */
function follow(...seen: readonly Seen[]) {
  const watch = watchRollouts({ stableMs: 10 * SECOND, stalledMs: 600 * SECOND });
  return seen.map(([at, one, unready]) => watch.observe('uid', one, unreadyNodes(unready), timesAt(at))).at(-1);
}

it('is stable once it has been healthy for a while', () => {
  expect(follow([0, rollout()])).toEqual({ rolledOut: true, stable: false, stalled: false, changesInMs: 10 * SECOND });
  expect(follow([0, rollout()], [9, rollout()])).toMatchObject({ stable: false, changesInMs: 1 * SECOND });
  expect(follow([0, rollout()], [10, rollout()])).toMatchObject({ stable: true, changesInMs: Infinity });
});

it.each([
  { why: 'a pod that crashes', between: rollout({ unavailable: 1 }), last: rollout() },
  { why: 'another template', between: rollout({}, 3), last: rollout({}, 3) },
])('$why begins the while anew', ({ between, last }) => {
  expect(follow([0, rollout()], [8, between], [16, last])).toMatchObject({ stable: false });
  expect(follow([0, rollout()], [8, between], [16, last], [26, last])).toMatchObject({ stable: true });
});

it('is stalled when nothing has moved for long', () => {
  const stuck = rollout({ updated: 1, unavailable: 1 });
  expect(follow([0, stuck], [599, stuck])).toMatchObject({ stalled: false, changesInMs: 1 * SECOND });
  expect(follow([0, stuck], [600, stuck])).toMatchObject({ stalled: true, rolledOut: false });
});

it.each([
  { why: 'one more pod is replaced', next: rollout({ updated: 2, unavailable: 1 }), progress: true },
  { why: 'fewer are unavailable than ever', next: rollout({ updated: 1, unavailable: 0 }), progress: true },
  { why: 'more are unavailable', next: rollout({ updated: 1, unavailable: 2 }), progress: false },
  { why: 'a node joins', next: rollout({ updated: 1, unavailable: 1, desired: 6 }), progress: false },
])('$why: progress, $progress', ({ next, progress }) => {
  const stuck = rollout({ updated: 1, unavailable: 1 });
  expect(follow([0, stuck], [500, next], [700, next])).toMatchObject({ stalled: !progress });
});

it('is stalled also while its pods crash in turns', () => {
  const [up, down] = [rollout(), rollout({ unavailable: 1 })];
  const seen = Array.from({ length: 120 }, (_, index) => [index * 6, index % 2 ? up : down] as const);
  expect(follow(...seen)).toMatchObject({ stable: false, stalled: true });
});

it('what was well for days is not stalled as soon as it ails', () => {
  const ailing = rollout({ unavailable: 1 });
  expect(follow([0, rollout()], [90_000, rollout()], [90_001, ailing])).toMatchObject({ stalled: false });
  expect(follow([0, rollout()], [90_000, rollout()], [90_600, ailing])).toMatchObject({ stalled: true });
});

describe('nodes that are not Ready', () => {
  const dead = rollout({ unavailable: 1 });
  const old = rollout({ updated: 4, unavailable: 1 });

  it('may lack a pod, if it runs there', () => {
    expect(follow([0, dead, ['main/a']], [10, dead, ['main/a']])).toMatchObject({ rolledOut: true, stable: true });
    expect(follow([0, dead, ['gpu/a']], [10, dead, ['gpu/a']])).toMatchObject({ stable: false });
    expect(follow([0, old, ['gpu/a']], [10, old, ['gpu/a']])).toMatchObject({ rolledOut: false });
  });

  it('are no excuse for a rollout that makes them so', () => {
    const before = rollout({}, 1);
    expect(follow([0, before], [10, before], [11, old, ['main/a']], [30, dead, ['main/a']])).toMatchObject({
      rolledOut: true,
      stable: false,
    });
    expect(follow([0, before], [10, before], [11, old, ['main/a']], [700, old, ['main/a']])).toMatchObject({
      stalled: true,
    });
  });

  it.each<{ why: string; seen: readonly Seen[] }>([
    {
      why: 'that were so before it',
      seen: [
        [0, rollout({ unavailable: 1 }, 1), ['main/a']],
        [10, rollout({ unavailable: 1 }, 1), ['main/a']],
        [11, dead, ['main/a']],
        [21, dead, ['main/a']],
      ],
    },
    {
      why: 'that were so before it, and that its node selector selects only now',
      seen: [
        [0, rollout({}, 1), ['gpu/a']],
        [10, rollout({}, 1), ['gpu/a']],
        [11, { ...dead, nodeSelector: {} }, ['gpu/a']],
        [21, { ...dead, nodeSelector: {} }, ['gpu/a']],
      ],
    },
    {
      why: 'that become so once it is stable',
      seen: [
        [0, rollout({}, 1)],
        [11, rollout()],
        [21, rollout()],
        [3_000, dead],
        [3_001, dead, ['main/a']],
        [3_011, dead, ['main/a']],
      ],
    },
  ])('are none of its faults: those $why', ({ seen }) => {
    expect(follow(...seen)).toMatchObject({ stable: true });
  });

  it('are an excuse after a day, so that the other DaemonSets do not wait for ever', () => {
    const before = rollout({}, 1);
    const seen: Seen[] = [
      [0, before],
      [10, before],
      [11, dead, ['main/a']],
      [10 + DAY, dead, ['main/a']],
    ];
    expect(follow(...seen)).toMatchObject({ stable: false, changesInMs: 1 * SECOND });
    expect(follow(...seen, [11 + DAY, dead, ['main/a']], [21 + DAY, dead, ['main/a']])).toMatchObject({ stable: true });
  });

  describe('when another leader has patched it', () => {
    const HOUR = 3_600;

    /** What a new leader sees, at each of the seconds: one node is not Ready and has no pod. Both times are seconds before it started. */
    function takeOver(patchedAgo: number | undefined, unreadyAgo: number | undefined, seconds: readonly number[]) {
      const ago = (time: number | undefined) => (time === undefined ? undefined : START - time * SECOND);
      const [patchedAt, unreadySince] = [ago(patchedAgo), ago(unreadyAgo)];
      const one = { ...dead, ...(patchedAt === undefined ? {} : { patchedAt }) };
      const [node] = unreadyNodes(['main/a']).values();
      const nodes = new Map(
        node && [[node.name, { ...node, ...(unreadySince === undefined ? {} : { unreadySince }) }]],
      );
      const watch = watchRollouts({ stableMs: 10 * SECOND, stalledMs: 600 * SECOND });
      return seconds.map((at) => watch.observe('uid', one, nodes, timesAt(at))).at(-1);
    }

    it('are no excuse if they were Ready before the patch', () => {
      expect(takeOver(HOUR, HOUR - 60, [0, 10])).toMatchObject({ rolledOut: true, stable: false, stalled: false });
      expect(takeOver(HOUR, HOUR - 60, [0, 600])).toMatchObject({ stable: false, stalled: true });
    });

    it.each<{ why: string; patchedAgo?: number; unreadyAgo?: number }>([
      { why: 'were so before the patch', patchedAgo: HOUR, unreadyAgo: HOUR + 60 },
      { why: 'do not say since when', patchedAgo: HOUR },
      { why: 'became so after the patch, which is older than a day', patchedAgo: DAY, unreadyAgo: HOUR },
      { why: 'became so, and the time of the patch is not known', unreadyAgo: HOUR },
    ])('are an excuse if they $why', ({ patchedAgo, unreadyAgo }) => {
      expect(takeOver(patchedAgo, unreadyAgo, [0, 10])).toMatchObject({ rolledOut: true, stable: true });
    });

    it('block the other DaemonSets for no longer than a day after the patch', () => {
      const seen = [DAY - 1, DAY, DAY + 10].map((at) => at - HOUR);
      expect(takeOver(HOUR, HOUR - 60, [0, ...seen.slice(0, 1)])).toMatchObject({
        stable: false,
        changesInMs: 1 * SECOND,
      });
      expect(takeOver(HOUR, HOUR - 60, [0, ...seen])).toMatchObject({ stable: true });
    });

    it('that become so while the new leader watches are no excuse either', () => {
      const patched = { ...rollout(), patchedAt: START - HOUR * SECOND };
      const broken = { ...dead, patchedAt: patched.patchedAt };
      expect(follow([0, patched], [5, broken, ['main/a']], [20, broken, ['main/a']])).toMatchObject({ stable: false });
      expect(follow([0, patched], [10, patched], [15, broken, ['main/a']], [25, broken, ['main/a']])).toMatchObject({
        stable: true,
      });
    });
  });
});

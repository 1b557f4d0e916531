import { describe, expect, it } from 'vitest';
import {
  allowRemovalAgeMs,
  CONFLICT,
  carriedMs,
  conflictChangesInMs,
  conflictsNow,
  historyAfter,
  historyAfterRepair,
  historyWithoutTimes,
  isInConflict,
  type NodeHistory,
  newHistory,
  type WatchedNode,
  wasRemovedWithNotice,
} from '../../../src/judge/node-history.ts';
import { identity, type Taint } from '../../../src/kubernetes/taint.ts';
import { policySet } from '../policy/policies.ts';
import { nodeOf, rule } from './node-drifts.ts';

const gpu: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const other: Taint = { key: 'other', effect: 'NoSchedule' };
/** Its policy only audits. */
const AUDITED: Taint = { key: 'audited', effect: 'NoSchedule' };
/** The notice of the taint. */
const GPU = 'dedicated=gpu:NoSchedule-';

const { taintPolicies } = policySet({
  taint: {
    binding: {
      mode: 'Restore',
      taints: ['dedicated', 'other', 'flood-*'].map((key) => ({ key, restrict: ['Removal'] })),
    },
    watching: rule('Audit', { key: AUDITED.key, restrict: ['Removal'] }),
  },
});

interface State {
  readonly taints?: readonly Taint[];
  readonly allowRemoval?: string | undefined;
  readonly uid?: string;
  /** A list showed it, and not an event of the watch. */
  readonly isListed?: true;
}

const watched = ({ taints = [], allowRemoval, uid = 'u1' }: State): WatchedNode => ({
  ...nodeOf(taints),
  allowRemoval,
  uid,
  ready: true,
});

/** The history of a node after the watch has shown these states of it, one after the other. */
function shown(...states: readonly State[]): NodeHistory {
  let history: NodeHistory | undefined;
  states.forEach(({ isListed = false, ...state }, index) => {
    const before = states[index - 1];
    const node = watched(state);
    const previous = before && watched(before).uid === node.uid ? watched(before) : undefined;
    history = historyAfter(history, { node, previous, isListed }, taintPolicies, 0);
  });
  if (!history) throw new Error('no states');
  return history;
}

const CARRIED = { taints: [gpu, other] };
const REMOVED = { taints: [other], allowRemoval: GPU };

describe('a taint was removed by the update that wrote its notice', () => {
  it.each<[string, State[]]>([
    ['where one update did both', [CARRIED, REMOVED]],
    ['where the notice names any value', [CARRIED, { taints: [other], allowRemoval: 'dedicated:NoSchedule-' }]],
    [
      'where the notice comes after others',
      [
        { ...CARRIED, allowRemoval: 'a:NoSchedule' },
        { taints: [other], allowRemoval: `a:NoSchedule, ${GPU}` },
      ],
    ],
    ['where it replaced the value', [CARRIED, { taints: [{ ...gpu, value: 'cpu' }], allowRemoval: GPU }]],
    ['where another user had written the notice before', [{ ...CARRIED, allowRemoval: GPU }, REMOVED]],
    ['while other taints are removed', [CARRIED, REMOVED, { ...REMOVED, taints: [] }]],
    [
      'while another entry is added, and when a list shows the node again',
      [CARRIED, REMOVED, { ...REMOVED, allowRemoval: `${GPU}, a:NoSchedule`, isListed: true }],
    ],
  ])('%s', (_, states) => {
    expect(wasRemovedWithNotice(shown(...states), gpu)).toBe(true);
  });

  it('for each taint by itself', () => {
    const history = shown(
      CARRIED,
      { taints: [other], allowRemoval: GPU },
      { taints: [], allowRemoval: `${GPU}, other:NoSchedule-` },
    );
    expect([gpu, other].map((taint) => wasRemovedWithNotice(history, taint))).toEqual([true, true]);
    expect(wasRemovedWithNotice(history, { ...gpu, value: 'cpu' })).toBe(false);
  });
});

describe('a taint was not removed by the update that wrote its notice', () => {
  it.each<[string, State[]]>([
    [
      'where the update announced the removal',
      [CARRIED, { taints: [other], allowRemoval: 'dedicated=gpu:NoSchedule' }],
    ],
    ['where the notice came later', [CARRIED, { taints: [other] }, REMOVED]],
    [
      'where the notice is for another value',
      [CARRIED, { taints: [other], allowRemoval: 'dedicated=cpu:NoSchedule-' }],
    ],
    ['where a list showed both: there may have been two updates', [CARRIED, { ...REMOVED, isListed: true }]],
    ['where the node was first seen so', [REMOVED]],
    ['once the node carries it again', [CARRIED, REMOVED, { ...CARRIED, allowRemoval: GPU }]],
    [
      'once the node carries it with another value',
      [CARRIED, REMOVED, { taints: [{ ...gpu, value: 'cpu' }], allowRemoval: GPU }],
    ],
    ['once the annotation is deleted', [CARRIED, REMOVED, { taints: [other] }, REMOVED]],
    ['of another Node of that name', [CARRIED, REMOVED, { ...REMOVED, uid: 'another' }]],
  ])('%s', (_, states) => {
    expect(wasRemovedWithNotice(shown(...states), gpu)).toBe(false);
  });

  it('once many others were removed so: a user can write notices without end', () => {
    const one = (n: number): Taint => ({ key: `flood-${n}`, effect: 'NoSchedule' });
    const flood = Array.from({ length: 1_000 }, (_, n): State[] => [
      { taints: [one(n)], allowRemoval: 'keep' },
      { taints: [], allowRemoval: `keep, flood-${n}:NoSchedule-` },
    ]).flat();
    const history = shown(CARRIED, REMOVED, ...flood);
    expect(history.removedWithNotice.length).toBeLessThanOrEqual(256);
    expect([gpu, one(999)].map((taint) => wasRemovedWithNotice(history, taint))).toEqual([false, true]);
  });

  it('while nothing protects it: every user can write both then', () => {
    const history = shown({ taints: [AUDITED, gpu] }, { taints: [], allowRemoval: `audited:NoSchedule-, ${GPU}` });
    expect([AUDITED, gpu].map((taint) => wasRemovedWithNotice(history, taint))).toEqual([false, true]);
  });
});

describe('a taint that the leader restores repeatedly', () => {
  const MINUTE_MS = 60_000;
  const loss = (taint: Taint, name = 'p') => ({ taint, policy: { name } });

  /** Restored so often, once a minute from the time 0 on. */
  function restored(times: number, taint = gpu): NodeHistory {
    let history = newHistory(watched({}), 0);
    for (let time = 0; time < times; time++) history = historyAfterRepair(history, [taint], time * MINUTE_MS);
    return history;
  }

  it('is in conflict until the first of the restorations is long enough ago', () => {
    expect(isInConflict(restored(CONFLICT.limit - 1), gpu, MINUTE_MS)).toBe(false);
    const history = restored(CONFLICT.limit);
    expect(isInConflict(history, gpu, CONFLICT.windowMs - 1)).toBe(true);
    expect(isInConflict(history, gpu, CONFLICT.windowMs)).toBe(false);
  });

  it.each([
    { why: 'with another value, because it is the same taint', taint: { ...gpu, value: 'cpu' }, expected: true },
    { why: 'with another effect', taint: { ...gpu, effect: 'NoExecute' }, expected: false },
  ])('so is, or is not, the one $why', ({ taint, expected }) => {
    expect(isInConflict(restored(CONFLICT.limit), taint, 0)).toBe(expected);
  });

  it('is not on another Node of that name', () => {
    const event = { node: watched({ uid: 'another' }), previous: undefined, isListed: false };
    expect(isInConflict(historyAfter(restored(CONFLICT.limit), event, taintPolicies, 0), gpu, 0)).toBe(false);
  });

  it('is listed with each policy that misses it, until nothing was restored for the whole window', () => {
    const history = restored(CONFLICT.limit);
    const conflicts = conflictsNow(history, [loss(gpu), loss(gpu, 'q'), loss(gpu)], 2 * MINUTE_MS);
    expect([...conflicts]).toEqual([[identity(gpu), { taint: gpu, policies: ['p', 'q'] }]]);
    const known = { ...history, conflicts };
    const end = 2 * MINUTE_MS + CONFLICT.windowMs;
    expect(conflictsNow(known, [], end - 1)).toEqual(conflicts);
    expect(conflictsNow(known, [], end).size).toBe(0);
  });

  it('is checked again when it may be restored, and when its conflict ends', () => {
    const history = restored(CONFLICT.limit);
    expect(conflictChangesInMs(history, gpu, 0)).toBe(CONFLICT.windowMs);
    expect(conflictChangesInMs(history, gpu, CONFLICT.windowMs)).toBe(MINUTE_MS);
    expect(conflictChangesInMs(history, gpu, 2 * CONFLICT.windowMs)).toBeUndefined();
    expect(conflictChangesInMs(history, other, 0)).toBeUndefined();
  });
});

/** A node that the leader follows: each change is one event, at a time in milliseconds. */
function following(first: Partial<WatchedNode>, now: number) {
  let node: WatchedNode = { ...watched({}), ...first };
  let history = newHistory(node, now);
  return {
    history: () => history,
    change(value: Partial<WatchedNode>, at: number): NodeHistory {
      const previous = node;
      node = { ...node, ...value };
      history = historyAfter(history, { node, previous, isListed: false }, taintPolicies, at);
      return history;
    },
    /** As after a gap: the watch shows the node as if for the first time. */
    again(at: number): NodeHistory {
      history = historyAfter(history, { node, previous: undefined, isListed: true }, taintPolicies, at);
      return history;
    },
    node: () => node,
  };
}

const NOT_READY: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

describe('the time for which a node has carried a taint', () => {
  it('counts from the first event that shows it, by its value and effect', () => {
    const { history, change } = following({ taints: [gpu] }, 100);
    expect(carriedMs(history(), gpu, 150)).toBe(50);
    const after = change({ taints: [gpu, other] }, 200);
    expect([gpu, other].map((taint) => carriedMs(after, taint, 300))).toEqual([200, 100]);
    for (const taint of [
      { ...gpu, value: 'cpu' },
      { ...gpu, effect: 'NoExecute' },
    ]) {
      expect(carriedMs(after, taint, 300)).toBeUndefined();
    }
  });

  it.each<[why: string, away: Partial<WatchedNode>, back: Partial<WatchedNode>]>([
    ['it has not carried it', { taints: [] }, { taints: [gpu] }],
    ['it has carried it with another value', { taints: [{ ...gpu, value: 'cpu' }] }, { taints: [gpu] }],
    ['it was not Ready', { ready: false }, { ready: true }],
  ])('begins anew after an event in which %s', (_, away, back) => {
    const { change } = following({ taints: [gpu] }, 0);
    expect(carriedMs(change(away, 100), gpu, 100)).toBeUndefined();
    expect(carriedMs(change(back, 200), gpu, 250)).toBe(50);
  });

  it('begins anew when the record of the node was deleted', () => {
    const { history, node } = following({ taints: [gpu] }, 0);
    expect(carriedMs(historyWithoutTimes(history(), node(), 100), gpu, 130)).toBe(30);
  });

  it('is not known of taints that Kubernetes sets and removes, nor beyond the first 256 taints', () => {
    const many = Array.from({ length: 257 }, (_, index): Taint => ({ key: `k-${index}`, effect: 'NoSchedule' }));
    const history = newHistory({ ...watched({}), taints: [NOT_READY, ...many] }, 0);
    const known = [NOT_READY, ...many].filter((taint) => carriedMs(history, taint, 1) !== undefined);
    expect(known).toEqual(many.slice(0, 256));
  });
});

describe('the time since which a node has had its labels', () => {
  it('begins anew with every change of them, and when that may have been missed', () => {
    const { history, change, again } = following({ labels: { a: 'b' } }, 100);
    expect(history().labelsSince).toBe(100);
    expect(change({ taints: [gpu] }, 200).labelsSince).toBe(100);
    expect(change({ labels: { a: 'c' } }, 300).labelsSince).toBe(300);
    expect(again(400).labelsSince).toBe(400);
  });
});

describe('what a node has lost and has not got back', () => {
  it('is listed with its value, until that is there again', () => {
    const { history, change } = following({ taints: [gpu, other] }, 0);
    expect(history().lost).toEqual([]);
    expect(change({ taints: [other] }, 1).lost).toEqual([gpu]);
    expect(change({ labels: { a: 'b' } }, 2).lost).toEqual([gpu]);
    expect(change({ taints: [] }, 3).lost).toEqual([gpu, other]);
    expect(change({ taints: [{ ...gpu, value: 'cpu' }] }, 4).lost).toEqual([gpu, other]);
    expect(change({ taints: [gpu] }, 4).lost).toEqual([other, { ...gpu, value: 'cpu' }]);
    expect(change({ taints: [gpu, other] }, 5).lost).toEqual([{ ...gpu, value: 'cpu' }]);
  });

  it('is not known after a gap of the watch, and leaves out taints that Kubernetes sets and removes', () => {
    const { change, again } = following({ taints: [gpu, NOT_READY] }, 0);
    expect(change({ taints: [] }, 1).lost).toEqual([gpu]);
    expect(again(2).lost).toEqual([]);
  });

  it('is listed up to 64 taints, the latest ones', () => {
    const many = Array.from({ length: 65 }, (_, index): Taint => ({ key: `k-${index}`, effect: 'NoSchedule' }));
    const { change } = following({ taints: many }, 0);
    expect(change({ taints: [] }, 1).lost).toEqual(many.slice(1));
  });
});

describe('the age of the annotation allow-removal', () => {
  const HOUR_MS = 3_600_000;

  it.each([
    { why: 'by the time that the API server noted', announcedAt: 100_000 - HOUR_MS, age: HOUR_MS },
    { why: 'by what the leader has seen, where that is longer', announcedAt: 100_000, age: 40 },
    { why: 'by what the leader has seen, where no time was noted', announcedAt: undefined, age: 40 },
  ])('counts $why', ({ announcedAt, age }) => {
    const { history, node } = following({ allowRemoval: GPU, announcedAt }, 10);
    expect(allowRemovalAgeMs(history(), node(), { now: 50, apiTime: 100_000 })).toBe(age);
  });

  it('begins anew with another value, and is 0 without the annotation', () => {
    const { history, node, change } = following({ allowRemoval: 'a:NoSchedule' }, 0);
    const age = (now: number) => allowRemovalAgeMs(history(), node(), { now, apiTime: 0 });
    change({ labels: { a: 'b' } }, 10);
    expect(age(30)).toBe(30);
    change({ allowRemoval: 'b:NoSchedule' }, 40);
    expect(age(50)).toBe(10);
    change({ allowRemoval: undefined, announcedAt: -1_000 }, 60);
    expect(age(70)).toBe(0);
  });
});

describe('the times at which the leader restored a taint', () => {
  it('are kept for as long as they count, of every taint', () => {
    const first = historyAfterRepair(newHistory(watched({}), 0), [gpu, gpu, other], 0);
    expect(first.repairs).toEqual([
      { taint: gpu, at: 0 },
      { taint: other, at: 0 },
    ]);
    const second = historyAfterRepair(first, [gpu], CONFLICT.windowMs - 1);
    expect(second.repairs).toEqual([...first.repairs, { taint: gpu, at: CONFLICT.windowMs - 1 }]);
    const third = historyAfterRepair(second, [gpu], CONFLICT.windowMs);
    expect(third.repairs).toEqual([
      { taint: gpu, at: CONFLICT.windowMs - 1 },
      { taint: gpu, at: CONFLICT.windowMs },
    ]);
  });

  it('are the same history where nothing was restored', () => {
    const history = newHistory(watched({}), 0);
    expect(historyAfterRepair(history, [], 1)).toBe(history);
  });
});

it('nothing is kept of a node that is not Ready and of removals that a list shows', () => {
  expect(newHistory({ ...watched(CARRIED), ready: false }, 0).carriedSince).toEqual([]);
  expect(shown(CARRIED, { ...REMOVED, isListed: true }).removedWithNotice).toEqual([]);
});

it('a removal with a notice is not known after a gap of the watch', () => {
  const { change, again } = following({ taints: [gpu] }, 0);
  expect(wasRemovedWithNotice(change({ taints: [], allowRemoval: GPU }, 1), gpu)).toBe(true);
  expect(wasRemovedWithNotice(again(2), gpu)).toBe(false);
});

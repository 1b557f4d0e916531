import { describe, expect, it } from 'vitest';
import {
  CONFLICT,
  conflictChangesInMs,
  conflictsNow,
  historyAfter,
  historyAfterRepair,
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
      taints: ['dedicated', 'other'].map((key) => ({ key, restrict: ['Removal'] })),
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
    ['once the annotation is gone', [CARRIED, REMOVED, { taints: [other] }, REMOVED]],
    ['of another Node of that name', [CARRIED, REMOVED, { ...REMOVED, uid: 'another' }]],
  ])('%s', (_, states) => {
    expect(wasRemovedWithNotice(shown(...states), gpu)).toBe(false);
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

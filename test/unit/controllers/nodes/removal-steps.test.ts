import { describe, expect, it } from 'vitest';
import type { Change } from '../../../../src/cluster/watch/cached-objects.ts';
import { trackRemovalSteps } from '../../../../src/controllers/nodes/removal-steps.ts';
import type { ClusterNode } from '../../../../src/controllers/sources.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import { nodeEntry } from './node-entries.ts';

const gpu: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const other: Taint = { key: 'other', effect: 'NoSchedule' };
/** No policy protects it yet. */
const AUDITED: Taint = { key: 'audited', effect: 'NoSchedule' };
/** The notice of the taint. */
const GPU = 'dedicated=gpu:NoSchedule-';

interface State {
  readonly taints?: readonly Taint[];
  readonly allowRemoval?: string | undefined;
  readonly uid?: string;
  /** A list showed it, and not an event of the watch. */
  readonly isListed?: true;
}

const entryOf = ({ taints = [], allowRemoval, uid }: State) => {
  const entry = nodeEntry('n1', taints, uid);
  return { ...entry, value: { ...entry.value, allowRemoval } };
};

/** What is known of a node after the watch has shown these states of it, one after the other. */
function shown(...states: readonly State[]) {
  const steps = trackRemovalSteps((_, { key }) => key !== AUDITED.key);
  states.forEach(({ isListed, ...state }, index) => {
    const before = states[index - 1];
    const entry = entryOf(state);
    const change: Change<ClusterNode> = before
      ? { type: 'modified', entry, previous: entryOf(before), ...(isListed ? { isListed } : {}) }
      : { type: 'added', entry };
    steps.notice(change);
  });
  return steps;
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
    ['where somebody had written the notice before', [{ ...CARRIED, allowRemoval: GPU }, REMOVED]],
    ['while other taints are removed', [CARRIED, REMOVED, { ...REMOVED, taints: [] }]],
    [
      'while another entry is added, and when a list shows the node again',
      [CARRIED, REMOVED, { ...REMOVED, allowRemoval: `${GPU}, a:NoSchedule`, isListed: true }],
    ],
  ])('%s', (_, states) => {
    expect(shown(...states).has('n1', gpu)).toBe(true);
  });

  it('for each taint by itself', () => {
    const steps = shown(
      CARRIED,
      { taints: [other], allowRemoval: GPU },
      { taints: [], allowRemoval: `${GPU}, other:NoSchedule-` },
    );
    expect([gpu, other].map((taint) => steps.has('n1', taint))).toEqual([true, true]);
    expect(steps.has('n1', { ...gpu, value: 'cpu' })).toBe(false);
    expect(steps.has('n2', gpu)).toBe(false);
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
    expect(shown(...states).has('n1', gpu)).toBe(false);
  });

  it('while nothing protects it: every user can write both then', () => {
    const steps = shown({ taints: [AUDITED, gpu] }, { taints: [], allowRemoval: `audited:NoSchedule-, ${GPU}` });
    expect([AUDITED, gpu].map((taint) => steps.has('n1', taint))).toEqual([false, true]);
  });

  it('once the Node is deleted', () => {
    const steps = shown(CARRIED, REMOVED);
    steps.notice({ type: 'deleted', entry: entryOf(REMOVED) });
    expect(steps.has('n1', gpu)).toBe(false);
  });
});

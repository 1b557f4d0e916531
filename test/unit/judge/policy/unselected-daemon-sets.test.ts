import { describe, expect, it } from 'vitest';
import { comparisonBudget } from '../../../../src/judge/policy/comparison-budget.ts';
import { unselectedDaemonSets } from '../../../../src/judge/policy/unselected-daemon-sets.ts';
import type { TaintRule } from '../../../../src/policy/taint-rule.ts';
import type { SchedulingView } from '../../../../src/scheduling/coverage.ts';
import { policySet } from '../../policy/policies.ts';

const PLUGIN = { namespace: 'gpu', name: 'plugin' };
/** The progress deadline is 600 s. */
const NOW = new Date(1_000_000);
const daemonSet = (more: Partial<SchedulingView> = {}): SchedulingView => ({
  ...PLUGIN,
  ...{ nodeName: '', nodeSelector: {}, nodeAffinity: undefined, tolerations: [], hostNetwork: false },
  ...more,
});
const OTHER_NODES = daemonSet({ nodeSelector: { accelerator: 'yes' } });
const GPU = { pool: 'gpu' };
const node = (name: string, labels: Record<string, string> = GPU, ...taints: string[]) => ({
  ...{ name, labels },
  taints: taints.map((key) => ({ key, effect: 'NoSchedule' as const })),
});

/** A policy whose taints of these keys wait for the DaemonSet. */
function waitingWith(keys: readonly string[], mode: 'Restore' | 'Audit' = 'Restore') {
  const rule = (key: string): TaintRule => ({
    ...{ key, effect: 'NoSchedule', ensure: 'UntilReady' },
    readyWhen: { daemonSets: [PLUGIN] },
  });
  const [policy] = policySet({ taint: { p: { mode, taints: keys.map(rule) } } }).taintPolicies;
  if (!policy) throw new Error('there is no policy');
  return policy;
}

const surroundings = (found: SchedulingView | undefined, budget = comparisonBudget()) => ({
  ...{ daemonSetOf: () => found, now: NOW, budget, letOthersRun: async () => {} },
});
const faults = (
  found: SchedulingView | undefined,
  nodes: readonly ReturnType<typeof node>[],
  mode: 'Restore' | 'Audit' = 'Restore',
) => unselectedDaemonSets(waitingWith(['a'], mode), nodes, surroundings(found));

it('a DaemonSet of readyWhen that selects no node of the policy is a fault', async () => {
  expect(await faults(OTHER_NODES, [node('n1')])).toEqual([
    {
      reason: 'DaemonSetSelectsNoNode',
      message:
        "DaemonSet gpu/plugin selects none of the policy's nodes: new nodes with the same labels wait with taint a:NoSchedule (spec.taints[0]). " +
        'Correct nodeSelector of the policy, or the node selector or affinity of the DaemonSet',
      warning: "DaemonSet gpu/plugin selects none of the policy's nodes",
    },
  ]);
});

it.each<{ why: string; found?: SchedulingView; nodes: readonly ReturnType<typeof node>[]; mode?: 'Audit' }>([
  { why: 'it selects one of them', found: OTHER_NODES, nodes: [node('n1'), node('n2', { accelerator: 'yes' })] },
  {
    why: 'it selects one that waits',
    found: OTHER_NODES,
    nodes: [node('n1'), node('n2', { accelerator: 'yes' }, 'a')],
  },
  { why: 'a taint keeps it off, which is another fault', found: daemonSet(), nodes: [node('n1', {}, 'other')] },
  { why: 'there is no node yet', found: OTHER_NODES, nodes: [] },
  { why: 'all nodes wait, and their labels may come later', found: OTHER_NODES, nodes: [node('n1', {}, 'a')] },
  {
    why: 'no node is older than the deadline: it may have no taint with --audit, or registered without taintkeeper',
    found: OTHER_NODES,
    nodes: [{ ...node('n1'), createdAt: 400_000 } as never],
  },
  { why: 'it does not exist, which is another fault', nodes: [node('n1')] },
  { why: 'the policy only reports', found: OTHER_NODES, nodes: [node('n1')], mode: 'Audit' },
])('it is none if $why', async ({ found, nodes, mode }) => {
  expect(await faults(found, nodes, mode)).toEqual([]);
});

it('it is one if its affinity selects none, and a node is older than the deadline', async () => {
  const term = { matchExpressions: [{ key: 'pool', operator: 'In', values: ['cpu'] }], matchFields: [] };
  const young = { ...node('n1'), createdAt: 400_000 };
  const old = { ...node('n2'), createdAt: 399_999 };
  expect(await faults(daemonSet({ nodeAffinity: [term] }), [young, old])).toHaveLength(1);
});

describe('a DaemonSet that selects none of many nodes', () => {
  const keys = Array.from({ length: 64 }, (_, index) => `key-${index}`);
  const term = { matchExpressions: [{ key: 'pool', operator: 'Exists', values: [] }], matchFields: [] };
  const long = daemonSet({ nodeAffinity: Array.from({ length: 1_000 }, () => term) });

  /** How often the DaemonSet is compared with a node, and how many faults there are. */
  async function compared(found: SchedulingView, count: number, budget = comparisonBudget()) {
    let comparisons = 0;
    const nodes = Array.from({ length: count }, (_, index) => ({
      ...{ name: `n${index}`, taints: [] },
      get labels() {
        comparisons++;
        return {};
      },
    }));
    const { length } = await unselectedDaemonSets(waitingWith(keys), nodes, surroundings(found, budget));
    return { comparisons, faults: length };
  }

  it('is compared once with each of 10,000 nodes, however many rules name it', async () => {
    expect(await compared(OTHER_NODES, 10_000)).toEqual({ comparisons: 10_000, faults: 64 });
  });

  it('costs as much if no node is old enough, however many rules name it', async () => {
    let ages = 0;
    const nodes = Array.from({ length: 10_000 }, (_, index) => ({
      ...{ name: `n${index}`, taints: [], labels: {} },
      get createdAt() {
        ages++;
        return NOW.getTime();
      },
    }));
    const all = await unselectedDaemonSets(waitingWith(keys), nodes, surroundings(OTHER_NODES));
    expect({ all, isLimited: ages <= comparisonBudget().left }).toEqual({ all: [], isLimited: true });
    expect(ages).toBeGreaterThan(0);
  });

  it('is compared no more once the comparisons have cost too much, also for other policies', async () => {
    const budget = comparisonBudget();
    const first = await compared(long, 1_000, budget);
    expect(first.comparisons).toBeLessThanOrEqual(200);
    // That it selects none is not known.
    expect(first.faults).toBe(0);
    expect(await compared(OTHER_NODES, 1_000, budget)).toEqual({ comparisons: 0, faults: 0 });
  });

  it('costs one for each age, label, term, requirement and value, and the whole budget may be used', async () => {
    const found = daemonSet({
      nodeSelector: { a: 'x', b: 'y' },
      nodeAffinity: [
        {
          matchExpressions: [{ key: 'pool', operator: 'In', values: ['cpu', 'web', 'db'] }],
          matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n9'] }],
        },
      ],
    });
    const faultsWith = async (left: number) => {
      const budget = { left };
      const all = await unselectedDaemonSets(waitingWith(['a']), [node('n1')], surroundings(found, budget));
      return { faults: all.length, left: budget.left };
    };
    // The age, the node, 2 labels, 1 term, 2 requirements and 4 values.
    expect(await faultsWith(11)).toEqual({ faults: 1, left: 0 });
    expect(await faultsWith(10)).toEqual({ faults: 0, left: -1 });
  });

  it('costs nothing for a rule that waits for no DaemonSet', async () => {
    const rule: TaintRule = {
      ...{ key: 'a', effect: 'NoSchedule', ensure: 'UntilReady' },
      readyWhen: { conditions: [{ type: 'Ready' }] },
    };
    const [policy] = policySet({ taint: { p: { mode: 'Restore', taints: [rule] } } }).taintPolicies;
    if (!policy) throw new Error('there is no policy');
    const budget = { left: 100 };
    expect(await unselectedDaemonSets(policy, [node('n1')], surroundings(OTHER_NODES, budget))).toEqual([]);
    expect(budget.left).toBe(100);
  });

  it('reads no other rule once the ages have used up the budget', async () => {
    let rounds = 0;
    const letOthersRun = async () => {
      rounds++;
    };
    const limited = { ...surroundings(OTHER_NODES, { left: 1 }), letOthersRun };
    expect(await unselectedDaemonSets(waitingWith(keys), [node('n1')], limited)).toEqual([]);
    expect(rounds).toBe(2);
  });
});

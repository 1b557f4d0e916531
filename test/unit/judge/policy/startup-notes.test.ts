import { describe, expect, it } from 'vitest';
import type { DaemonSetView } from '../../../../src/judge/daemon-set-view.ts';
import { collectCompanions } from '../../../../src/judge/policy/companions.ts';
import { type ComparisonBudget, comparisonBudget } from '../../../../src/judge/policy/comparison-budget.ts';
import { startupNotes } from '../../../../src/judge/policy/startup-notes.ts';
import type { AllDaemonSets } from '../../../../src/policy/ready-when.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import { policySet } from '../../policy/policies.ts';

const daemonSet = (name: string, tolerations: readonly object[] = [], namespace = 'kube-system') =>
  ({ namespace, name, labels: {}, annotations: {}, tolerations, hostNetwork: false, deleting: false }) as const;

const waitingWith = (allDaemonSets: AllDaemonSets, ...keys: string[]): TaintPolicySpec => ({
  mode: 'Restore',
  taints: keys.map((key) => ({ key, effect: 'NoSchedule', ensure: 'UntilReady', readyWhen: { allDaemonSets } })),
});
const SYSTEM = { namespaces: ['kube-system'] };

/** @param others policies that select a node of the policy */
function notesOf(
  spec: TaintPolicySpec,
  daemonSets: readonly DaemonSetView[],
  {
    others = {},
    isKnown = () => true,
    budget = comparisonBudget(),
  }: {
    others?: Record<string, TaintPolicySpec>;
    isKnown?: (one: string) => boolean;
    budget?: ComparisonBudget;
  } = {},
) {
  const { taintPolicies } = policySet({ taint: { ...others, p: spec } });
  const policy = taintPolicies.find(({ name }) => name === 'p');
  if (!policy) throw new Error('there is no policy');
  const companions = collectCompanions();
  companions.add(taintPolicies);
  return startupNotes(policy, { daemonSets, isKnown, companions: companions.of(policy), budget });
}

describe('the notes about a startup taint that waits for all DaemonSets', () => {
  it('without namespaces: every user who may create a DaemonSet can stop new nodes', () => {
    const { warnings, notes } = notesOf(waitingWith({}, 'a'), []);
    expect(warnings).toEqual([
      'spec.taints[0]: without namespaces, every user who may create a DaemonSet can keep new nodes tainted',
    ]);
    expect(notes).toEqual([]);
  });

  it('name the DaemonSets for which it does not wait', () => {
    const all = [daemonSet('c'), daemonSet('b', [{ operator: 'Exists' }]), daemonSet('a'), daemonSet('d', [], 'other')];
    const except = [{ namespace: 'kube-system', name: 'c' }];
    expect(notesOf(waitingWith({ ...SYSTEM, except }, 'a'), all)).toEqual({
      warnings: ['spec.taints[0] does not wait for DaemonSet kube-system/a, which does not tolerate the taint'],
      notes: ['spec.taints[0] does not wait for DaemonSet kube-system/a, which does not tolerate the taint'],
    });
    const many = ['e', 'd', 'c', 'a'].map((name) => daemonSet(name));
    const { warnings, notes } = notesOf(waitingWith(SYSTEM, 'a'), many);
    expect(warnings).toEqual([
      'spec.taints[0] does not wait for DaemonSets kube-system/a, and 3 more, which do not tolerate the taint',
    ]);
    expect(notes).toEqual([
      'spec.taints[0] does not wait for DaemonSets kube-system/a, kube-system/c, and 2 more, which do not tolerate the taint',
    ]);
  });

  it('name the namespaces that have no DaemonSet, unless they are not known', () => {
    const one = [daemonSet('b', [{ operator: 'Exists' }])];
    const misspelled = waitingWith({ namespaces: ['kube-system', 'kube-sytem'] }, 'a');
    const text = 'spec.taints[0]: namespace kube-sytem has no DaemonSet, so the taint waits for none there';
    expect(notesOf(misspelled, one)).toEqual({ warnings: [text], notes: [text] });
    expect(notesOf(waitingWith({ namespaces: ['e', 'd', 'c', 'a'] }, 'a'), one).notes).toEqual([
      'spec.taints[0]: namespaces e, d, and 2 more have no DaemonSet, so the taint waits for none there',
    ]);
    expect(notesOf(misspelled, one, { isKnown: (namespace) => namespace !== 'kube-sytem' }).notes).toEqual([]);
  });

  it('name the DaemonSets that are being deleted', () => {
    const text = 'spec.taints[0] does not wait for DaemonSet kube-system/a, which is being deleted';
    const deleted = { ...daemonSet('a'), deleting: true };
    expect(notesOf(waitingWith(SYSTEM, 'a'), [deleted])).toEqual({ warnings: [text], notes: [text] });
    expect(notesOf(waitingWith(SYSTEM, 'a'), [deleted, { ...deleted, name: 'b' }]).notes).toEqual([
      'spec.taints[0] does not wait for DaemonSets kube-system/a, kube-system/b, which are being deleted',
    ]);
  });

  it('name the DaemonSets that do not tolerate another startup taint of the same nodes', () => {
    const tolerating = (name: string, ...keys: string[]) =>
      daemonSet(
        name,
        keys.map((key) => ({ key, operator: 'Exists' })),
      );
    const all = [
      ...[tolerating('c', 'a', 'own'), tolerating('d', 'a', 'own', 'b'), tolerating('e'), tolerating('f', 'a', 'own')],
      tolerating('g', 'a', 'b'),
    ];
    const readyWhen = { conditions: [{ type: 'Ready' }] };
    const own = { key: 'own', effect: 'NoSchedule', ensure: 'UntilReady', readyWhen } as const;
    const spec = waitingWith(SYSTEM, 'a');
    const others = { q: waitingWith({}, 'b'), r: { ...waitingWith({}, 'c'), mode: 'Audit' as const } };
    const { warnings, notes } = notesOf({ ...spec, taints: [...spec.taints, own] }, all, { others });
    // The end of a long warning is cut.
    expect(warnings).toEqual([
      'spec.taints[0]: DaemonSets that do not tolerate taint b:NoSchedule of TaintPolicy q on the same nodes are not waited for: kube-system/c, kube-system/f',
      'spec.taints[0] does not wait for DaemonSet kube-system/e, which does not tolerate the taint',
      'spec.taints[0]: DaemonSets that do not tolerate taint own:NoSchedule of this policy are not waited for: kube-system/g',
    ]);
    expect(notes).toEqual([
      'spec.taints[0] does not wait for DaemonSets kube-system/c, kube-system/f, which do not tolerate taint b:NoSchedule of TaintPolicy q on the same nodes',
      'spec.taints[0] does not wait for DaemonSet kube-system/e, which does not tolerate the taint',
      'spec.taints[0] does not wait for DaemonSet kube-system/g, which does not tolerate taint own:NoSchedule of this policy',
    ]);
  });

  it('compare a DaemonSet with eight other startup taints at most', () => {
    const notesWith = (count: number) => {
      const keys = Array.from({ length: count }, (_, index) => `tolerated-${index}`);
      const one = daemonSet(
        'b',
        ['a', ...keys].map((key) => ({ key, operator: 'Exists' })),
      );
      const { taints } = waitingWith({}, ...keys, 'last');
      const spec = waitingWith(SYSTEM, 'a');
      const readyWhen = { conditions: [{ type: 'Ready' }] };
      const others = taints.map((taint) => ({ ...taint, readyWhen }));
      return notesOf({ ...spec, taints: [...spec.taints, ...others] }, [one]).notes;
    };
    expect(notesWith(7)).toEqual([
      'spec.taints[0] does not wait for DaemonSet kube-system/b, which does not tolerate taint last:NoSchedule of this policy',
    ]);
    expect(notesWith(8)).toEqual([]);
  });

  it('name no DaemonSet for whose comparison the budget does not suffice', () => {
    const one = [daemonSet('b', [{ key: 'other', operator: 'Exists' }])];
    const found = (left: number) => notesOf(waitingWith(SYSTEM, 'a'), one, { budget: { left } }).notes.length;
    expect(found(2)).toBe(1);
    expect(found(1)).toBe(0);
  });

  it('compare a limited number of tolerations, whatever policies and DaemonSets have', () => {
    let compared = 0;
    const toleration = {
      get key() {
        compared++;
        return 'other';
      },
      operator: 'Exists' as const,
    };
    const tolerations = Array.from({ length: 1_000 }, () => toleration);
    const all = Array.from({ length: 512 }, (_, index) => daemonSet(`d${index}`, tolerations));
    const keys = Array.from({ length: 64 }, (_, index) => `key-${index}`);
    expect(notesOf(waitingWith(SYSTEM, ...keys), all).warnings.length).toBeGreaterThan(0);
    expect(compared).toBeGreaterThan(0);
    expect(compared).toBeLessThan(1_000_000);
  });

  it('are empty if every DaemonSet tolerates the taint', () => {
    expect(notesOf(waitingWith(SYSTEM, 'a'), [daemonSet('b', [{ key: 'a', operator: 'Exists' }])])).toEqual({
      warnings: [],
      notes: [],
    });
  });
});

import { describe, expect, it } from 'vitest';
import { startupNotes } from '../../../../src/judge/policy/startup-faults.ts';
import type { AllDaemonSets } from '../../../../src/policy/ready-when.ts';
import { policySet } from '../../policy/policies.ts';

const daemonSet = (name: string, tolerations: readonly object[] = [], namespace = 'kube-system') =>
  ({ namespace, name, labels: {}, annotations: {}, tolerations, hostNetwork: false, deleting: false }) as const;

function notesOf(
  allDaemonSets: AllDaemonSets,
  names: readonly ReturnType<typeof daemonSet>[] = [],
  mode = 'Restore' as const,
) {
  const rule = { key: 'a', effect: 'NoSchedule', ensure: 'UntilReady', readyWhen: { allDaemonSets } } as const;
  const [policy] = policySet({ taint: { p: { mode, taints: [rule] } } }).taintPolicies;
  if (!policy) throw new Error('there is no policy');
  return startupNotes(policy, names);
}

describe('the notes about a startup taint that waits for all DaemonSets', () => {
  it('without namespaces: every user who may create a DaemonSet can stop new nodes', () => {
    const { warnings, notes } = notesOf({});
    expect(warnings).toEqual([
      'spec.taints[0]: without namespaces, every user who may create a DaemonSet can keep new nodes tainted',
    ]);
    expect(notes).toEqual([]);
  });

  it('name the DaemonSets for which it does not wait', () => {
    const all = [daemonSet('c'), daemonSet('b', [{ operator: 'Exists' }]), daemonSet('a'), daemonSet('d', [], 'other')];
    expect(notesOf({ namespaces: ['kube-system'], except: [{ namespace: 'kube-system', name: 'c' }] }, all)).toEqual({
      warnings: ['spec.taints[0] does not wait for DaemonSet kube-system/a, which does not tolerate the taint'],
      notes: ['spec.taints[0] does not wait for DaemonSet kube-system/a, which does not tolerate taint a:NoSchedule'],
    });
    const many = ['e', 'd', 'c', 'a'].map((name) => daemonSet(name));
    const { warnings, notes } = notesOf({ namespaces: ['kube-system'] }, many);
    expect(warnings).toEqual([
      'spec.taints[0] does not wait for DaemonSets kube-system/a, and 3 more, which do not tolerate the taint',
    ]);
    expect(notes).toEqual([
      'spec.taints[0] does not wait for DaemonSets kube-system/a, kube-system/c, and 2 more, which do not tolerate taint a:NoSchedule',
    ]);
  });

  it('are empty if every DaemonSet tolerates the taint', () => {
    expect(notesOf({ namespaces: ['kube-system'] }, [daemonSet('b', [{ key: 'a', operator: 'Exists' }])])).toEqual({
      warnings: [],
      notes: [],
    });
  });
});

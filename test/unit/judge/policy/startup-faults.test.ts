import { describe, expect, it } from 'vitest';
import { type StartupSurroundings, startupFaults, startupNotes } from '../../../../src/judge/policy/startup-faults.ts';
import type { Toleration } from '../../../../src/kubernetes/toleration.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../../src/policy/taint-rule.ts';
import { policySet } from '../../policy/policies.ts';

const TAINT = 'example.com/network:NoSchedule';
const CNI = { namespace: 'kube-system', name: 'cni' };
const STARTUP: TaintRule = {
  ...{ key: 'example.com/network', effect: 'NoSchedule', ensure: 'UntilReady' },
  readyWhen: { daemonSets: [CNI] },
};
const EVERYTHING: Toleration[] = [{ operator: 'Exists' }];

function compiled(name: string, spec: Partial<TaintPolicySpec> = {}) {
  const [policy] = policySet({ taint: { [name]: { mode: 'Restore', taints: [STARTUP], ...spec } } }).taintPolicies;
  if (!policy) throw new Error('there is no policy');
  return policy;
}

const faults = (spec: Partial<TaintPolicySpec> = {}, surroundings: Partial<StartupSurroundings> = {}) =>
  startupFaults(compiled('p', spec), {
    others: [],
    daemonSetOf: () => ({ tolerations: EVERYTHING, hostNetwork: false }),
    replicas: [{ tolerations: EVERYTHING }],
    ...surroundings,
  });

describe('what keeps a startup taint on new nodes', () => {
  it('is nothing where its DaemonSet and taintkeeper tolerate it', () => {
    expect(faults()).toEqual([]);
  });

  it.each<{
    why: string;
    surroundings: Partial<StartupSurroundings>;
    reason: string;
    message: string;
    warning: string;
  }>([
    {
      why: 'the DaemonSet does not exist',
      surroundings: { daemonSetOf: () => undefined },
      reason: 'DaemonSetNotFound',
      message: `DaemonSet kube-system/cni does not exist: new nodes keep taint ${TAINT} (spec.taints[0])`,
      warning: `DaemonSet kube-system/cni does not exist: new nodes keep taint ${TAINT}`,
    },
    {
      why: 'the DaemonSet does not tolerate it',
      surroundings: { daemonSetOf: () => ({ tolerations: [], hostNetwork: true }) },
      reason: 'DaemonSetDoesNotTolerate',
      message: `DaemonSet kube-system/cni does not tolerate taint ${TAINT} (spec.taints[0]), which waits for it: new nodes keep the taint. Add the toleration to the DaemonSet`,
      warning: `DaemonSet kube-system/cni does not tolerate taint ${TAINT}, which waits for it`,
    },
    {
      why: 'one replica of taintkeeper does not tolerate it',
      surroundings: { replicas: [{ tolerations: EVERYTHING }, { tolerations: [] }] },
      reason: 'TaintkeeperDoesNotTolerate',
      message: `the pods of taintkeeper do not tolerate taint ${TAINT} (spec.taints[0]): in a cluster with only new nodes, taintkeeper could not run to remove it. Add the toleration to its Deployment`,
      warning: `the pods of taintkeeper do not tolerate taint ${TAINT}`,
    },
  ])('is that $why', ({ surroundings, reason, message, warning }) => {
    expect(faults({}, surroundings)).toEqual([{ reason, message, warning }]);
  });

  it('is reported for the DaemonSet and for taintkeeper', () => {
    const found = faults({}, { daemonSetOf: () => undefined, replicas: [{ tolerations: [] }] });
    expect(found.map(({ reason }) => reason)).toEqual(['DaemonSetNotFound', 'TaintkeeperDoesNotTolerate']);
  });

  it('is not said of a policy in mode Audit, which sets none', () => {
    expect(faults({ mode: 'Audit' }, { daemonSetOf: () => undefined })).toEqual([]);
    const all: TaintRule = { ...STARTUP, readyWhen: { allDaemonSets: {} } };
    expect(startupNotes(compiled('p', { mode: 'Audit', taints: [all] }), [])).toEqual({ warnings: [], notes: [] });
  });
});

describe('another policy that protects a startup taint', () => {
  const other = { key: 'example.com/storage', effect: 'NoSchedule' } as const;

  it('is a fault on both sides where each protects the taint of the other', () => {
    const q = compiled('q', { taints: [{ ...STARTUP, ...other }, { key: STARTUP.key }] });
    const found = faults({ taints: [STARTUP, { key: other.key }] }, { others: [q] });
    expect(found.map(({ warning }) => warning)).toEqual([
      `TaintPolicy q (spec.taints[1]) protects startup taint ${TAINT}, which stays`,
      'spec.taints[1] protects startup taint example.com/storage:NoSchedule of TaintPolicy q, which stays',
    ]);
  });

  it('is none by a pattern, which leaves out startup taints', () => {
    expect(faults({}, { others: [compiled('q', { taints: [{ key: 'example.com/*' }] })] })).toEqual([]);
  });
});

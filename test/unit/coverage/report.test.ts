import { describe, expect, it } from 'vitest';
import { groupId, reportCoverage } from '../../../src/coverage/report.ts';
import { type PoliciesWaitingFor, policiesWaitingFor } from '../../../src/coverage/startup-deadlock.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import { policySet } from '../policy/policies.ts';
import { daemonSet, GPU, MASTER, NOT_READY, node } from '../scheduling/scheduling.ts';

it.each([
  [0, 'A'],
  [25, 'Z'],
  [26, 'AA'],
  [51, 'AZ'],
  [701, 'ZZ'],
  [702, 'AAA'],
])('group %i is called %s', (index, id) => {
  expect(groupId(index)).toBe(id);
});

const agent = { ...daemonSet('agent'), annotations: {} };
const fine = { ...daemonSet('fine', { tolerations: [{ operator: 'Exists' }] }), annotations: {} };
const options = { daemonSets: [agent, fine], placements: new Map(), grouped: true, onlyGaps: false };

it('counts the gaps that policies for the role taints close', () => {
  const nodes = [node('g', [GPU]), node('m', [MASTER]), node('r', [NOT_READY]), node('mg', [MASTER, GPU])];
  expect(reportCoverage({ ...options, nodes })).toMatchObject({
    gaps: [{ nodes: ['g'] }, { nodes: ['m'] }, { nodes: ['r'], passing: true }, { nodes: ['mg'] }],
    closable: 1,
    askable: ['dedicated'],
  });
});

it('with only the gaps, groups nodes by the DaemonSets that have any, and leaves out what passes', () => {
  const nodes = [node('g', [GPU]), node('r', [NOT_READY])];
  const report = reportCoverage({ ...options, nodes, onlyGaps: true });
  expect(report.daemonSets.map(({ name }) => name)).toEqual(['agent']);
  expect(report.gaps.map(({ nodes }) => nodes)).toEqual([['g']]);
});

describe('a DaemonSet that does not tolerate a startup taint which waits for it', () => {
  const NETWORK = { key: 'startup-taint.cluster-autoscaler.kubernetes.io/network', effect: 'NoSchedule' } as const;
  const waitFor = (
    name: string,
    changes: Partial<TaintPolicySpec> = {},
    namespace = 'kube-system',
    audit = false,
  ): PoliciesWaitingFor => {
    const readyWhen = { daemonSets: [{ namespace, name }] };
    const spec: TaintPolicySpec = {
      mode: 'Restore',
      taints: [{ ...NETWORK, ensure: 'UntilReady', readyWhen }],
      ...changes,
    };
    return policiesWaitingFor(policySet({ taint: { 'wait-for-cni': spec } }, { audit }).taintPolicies);
  };
  const nodes = [node('n', [NETWORK])];

  it.each([false, true])('has a gap: neither comes before the other. With --audit: %s', (audit) => {
    const report = reportCoverage({ ...options, nodes, waits: waitFor('agent', {}, 'kube-system', audit) });
    expect(report).toMatchObject({
      gaps: [
        {
          name: 'agent',
          passing: false,
          deadlocks: [{ taint: `${NETWORK.key}:NoSchedule`, policies: ['wait-for-cni'] }],
        },
      ],
      askable: [NETWORK.key],
    });
    expect(report.daemonSets[0]?.cells[0]?.passing).toBeUndefined();
  });

  it.each<{ why: string; waits?: PoliciesWaitingFor; effect?: 'NoExecute' }>([
    { why: 'policies are not known' },
    { why: 'the taint waits for another DaemonSet', waits: waitFor('cilium') },
    { why: 'the taint waits for one of that name elsewhere', waits: waitFor('agent', {}, 'default') },
    { why: 'the policy only reports, and sets no taint', waits: waitFor('agent', { mode: 'Audit' }) },
    { why: 'the node has the key with another effect', waits: waitFor('agent'), effect: 'NoExecute' },
  ])('waits, as others do, if $why', ({ waits, effect = 'NoSchedule' }) => {
    const some = [node('n', [{ ...NETWORK, effect }])];
    const { gaps, daemonSets } = reportCoverage({ ...options, nodes: some, ...(waits ? { waits } : {}) });
    expect(gaps).toMatchObject([{ name: 'agent', passing: true }]);
    expect(gaps[0]).not.toHaveProperty('deadlocks');
    expect(daemonSets[0]?.cells[0]).toMatchObject({ passing: true });
  });

  it('is named alone where a taint that passes blocks it as well', () => {
    const both = [node('n', [NOT_READY, NETWORK])];
    expect(reportCoverage({ ...options, nodes: both, waits: waitFor('agent') }).gaps).toMatchObject([
      { taints: [`${NETWORK.key}:NoSchedule`], passing: false },
    ]);
  });
});

import { describe, expect, it } from 'vitest';
import { groupId, reportCoverage } from '../../../src/coverage/report.ts';
import { type StartupRules, startupRulesOf } from '../../../src/coverage/startup-rules.ts';
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
const options = {
  daemonSets: [agent, fine],
  placements: new Map(),
  tolerationPolicies: [],
  grouped: true,
  onlyGaps: false,
};

it('counts the gaps that policies for the role taints close', () => {
  const nodes = [node('g', [GPU]), node('m', [MASTER]), node('r', [NOT_READY]), node('mg', [MASTER, GPU])];
  expect(reportCoverage({ ...options, nodes })).toMatchObject({
    gaps: [{ nodes: ['g'] }, { nodes: ['m'] }, { nodes: ['r'], passing: true }, { nodes: ['mg'] }],
    closable: 1,
    askable: ['dedicated'],
  });
});

it('with only the gaps, groups nodes by the DaemonSets with gaps, and omits transient gaps', () => {
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
  ): StartupRules => {
    const readyWhen = { daemonSets: [{ namespace, name }] };
    const spec: TaintPolicySpec = {
      mode: 'Restore',
      taints: [{ ...NETWORK, ensure: 'UntilReady', readyWhen }],
      ...changes,
    };
    return startupRulesOf(policySet({ taint: { 'wait-for-cni': spec } }, { audit }).taintPolicies);
  };
  const nodes = [node('n', [NETWORK])];

  it.each([false, true])('has a gap, because each waits for the other. With --audit: %s', (audit) => {
    const report = reportCoverage({ ...options, nodes, startup: waitFor('agent', {}, 'kube-system', audit) });
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

  it.each<{ why: string; startup?: StartupRules; effect?: 'NoExecute' }>([
    { why: 'policies are not known' },
    { why: 'the taint waits for another DaemonSet', startup: waitFor('cilium') },
    { why: 'the taint waits for one of that name elsewhere', startup: waitFor('agent', {}, 'default') },
    { why: 'the policy only reports, and sets no taint', startup: waitFor('agent', { mode: 'Audit' }) },
    { why: 'the node has the key with another effect', startup: waitFor('agent'), effect: 'NoExecute' },
  ])('waits, as others do, if $why', ({ startup, effect = 'NoSchedule' }) => {
    const some = [node('n', [{ ...NETWORK, effect }])];
    const { gaps, daemonSets } = reportCoverage({ ...options, nodes: some, ...(startup ? { startup } : {}) });
    expect(gaps).toMatchObject([{ name: 'agent', passing: true }]);
    expect(gaps[0]).not.toHaveProperty('deadlocks');
    expect(daemonSets[0]?.cells[0]).toMatchObject({ passing: true });
  });

  it('is named without a transient taint that blocks it as well', () => {
    const both = [node('n', [NOT_READY, NETWORK])];
    expect(reportCoverage({ ...options, nodes: both, startup: waitFor('agent') }).gaps).toMatchObject([
      { taints: [`${NETWORK.key}:NoSchedule`], passing: false },
    ]);
  });
});

describe('a DaemonSet that does not tolerate a startup taint with a key of the user', () => {
  const OWN = { key: 'example.com/storage-not-ready', effect: 'NoSchedule' } as const;
  const rules = (changes: Partial<TaintPolicySpec> = {}, rule: object = {}, audit = false) => {
    const readyWhen = { daemonSets: [{ namespace: 'kube-system', name: 'csi' }] };
    const taints = [{ ...OWN, ensure: 'UntilReady', readyWhen, ...rule }] as TaintPolicySpec['taints'];
    return startupRulesOf(
      policySet({ taint: { storage: { mode: 'Restore', taints, ...changes } } }, { audit }).taintPolicies,
    );
  };
  const POOL = { nodeSelector: { matchLabels: { pool: 'a' } } };
  const nodes = [node('n', [OWN], { pool: 'a' })];

  it.each<{ why: string; startup: StartupRules }>([
    { why: 'the leader removes it', startup: rules() },
    { why: 'also with --audit', startup: rules({}, {}, true) },
    { why: 'from the nodes that the policy selects', startup: rules(POOL) },
  ])('waits: $why', ({ startup }) => {
    const { gaps, daemonSets, askable } = reportCoverage({ ...options, nodes, startup });
    expect(gaps).toMatchObject([{ name: 'agent', passing: true }]);
    expect(daemonSets[0]?.cells[0]).toMatchObject({ passing: true });
    expect(askable).toEqual([]);
  });

  it.each<{ why: string; startup?: StartupRules }>([
    { why: 'policies are not known' },
    { why: 'the policy only reports', startup: rules({ mode: 'Audit' }) },
    {
      why: 'the policy leaves its removal to others',
      startup: rules({}, { ensure: 'AtRegistration', readyWhen: undefined }),
    },
    { why: 'the node has another value', startup: rules({}, { value: 'disk' }) },
    {
      why: 'the taint waits for this DaemonSet',
      startup: rules({}, { readyWhen: { daemonSets: [{ namespace: 'kube-system', name: 'agent' }] } }),
    },
  ])('has a gap: $why', ({ startup }) => {
    const { gaps } = reportCoverage({ ...options, nodes, ...(startup ? { startup } : {}) });
    expect(gaps).toMatchObject([{ name: 'agent', passing: false }]);
  });

  it.each([true, false])('has a gap only on the nodes that the policy does not select. Grouped: %s', (grouped) => {
    const both = [...nodes, node('o', [OWN], { pool: 'b' })];
    const { gaps, nodeGroups, daemonSets } = reportCoverage({ ...options, nodes: both, startup: rules(POOL), grouped });
    expect(gaps).toMatchObject([
      { name: 'agent', nodes: ['n'], passing: true },
      { name: 'agent', nodes: ['o'], passing: false },
    ]);
    expect(nodeGroups).toMatchObject([{ nodes: ['n'] }, { nodes: ['o'] }]);
    expect(daemonSets[0]?.cells.map(({ passing = false }) => passing)).toEqual([true, false]);
  });
});

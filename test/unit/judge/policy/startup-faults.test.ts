import { describe, expect, it } from 'vitest';
import {
  protectedStartupTaintsAmong,
  protectedStartupTaintsOf,
  type StartupSurroundings,
  startupFaults,
} from '../../../../src/judge/policy/startup-faults.ts';
import { startupNotes } from '../../../../src/judge/policy/startup-notes.ts';
import type { Toleration } from '../../../../src/kubernetes/toleration.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../../src/policy/taint-rule.ts';
import { policySet, storedTaintPolicies } from '../../policy/policies.ts';

const TAINT = 'example.com/network:NoSchedule';
const CNI = { namespace: 'kube-system', name: 'cni' };
const STARTUP: TaintRule = {
  ...{ key: 'example.com/network', effect: 'NoSchedule', ensure: 'UntilReady' },
  readyWhen: { daemonSets: [CNI] },
};
const EVERYTHING: Toleration[] = [{ operator: 'Exists' }];
const daemonSetOf = () => ({ tolerations: EVERYTHING, hostNetwork: false });

interface Surroundings extends Partial<Omit<StartupSurroundings, 'protectedStartupTaints'>> {
  readonly others?: Readonly<Record<string, Partial<TaintPolicySpec>>>;
  readonly audit?: boolean;
}

/** The faults of a policy p, which has the startup taint unless `spec` says otherwise. */
function faults(
  spec: Partial<TaintPolicySpec> = {},
  { others = {}, audit = false, ...surroundings }: Surroundings = {},
) {
  const specs = Object.entries({ ...others, p: spec }).map(([name, one]) => [
    name,
    { mode: 'Restore' as const, taints: [STARTUP], ...one },
  ]);
  const all = policySet({ taint: Object.fromEntries(specs) }, { audit }).taintPolicies;
  const policy = all.find(({ name }) => name === 'p');
  if (!policy) throw new Error('policy p was not compiled');
  const faultsWith = (protectedStartupTaints: StartupSurroundings['protectedStartupTaints']) =>
    startupFaults(policy, {
      protectedStartupTaints,
      daemonSetOf,
      replicas: [{ tolerations: EVERYTHING }],
      ...surroundings,
    });
  const found = faultsWith(protectedStartupTaintsAmong(all));
  expect(faultsWith(protectedStartupTaintsOf(policy, all))).toEqual(found);
  return found;
}

describe('a problem that keeps a startup taint on new nodes', () => {
  it('does not exist if its DaemonSet and taintkeeper tolerate it', () => {
    expect(faults()).toEqual([]);
  });

  it.each<{
    why: string;
    surroundings: Surroundings;
    reason: string;
    message: string;
    warning: string;
  }>([
    {
      why: 'the DaemonSet does not exist',
      surroundings: { daemonSetOf: () => undefined },
      reason: 'DaemonSetNotFound',
      message: `DaemonSet kube-system/cni does not exist: new nodes wait with taint ${TAINT} (spec.taints[0])`,
      warning: `DaemonSet kube-system/cni does not exist: new nodes wait with taint ${TAINT}`,
    },
    {
      why: 'the leader cannot read the DaemonSet',
      surroundings: { daemonSetOf: () => 'Unreadable' },
      reason: 'DaemonSetUnreadable',
      message: `the leader cannot read DaemonSet kube-system/cni: new nodes wait with taint ${TAINT} (spec.taints[0]). Make the DaemonSet smaller; the log of the leader says what is wrong with it`,
      warning: `the leader cannot read DaemonSet kube-system/cni: new nodes wait with taint ${TAINT}`,
    },
    {
      why: 'the DaemonSet does not tolerate it',
      surroundings: { daemonSetOf: () => ({ tolerations: [], hostNetwork: true }) },
      reason: 'DaemonSetDoesNotTolerate',
      message: `DaemonSet kube-system/cni does not tolerate taint ${TAINT} (spec.taints[0]), which waits for it: new nodes wait with the taint. Add the toleration to the DaemonSet`,
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

  it('is not reported for a policy in mode Audit, which sets no taint', () => {
    expect(faults({ mode: 'Audit' }, { daemonSetOf: () => undefined })).toEqual([]);
    const all: TaintRule = { ...STARTUP, readyWhen: { allDaemonSets: {} } };
    const { taintPolicies } = policySet({ taint: { p: { mode: 'Audit', taints: [all] } } });
    expect(
      taintPolicies.map((policy) =>
        startupNotes(policy, { daemonSets: [], isKnown: () => true, companions: [], budget: { left: 100 } }),
      ),
    ).toEqual([{ warnings: [], notes: [] }]);
  });
});

it('a part of readyWhen that this version does not know keeps the taint', () => {
  const readyWhen = { daemonSets: [CNI], future: 1, next: 1 };
  const [policy] = storedTaintPolicies({ p: { mode: 'Restore', taints: [{ ...STARTUP, readyWhen }] } });
  expect(policy && startupFaults(policy, { protectedStartupTaints: [], daemonSetOf, replicas: [] })).toEqual(
    ['future', 'next'].map((part) => {
      const warning = `spec.taints[0].readyWhen.${part} is not known to this version of taintkeeper: nodes keep taint ${TAINT}`;
      const message = `${warning} (spec.taints[0]). Run the version that the CustomResourceDefinition belongs to, or remove the field`;
      return { reason: 'UnknownPart', message, warning };
    }),
  );
});

describe('a policy that protects a startup taint by its key', () => {
  const protecting = (key: string = STARTUP.key, more: Partial<TaintPolicySpec> = {}): Partial<TaintPolicySpec> => ({
    mode: 'Deny',
    taints: [{ key }],
    ...more,
  });

  it.each([
    {
      of: 'the startup taint',
      spec: {},
      others: { exact: protecting() },
      warning: `TaintPolicy exact (spec.taints[0]) protects startup taint ${TAINT}, which stays`,
      message: `spec.taints[0] of TaintPolicy exact protects startup taint ${TAINT} (spec.taints[0] of TaintPolicy p), so the taint stays: remove the key from spec.taints[0]`,
    },
    {
      of: 'the key',
      spec: protecting(),
      others: { network: {} },
      warning: `spec.taints[0] protects startup taint ${TAINT} of TaintPolicy network, which stays`,
      message: `spec.taints[0] of TaintPolicy p protects startup taint ${TAINT} (spec.taints[0] of TaintPolicy network), so the taint stays: remove the key from spec.taints[0]`,
    },
  ])('is reported for the policy with $of', ({ spec, others, warning, message }) => {
    expect(faults(spec, { others })).toEqual([{ reason: 'StartupTaintProtected', warning, message }]);
  });

  it('is reported also with --audit, so that a trial finds it', () => {
    expect(faults({}, { others: { exact: protecting() }, audit: true })).toMatchObject([
      { reason: 'StartupTaintProtected' },
    ]);
  });

  it('is reported once if it protects its own startup taint', () => {
    expect(faults({ taints: [STARTUP, { key: STARTUP.key }] })).toMatchObject([{ reason: 'StartupTaintProtected' }]);
  });

  it('is reported twice if each policy protects the startup taint of the other', () => {
    const other = { key: 'example.com/storage', effect: 'NoSchedule' } as const;
    const q = { taints: [{ ...STARTUP, ...other }, { key: STARTUP.key }] };
    const found = faults({ taints: [STARTUP, { key: other.key }] }, { others: { q } });
    expect(found.map(({ warning }) => warning)).toEqual([
      `TaintPolicy q (spec.taints[1]) protects startup taint ${TAINT}, which stays`,
      'spec.taints[1] protects startup taint example.com/storage:NoSchedule of TaintPolicy q, which stays',
    ]);
  });

  it.each<{ why: string; other: Partial<TaintPolicySpec> }>([
    { why: 'it only reports', other: protecting(STARTUP.key, { mode: 'Audit' }) },
    { why: 'it names a pattern, which leaves out startup taints', other: protecting('example.com/*') },
    { why: 'it protects another value', other: { mode: 'Deny', taints: [{ key: STARTUP.key, value: 'x' }] } },
  ])('is not reported if $why', ({ other }) => {
    expect(faults({}, { others: { other } })).toEqual([]);
  });

  it('is none where the policy of the startup taint only reports', () => {
    expect(faults(protecting(), { others: { network: { mode: 'Audit' } } })).toEqual([]);
  });

  it('is none of a third policy', () => {
    expect(faults({ taints: [{ key: 'a' }] }, { others: { network: {}, exact: protecting() } })).toEqual([]);
  });

  it('is found for one policy without a comparison of the others', () => {
    const network: TaintPolicySpec = { mode: 'Restore', taints: [STARTUP] };
    const exact: TaintPolicySpec = { mode: 'Deny', taints: [{ key: STARTUP.key }] };
    const p: TaintPolicySpec = { mode: 'Deny', taints: [{ key: 'a' }] };
    const audited: TaintPolicySpec = { ...network, mode: 'Audit' };
    const { taintPolicies } = policySet({ taint: { network, exact, p, audited } });
    const pairs = taintPolicies.map((policy) => [
      policy.name,
      protectedStartupTaintsOf(policy, taintPolicies).map(({ of, by }) => [of.name, by.name]),
    ]);
    expect(Object.fromEntries(pairs)).toEqual({
      audited: [],
      exact: [['network', 'exact']],
      network: [['network', 'exact']],
      p: [],
    });
  });

  it('is none where no node has the labels of both', () => {
    const pool = (name: string) => ({ nodeSelector: { matchLabels: { pool: name } } });
    expect(faults(pool('a'), { others: { exact: protecting(STARTUP.key, pool('b')) } })).toEqual([]);
  });
});

import { describe, expect, it } from 'vitest';
import type { Phase } from '../../../../src/judge/decision.ts';
import { nodeDrift } from '../../../../src/judge/node-drift.ts';
import type { NodeView } from '../../../../src/judge/node-view.ts';
import { remainingStartupTaints, remainingText } from '../../../../src/judge/startup/remaining-startup-taints.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import type { Requester } from '../../../../src/policy/compiled-taint-policy.ts';
import type { PolicySet } from '../../../../src/policy/policy-set.ts';
import type { TaintMode, TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import { policySet } from '../../policy/policies.ts';
import { judgeNode } from '../request/judge-node.ts';

const KUBELET: Requester = { username: 'system:node:n1', groups: ['system:nodes'] };
const AGENT: Requester = { username: 'system:serviceaccount:agents:agent', groups: [] };
const startup = { key: 'example.com/preparing', value: 'yes', effect: 'NoSchedule' } as const;
const TEXT = 'example.com/preparing=yes:NoSchedule';
const RULE = { ...startup, ensure: 'AtRegistration' } as const;

const policies = (mode: TaintMode, others: Record<string, TaintPolicySpec> = {}): PolicySet =>
  policySet({ taint: { startup: { mode, taints: [RULE] }, ...others } });

const nodeWith = (taints: readonly Taint[]): NodeView => ({
  name: 'n1',
  labels: {},
  taints,
  allowRemoval: undefined,
});

const register = (set: PolicySet, taints: readonly Taint[] = [], phase: Phase = 'mutate') =>
  judgeNode({ phase, requester: KUBELET, node: nodeWith(taints) }, set);

const update = (set: PolicySet, before: NodeView, taints: readonly Taint[], phase: Phase) =>
  judgeNode(
    {
      phase,
      requester: AGENT,
      oldNode: before,
      node: { ...before, taints },
    },
    set,
  );

describe('a startup taint', () => {
  it.each(['Deny', 'Restore'] as const)('is set when a node registers, in mode %s', (mode) => {
    const decision = register(policies(mode));
    expect(decision).toMatchObject({ action: 'patch', desired: { taints: [startup], allowRemoval: undefined } });
    expect(decision.violations).toMatchObject([{ policy: 'startup', result: 'Added', subject: TEXT }]);
  });

  it('of ensure: UntilReady is set without a record of each node: the leader tells when it removes it', () => {
    const readyWhen = { allocatable: [{ resource: 'example.com/gpu' }] };
    const set = policySet({
      taint: { startup: { mode: 'Restore', taints: [{ ...RULE, ensure: 'UntilReady', readyWhen }] } },
    });
    expect(register(set)).toMatchObject({
      action: 'patch',
      desired: { taints: [startup] },
      violations: [],
      warnings: [`TaintPolicy startup added taint ${TEXT}`],
    });
  });

  it('is only reported in mode Audit', () => {
    expect(register(policies('Audit'))).toMatchObject({ action: 'allow' });
    expect(register(policies('Audit'), [], 'validate').warnings).toEqual([
      `TaintPolicy startup, Audit: the node lacks taint ${TEXT}`,
    ]);
  });

  it.each(['Deny', 'Restore'] as const)('may be removed by every user, in mode %s', (mode) => {
    const before = nodeWith([startup]);
    for (const phase of ['mutate', 'validate'] as const) {
      expect(update(policies(mode), before, [], phase)).toMatchObject({ action: 'allow', violations: [] });
    }
  });

  it('is never set on a node that is registered', () => {
    expect(nodeDrift(nodeWith([]), policies('Restore').taintPolicies)).toEqual({
      missing: [],
      keptOff: [],
      taints: [],
    });
  });

  it('is not protected by the domain of another policy', () => {
    const set = policies('Restore', { all: { mode: 'Deny', taints: [{ key: 'example.com/*' }] } });
    expect(update(set, nodeWith([startup]), [], 'validate')).toMatchObject({ action: 'allow' });
  });

  it('that a policy in mode Audit names is protected by the domain of another policy, as every taint', () => {
    const set = policies('Audit', { all: { mode: 'Deny', taints: [{ key: 'example.com/*' }] } });
    expect(update(set, nodeWith([startup]), [], 'validate')).toMatchObject({ action: 'deny' });
  });

  it('is protected by an exact key of another policy', () => {
    const set = policies('Restore', { exact: { mode: 'Deny', taints: [{ key: startup.key }] } });
    expect(update(set, nodeWith([startup]), [], 'validate')).toMatchObject({ action: 'deny' });
  });
});

describe('a startup taint that remains on a Ready node', () => {
  const agent: Taint = { key: 'cilium.io/agent-not-ready', effect: 'NoExecute' };
  const AGENT_RULE = { key: agent.key, effect: 'NoSchedule', ensure: 'UntilReady' } as const;
  const dedicated: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
  const readyWhen = { daemonSets: [{ namespace: 'kube-system', name: 'cni' }] };

  it.each<{ what: string; taint: Taint; spec?: TaintPolicySpec; other?: TaintPolicySpec; isStartup: boolean }>([
    { what: 'a known key', taint: agent, isStartup: true },
    { what: 'another key', taint: dedicated, isStartup: false },
    { what: 'ensure: AtRegistration', taint: startup, spec: { mode: 'Deny', taints: [RULE] }, isStartup: true },
    {
      what: 'ensure: UntilReady, which has a deadline of its own',
      taint: startup,
      spec: { mode: 'Restore', taints: [{ ...RULE, ensure: 'UntilReady', readyWhen }] },
      isStartup: false,
    },
    {
      what: 'a known key, and ensure: UntilReady',
      taint: { ...agent, effect: 'NoSchedule' },
      spec: { mode: 'Restore', taints: [{ ...AGENT_RULE, readyWhen }] },
      isStartup: false,
    },
    {
      what: 'a known key, and ensure: UntilReady in mode Audit',
      taint: { ...agent, effect: 'NoSchedule' },
      spec: { mode: 'Audit', taints: [{ ...AGENT_RULE, readyWhen }] },
      isStartup: true,
    },
    {
      what: 'ensure: UntilReady and a value of another writer, which the leader does not remove',
      taint: { ...startup, value: 'no' },
      spec: { mode: 'Restore', taints: [{ ...RULE, ensure: 'UntilReady', readyWhen }] },
      isStartup: true,
    },
    {
      what: 'ensure: UntilReady, and another policy that protects it',
      taint: startup,
      spec: { mode: 'Restore', taints: [{ ...RULE, ensure: 'UntilReady', readyWhen }] },
      other: { mode: 'Deny', taints: [{ key: startup.key }] },
      isStartup: true,
    },
    {
      what: 'another value than that of the policy',
      taint: { ...startup, value: 'no' },
      spec: { mode: 'Deny', taints: [RULE] },
      isStartup: true,
    },
    {
      what: 'another effect than that of the policy',
      taint: { ...startup, effect: 'NoExecute' },
      spec: { mode: 'Deny', taints: [RULE] },
      isStartup: false,
    },
    {
      what: 'ensure: Always',
      taint: startup,
      spec: { mode: 'Deny', taints: [{ ...RULE, ensure: 'Always' }] },
      isStartup: false,
    },
    { what: 'a policy in mode Audit', taint: startup, spec: { mode: 'Audit', taints: [RULE] }, isStartup: false },
    {
      what: 'a policy for other nodes',
      taint: startup,
      spec: { mode: 'Deny', taints: [RULE], nodeSelector: { matchLabels: { pool: 'gpu' } } },
      isStartup: false,
    },
  ])('is one with $what: $isStartup', ({ taint, spec, other, isStartup }) => {
    const { taintPolicies } = policySet({ taint: { ...(spec ? { startup: spec } : {}), ...(other ? { other } : {}) } });
    expect(remainingStartupTaints(nodeWith([dedicated, taint]), taintPolicies)).toEqual(isStartup ? [taint] : []);
  });

  it('is reported with its name, for whole minutes', () => {
    expect(remainingText([agent], 20 * 60_000 + 59_999)).toBe(
      'startup taint cilium.io/agent-not-ready:NoExecute has been on the Ready node for 20 minutes',
    );
    expect(remainingText([agent, startup], 21 * 60_000)).toBe(
      `startup taints cilium.io/agent-not-ready:NoExecute, ${TEXT} have been on the Ready node for 21 minutes`,
    );
  });

  it('is counted after the fourth if there are more than five', () => {
    const taints = Array.from({ length: 6 }, (_, index) => ({ key: `startup-${index}`, effect: 'NoSchedule' }));
    const names = 'startup-0:NoSchedule, startup-1:NoSchedule, startup-2:NoSchedule, startup-3:NoSchedule';
    expect(remainingText(taints, 1_200_000)).toBe(
      `startup taints ${names}, and 2 more have been on the Ready node for 20 minutes`,
    );
    expect(remainingText(taints.slice(0, 5), 1_200_000)).toBe(
      `startup taints ${names}, startup-4:NoSchedule have been on the Ready node for 20 minutes`,
    );
  });
});

import { describe, expect, it } from 'vitest';
import type { Phase } from '../../../src/judge/decision.ts';
import type { NodeView } from '../../../src/judge/node-view.ts';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import type { PolicySet, Requester } from '../../../src/policy/policy-set.ts';
import type { TaintMode, TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import { policySet } from '../policy/policies.ts';
import { withRecorded } from './established.ts';
import { judgeNode } from './judge-node.ts';
import { driftAmong } from './node-drifts.ts';

const KUBELET: Requester = { username: 'system:node:n1', groups: ['system:nodes'] };
const AGENT: Requester = { username: 'system:serviceaccount:agents:agent', groups: [] };
const startup: Taint = { key: 'example.com/preparing', value: 'yes', effect: 'NoSchedule' };
const TEXT = 'example.com/preparing=yes:NoSchedule';
const RULE = { ...startup, ensure: 'AtRegistration' } as const;

const policies = (mode: TaintMode, others: Record<string, TaintPolicySpec> = {}): PolicySet =>
  policySet({ taint: { startup: { mode, taints: [RULE] }, ...others } as Record<string, TaintPolicySpec> });

const nodeWith = (taints: readonly Taint[]): NodeView => ({
  name: 'n1',
  labels: {},
  taints,
  allowRemoval: undefined,
});

const register = (set: PolicySet, taints: readonly Taint[] = [], phase: Phase = 'mutate') =>
  judgeNode({ phase, requester: KUBELET, node: nodeWith(taints) }, set);

const update = (set: PolicySet, before: NodeView, taints: readonly Taint[], phase: Phase, recorded?: string) =>
  judgeNode(
    {
      phase,
      requester: AGENT,
      oldNode: withRecorded(before, recorded),
      node: { ...before, taints },
    },
    set,
  );

describe('a startup taint', () => {
  it.each(['Deny', 'Restore'] as const)('is set when a node registers, in mode %s', (mode) => {
    const decision = register(policies(mode));
    expect(decision).toMatchObject({ action: 'patch', desired: { taints: [startup], allowRemoval: undefined } });
    expect(decision.violations).toMatchObject([{ policy: 'startup', outcome: 'added', subject: TEXT }]);
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
    const { losses, desired } = driftAmong(nodeWith([]), policies('Restore').taintPolicies);
    expect({ losses, desired }).toEqual({ losses: [], desired: undefined });
  });

  it.each([{ recorded: undefined }, { recorded: TEXT }])(
    'is not protected by a pattern of another policy, also where a record lists it ($recorded)',
    ({ recorded }) => {
      const set = policies('Restore', {
        all: { mode: 'Deny', taints: [{ key: '*', restrict: ['Removal', 'Addition'] }] },
      });
      expect(update(set, nodeWith([startup]), [], 'validate', recorded)).toMatchObject({ action: 'allow' });
      expect(update(set, nodeWith([]), [startup], 'validate')).toMatchObject({ action: 'allow' });
    },
  );

  it('that a policy in mode Audit names is protected by a pattern of another policy, as every taint', () => {
    const taints = [{ key: '*', restrict: ['Removal', 'Addition'] }] as const;
    const set = policies('Audit', { all: { mode: 'Deny', taints: [...taints] } });
    expect(update(set, nodeWith([startup]), [], 'validate', TEXT)).toMatchObject({ action: 'deny' });
    expect(update(set, nodeWith([]), [startup], 'validate')).toMatchObject({ action: 'deny' });
  });

  it('is protected by an exact key of another policy', () => {
    const set = policies('Restore', { exact: { mode: 'Deny', taints: [{ key: startup.key, restrict: ['Removal'] }] } });
    expect(update(set, nodeWith([startup]), [], 'validate')).toMatchObject({ action: 'deny' });
  });
});

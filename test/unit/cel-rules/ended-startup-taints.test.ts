import { describe, expect, it } from 'vitest';
import { bind } from '../../../src/cel/expression.ts';
import { endsStartupTaint } from '../../../src/cel-rules/ended-startup-taints.ts';
import { LABELS, LABELS_BEFORE } from '../../../src/cel-rules/selection.ts';
import { TAINTS_AFTER, TAINTS_BEFORE } from '../../../src/cel-rules/taints.ts';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../src/policy/taint-rule.ts';
import { webhookEntries } from '../../../src/webhooks/webhook-entries.ts';
import { LEAVING_CASES } from '../judge/request/leaving-cases.ts';
import { policySet } from '../policy/policies.ts';
import { calledWebhooks } from './called-webhooks.ts';
import { nodeWith } from './calls-about-nodes.ts';
import { taintPolicies, updateRequest } from './case-requests.ts';
import { parseCel } from './evaluate.ts';
import { unseenRequest } from './requests.ts';

type Specs = Readonly<Record<string, TaintPolicySpec>>;

describe.each(['Ignore', 'Fail'] as const)('where policies have failurePolicy %s,', (failurePolicy) => {
  it.each(LEAVING_CASES)('the webhook is called where the engine warns about $ended: $why', ({ policies, ...one }) => {
    const { node, request } = updateRequest(one.update);
    const specs = Object.entries(policies).map(([name, spec]) => [
      name,
      // A policy that only reports fails open.
      { ...spec, failurePolicy: spec.mode === 'Audit' ? 'Ignore' : failurePolicy } as const,
    ]);
    const called = calledWebhooks(webhookEntries(taintPolicies(Object.fromEntries(specs))));
    const seen = unseenRequest(request, { nodes: [node], daemonSets: [] });
    expect(called(seen, 'validate')).toEqual(one.ended.length > 0 ? ['report.taintkeeper.dev'] : []);
    expect(called(seen, 'mutate')).toEqual([]);
  });
});

const STARTUP = { key: 'example.com/network', effect: 'NoSchedule' } as const;
const WAITING: TaintRule = {
  ...{ ...STARTUP, ensure: 'UntilReady' },
  readyWhen: { daemonSets: [{ namespace: 'kube-system', name: 'cilium' }] },
};
const policy = (taints: TaintRule[], more: Partial<TaintPolicySpec> = {}): TaintPolicySpec => ({
  mode: 'Restore',
  taints,
  ...more,
});
const network = policy([WAITING], { nodeSelector: { matchLabels: { pool: 'gpu' } } });

describe('a node with more taints than the condition compares', () => {
  const SIZE = 2;
  const others: Taint[] = ['a', 'b', 'c'].map((key) => ({ key, effect: 'NoSchedule' }));

  it.each([
    {
      what: 'as many taints, with the startup taint',
      taints: [STARTUP, ...others.slice(1, SIZE)],
      newPool: 'cpu',
      is: true,
    },
    { what: 'as many other taints', taints: others.slice(0, SIZE), newPool: 'cpu', is: false },
    { what: 'more taints', taints: others, newPool: 'cpu', is: true },
    { what: 'more taints, and the policy still selects it', taints: [STARTUP, ...others], newPool: 'gpu', is: false },
  ])('counts as one that loses a startup taint: $is, with $what', ({ taints, newPool, is }) => {
    const expression = endsStartupTaint(policySet({ taint: { network } }).taintPolicies, SIZE);
    const ends = parseCel(bind([TAINTS_BEFORE, TAINTS_AFTER, LABELS_BEFORE, LABELS], expression).text);
    const variables = { oldObject: nodeWith(taints, { pool: 'gpu' }), object: nodeWith(taints, { pool: newPool }) };
    expect(ends(variables)).toBe(is);
  });
});

describe('the condition is not longer for policies that do not matter to it', () => {
  const textOf = (taint: Specs) => endsStartupTaint(policySet({ taint }).taintPolicies, 512).text;
  const zone = { nodeSelector: { matchLabels: { zone: 'a' } } };
  const ofValue = (value: string): TaintRule => ({ key: STARTUP.key, value });
  const protecting = (taints: TaintRule[], more: Partial<TaintPolicySpec> = {}): Specs => ({
    network,
    a: policy(taints, { ...zone, ...more }),
    b: policy([ofValue('b')], zone),
  });

  it.each<{ what: string; policies: Specs; shorter: Specs }>([
    {
      what: 'protect other taints',
      policies: { network, other: policy([{ key: 'dedicated' }]) },
      shorter: { network },
    },
    {
      what: 'set other taints at registration',
      policies: { network, other: policy([{ key: 'dedicated', effect: 'NoSchedule', ensure: 'AtRegistration' }]) },
      shorter: { network },
    },
    {
      what: 'protect other taints as well',
      policies: protecting([ofValue('a'), { key: 'dedicated' }]),
      shorter: protecting([ofValue('a')]),
    },
    {
      what: 'exempt users',
      policies: protecting([ofValue('a')], { exempt: { users: ['ann'] } }),
      shorter: protecting([ofValue('a')]),
    },
  ])('because they $what', ({ policies, shorter }) => {
    expect(textOf(policies)).toBe(textOf(shorter));
    expect(textOf(shorter)).not.toBe('false');
  });
});

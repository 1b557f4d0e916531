import { describe, expect, it } from 'vitest';
import type { Phase } from '../../../../src/judge/decision.ts';
import { MAX_COMPARED, MAX_JUDGED } from '../../../../src/judge/request/node-changes.ts';
import type { NodeUpdate } from '../../../../src/judge/request/node-request.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import { policySet } from '../../policy/policies.ts';
import { judgeNode } from './judge-node.ts';

const PRESENT = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' } as const;
const PROTECTED: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const others = (count: number): Taint[] =>
  Array.from({ length: count }, (_, n) => ({ key: `example.com/${n}`, effect: 'NoSchedule' }));
const node = (taints: readonly Taint[], labels = {}) => ({ name: 'n', labels, taints, allowRemoval: undefined });

const judged = (
  spec: Partial<TaintPolicySpec>,
  before: readonly Taint[],
  after: readonly Taint[],
  request: Partial<NodeUpdate> & { readonly phase?: Phase } = {},
) => {
  const taints = [{ key: 'dedicated' }];
  const requester = { username: 'dev', groups: [] };
  const update = {
    phase: 'validate',
    requester,
    node: node(after),
    oldNode: node(before),
  } as const;
  return judgeNode({ ...update, ...request }, policySet({ taint: { p: { mode: 'Deny', taints, ...spec } } }));
};

it.each(['Deny', 'Restore'] as const)('a protected taint is not lost if many others are removed: %s', (mode) => {
  const before = [...others(MAX_JUDGED), PROTECTED];
  const decision = judged({ mode }, before, []);

  expect(decision).toMatchObject({
    action: 'deny',
    violations: [
      {
        ...{ policyKind: 'TaintPolicy', policy: 'p', field: 'spec.taints', mode },
        ...{ result: 'Denied', subject: `${MAX_JUDGED + 1} taints` },
      },
    ],
    message:
      `node n: ${MAX_JUDGED + 1} taints are removed in one update, ` +
      `and at most ${MAX_JUDGED} are judged where a TaintPolicy protects taints: "p". ` +
      'Change fewer taints in one update, or delete the node and restart its kubelet.',
  });
  expect(judged({ mode }, before, [], { phase: 'mutate' })).toMatchObject({ action: 'allow', violations: [] });
});

it('each policy that may protect one of many removed taints is named', () => {
  const spec: TaintPolicySpec = { mode: 'Deny', taints: [{ key: 'dedicated' }] };
  const policies = policySet({
    taint: { a: spec, b: spec, c: { ...spec, taints: [{ ...PRESENT, ensure: 'AtRegistration' }] } },
  });
  const update = {
    phase: 'validate',
    requester: { username: 'dev', groups: [] },
    node: node([PROTECTED]),
    oldNode: node(others(MAX_JUDGED + 1)),
  } as const;
  expect(judgeNode(update, policies)).toMatchObject({
    message: expect.stringContaining('where a TaintPolicy protects taints: "a", "b". '),
  });
});

it('an update that adds many taints cannot remove a protected one', () => {
  const many = others(5_000);
  expect(judged({}, [PROTECTED], many)).toMatchObject({
    action: 'deny',
    violations: [{ result: 'Denied', subject: 'dedicated=gpu:NoSchedule' }],
  });
  expect(judged({}, [], many)).toMatchObject({ action: 'allow' });
});

it('removed taints up to the limit are judged one by one', () => {
  const decision = judged({}, [...others(MAX_JUDGED - 1), PROTECTED], []);
  expect(decision).toMatchObject({ action: 'deny', violations: [{ subject: 'dedicated=gpu:NoSchedule' }] });
  expect(judged({}, others(MAX_JUDGED), [])).toMatchObject({ action: 'allow', violations: [], warnings: [] });
});

it.each([
  { who: 'in mode Audit', spec: { mode: 'Audit' as const } },
  { who: 'that exempts the user', spec: { exempt: { users: ['dev'] } } },
  { who: 'that selects other nodes', spec: { nodeSelector: { matchLabels: { pool: 'other' } } } },
])('more of them pass a policy $who, and a warning says that they were not judged', ({ spec }) => {
  const decision = judged(spec, others(MAX_JUDGED + 1), []);
  expect(decision).toMatchObject({ action: 'allow', violations: [] });
  expect(decision.warnings).toEqual([expect.stringContaining(`at most ${MAX_JUDGED} are judged`)]);
});

it('a single change on a node with thousands of taints is judged like any other', () => {
  const many = others(5_000);
  expect(judged({}, [...many, PROTECTED], many)).toMatchObject({ action: 'deny' });
  expect(judged({}, [PROTECTED, ...many], many)).toMatchObject({ action: 'deny' });
  expect(judged({}, many, [...many.slice(0, 9), PROTECTED, ...many.slice(9)])).toMatchObject({ action: 'allow' });
  expect(judged({}, [...many, PROTECTED], [PROTECTED, ...many.slice(1)])).toMatchObject({ action: 'allow' });
});

describe('where more taints than are compared stand between the first difference and the last,', () => {
  const many = others(MAX_COMPARED);

  it('a protected taint is not lost at any position', () => {
    const decision = judged({}, [...many, PROTECTED], [{ key: 'first', effect: 'NoSchedule' }, ...many]);
    expect(decision).toMatchObject({
      action: 'deny',
      violations: [{ result: 'Denied', subject: '8193 taints' }],
      message: expect.stringContaining(
        'node n: 8193 taints in a row are replaced by 8193 in one update, and at most 8192',
      ),
    });
  });

  it.each(['Deny', 'Restore'] as const)('a new order is denied, as the taints are not compared: %s', (mode) => {
    const before = [...many, PROTECTED];
    expect(judged({ mode }, before, before.toReversed())).toMatchObject({ action: 'deny' });
    expect(judged({ mode }, before, before.toReversed(), { phase: 'mutate' })).toMatchObject({ action: 'allow' });
    expect(judged({ mode }, before.slice(1), before.slice(1).toReversed())).toMatchObject({ action: 'allow' });
  });

  it('additions alone pass, with a warning that they were not compared', () => {
    const decision = judged({}, [], [...many, PROTECTED]);
    expect(decision).toMatchObject({ action: 'allow', violations: [] });
    expect(decision.warnings).toEqual([expect.stringContaining('0 taints in a row are replaced by 8193')]);
  });
});

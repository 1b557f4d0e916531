import { describe, expect, it } from 'vitest';
import {
  contradictions,
  contradictionWarnings,
  disagreements,
  isContradiction,
  rivalsOf,
  whyFirst,
} from '../../../src/judge/contradictions.ts';
import type { CompiledTaintPolicy } from '../../../src/policy/policy-set.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import { policySet } from '../policy/policies.ts';
import { nodeOf } from './node-drifts.ts';

const TAINT = { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' } as const;
const required = (value: string | undefined, more: Partial<TaintPolicySpec> = {}): TaintPolicySpec => ({
  mode: 'Restore',
  taints: [{ ...TAINT, ...(value === undefined ? {} : { value }) }],
  ...more,
});
const on = (labels: Record<string, string>) => ({ nodeSelector: { matchLabels: labels } });
const nodes = [
  { ...nodeOf([]), name: 'n1', labels: { pool: 'gpu' } },
  { ...nodeOf([]), name: 'n2', labels: { pool: 'gpu', zone: 'a' } },
];

describe('contradictions of required values', () => {
  it.each<{ why: string; a: TaintPolicySpec; b: TaintPolicySpec; audit?: boolean; expected: string[] }>([
    {
      why: 'by name, where both modes are the same',
      a: required('gpu', on({ pool: 'gpu' })),
      b: required('ml'),
      expected: [
        'a dedicated=gpu:NoSchedule over b dedicated=ml:NoSchedule on n1, n2: both are in mode Restore, and a comes first by name',
      ],
    },
    {
      why: 'by the stronger mode',
      a: required('gpu'),
      b: required('ml', { mode: 'Deny', ...on({ zone: 'a' }) }),
      expected: ['b dedicated=ml:NoSchedule over a dedicated=gpu:NoSchedule on n2: mode Deny wins over mode Restore'],
    },
    {
      why: 'by the mode that is declared, with --audit',
      a: required('gpu'),
      b: required('ml', { mode: 'Deny' }),
      audit: true,
      expected: [
        'b dedicated=ml:NoSchedule over a dedicated=gpu:NoSchedule on n1, n2: mode Deny wins over mode Restore',
      ],
    },
    {
      why: 'none with a policy that only reports',
      a: required('gpu'),
      b: required('ml', { mode: 'Audit' }),
      expected: [],
    },
    { why: 'none where one takes any value', a: required('gpu'), b: required(undefined), expected: [] },
    { why: 'none where both require the same', a: required('gpu'), b: required('gpu'), expected: [] },
    {
      why: 'none where no node is selected by both',
      a: required('gpu', on({ zone: 'a' })),
      b: required('ml', on({ zone: 'b' })),
      expected: [],
    },
    {
      why: 'without nodes, where one selector includes the other',
      a: required('gpu', on({ pool: 'new' })),
      b: required('ml', on({ pool: 'new', zone: 'z' })),
      expected: [
        'a dedicated=gpu:NoSchedule over b dedicated=ml:NoSchedule on : both are in mode Restore, and a comes first by name',
      ],
    },
  ])('$why', ({ a, b, audit = false, expected }) => {
    const { taintPolicies } = policySet({ taint: { a, b } }, { audit });
    const found = contradictions(taintPolicies, nodes).map(
      ({ first, second, meeting }) =>
        `${first.policy.name} ${first.text} over ${second.policy.name} ${second.text} on ${meeting.nodes.join(', ')}: ${whyFirst(first.policy, second.policy)}`,
    );
    expect(found).toEqual(expected);
  });
});

describe('disagreements that are no contradictions', () => {
  const evicting = (value: string | undefined, mayEvict: boolean): TaintPolicySpec => ({
    mode: 'Restore',
    taints: [{ ...TAINT, ...(value === undefined ? {} : { value }), effect: 'NoExecute', mayEvict }],
  });

  it.each<{ why: string; a: TaintPolicySpec; b: TaintPolicySpec; expected: object }>([
    {
      why: 'one of the policies only reports',
      a: required('gpu', { mode: 'Audit' }),
      b: required('ml'),
      expected: { about: 'value', first: { policy: { name: 'b' } }, isAudited: true, meeting: { isCertain: true } },
    },
    {
      why: 'no node is selected by both, and one could come',
      a: required('gpu', on({ pool: 'cpu' })),
      b: required('ml', on({ zone: 'b' })),
      expected: { about: 'value', isAudited: false, meeting: { nodes: [], isCertain: false } },
    },
    {
      why: 'only one of the policies allows evictions',
      a: evicting('gpu', true),
      b: evicting('gpu', false),
      expected: { about: 'mayEvict', isAudited: false, meeting: { nodes: ['n1', 'n2'] } },
    },
    {
      why: 'only one of the policies allows evictions, and one accepts any value',
      a: evicting('gpu', true),
      b: evicting(undefined, false),
      expected: { about: 'mayEvict' },
    },
  ])('$why', ({ a, b, expected }) => {
    const { taintPolicies } = policySet({ taint: { a, b } });
    const found = disagreements(taintPolicies, nodes);
    expect(found).toMatchObject([expected]);
    expect(found.filter(isContradiction)).toEqual([]);
    expect(contradictions(taintPolicies, nodes)).toEqual([]);
  });

  it('with different values, evictions are not compared', () => {
    const { taintPolicies } = policySet({ taint: { a: evicting('gpu', true), b: evicting('ml', false) } });
    expect(disagreements(taintPolicies, nodes)).toMatchObject([{ about: 'value' }]);
  });
});

describe('what the author of a policy is told', () => {
  const policiesOf = (taint: Record<string, TaintPolicySpec>) => policySet({ taint }).taintPolicies;
  const one = (spec: TaintPolicySpec) => policiesOf({ mine: spec })[0] as CompiledTaintPolicy;

  it.each<{ why: string; mine: TaintPolicySpec; other: TaintPolicySpec; rivals: number }>([
    { why: 'another value', mine: required('gpu'), other: required('ml'), rivals: 1 },
    { why: 'the same value', mine: required('gpu'), other: required('gpu'), rivals: 0 },
    { why: 'any value', mine: required('gpu'), other: required(undefined), rivals: 0 },
    {
      why: 'another value, and only reports',
      mine: required('gpu'),
      other: required('ml', { mode: 'Audit' }),
      rivals: 0,
    },
    {
      why: 'another value, where mine only reports',
      mine: required('gpu', { mode: 'Audit' }),
      other: required('ml'),
      rivals: 0,
    },
  ])('a policy that requires $why counts $rivals times', ({ mine, other, rivals }) => {
    expect(rivalsOf(one(mine), policiesOf({ other }))).toHaveLength(rivals);
  });

  it.each<{ nodes: string[]; mine: TaintPolicySpec; says: string }>([
    {
      nodes: [],
      mine: required('gpu'),
      says: 'TaintPolicy other requires dedicated=ml:NoSchedule on the same nodes, but this policy wins',
    },
    {
      nodes: ['n1'],
      mine: required('gpu'),
      says: 'TaintPolicy other requires dedicated=ml:NoSchedule on node n1, but this policy wins',
    },
    {
      nodes: ['n1', 'n2'],
      mine: required('gpu', { mode: 'Restore' }),
      says: 'TaintPolicy other requires dedicated=ml:NoSchedule on 2 nodes, but this policy wins',
    },
  ])('names the rival, the nodes and which policy wins: $says', ({ nodes: shared, mine, says }) => {
    const others = policiesOf({ other: required('ml') });
    const rivals = new Map(others.map((other) => [other, shared]));
    expect(contradictionWarnings(one(mine), rivals)).toEqual([says]);
  });

  it('says where the other policy wins', () => {
    const others = policiesOf({ other: required('ml', { mode: 'Deny' }) });
    expect(contradictionWarnings(one(required('gpu')), new Map(others.map((other) => [other, ['n1']])))).toEqual([
      'TaintPolicy other requires dedicated=ml:NoSchedule on node n1, and wins over this policy',
    ]);
  });
});

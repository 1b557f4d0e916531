import { describe, expect, it } from 'vitest';
import type { NodeView } from '../../../../src/judge/node-view.ts';
import {
  contradictions,
  contradictionText,
  contradictionWarnings,
  disagreeingWith,
  disagreements,
  isContradiction,
  whyFirst,
} from '../../../../src/judge/policy/contradictions.ts';
import type { SelectionOverlap } from '../../../../src/judge/policy/selection-overlap.ts';
import type { CompiledTaintPolicy } from '../../../../src/policy/compiled-taint-policy.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import { policySet } from '../../policy/policies.ts';
import { nodeOf } from '../node-drifts.ts';

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

const among =
  (all: readonly Pick<NodeView, 'name' | 'labels'>[]) =>
  ({ selectsNode }: CompiledTaintPolicy) =>
    all.filter(({ labels }) => selectsNode(labels));

const placeOf = ({ nodes, within }: SelectionOverlap) =>
  [...nodes, ...(within ? [`each node of ${within.name}`] : [])].join(', ');

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
    {
      why: 'without nodes, where the selector of a includes that of b',
      a: required('gpu', on({ pool: 'new' })),
      b: required('ml', on({ pool: 'new', zone: 'z' })),
      expected: [
        'a dedicated=gpu:NoSchedule over b dedicated=ml:NoSchedule on each node of b: both are in mode Restore, and a comes first by name',
      ],
    },
    {
      why: 'without nodes, where the selector of b includes that of a',
      a: required('gpu', on({ pool: 'new', zone: 'z' })),
      b: required('ml', on({ pool: 'new' })),
      expected: [
        'a dedicated=gpu:NoSchedule over b dedicated=ml:NoSchedule on each node of a: both are in mode Restore, and a comes first by name',
      ],
    },
  ])('$why', ({ a, b, audit = false, expected }) => {
    const { taintPolicies } = policySet({ taint: { a, b } }, { audit });
    const found = contradictions(taintPolicies, among(nodes)).map(
      ({ first, second, overlap }) =>
        `${first.policy.name} ${first.text} over ${second.policy.name} ${second.text} on ${placeOf(overlap)}: ${whyFirst(first.policy, second.policy)}`,
    );
    expect(found).toEqual(expected);
  });
});

describe('policies that do not disagree', () => {
  it.each<{ why: string; a: TaintPolicySpec; b?: TaintPolicySpec }>([
    { why: 'one accepts any value', a: required('gpu'), b: required(undefined) },
    { why: 'both require the same value', a: required('gpu'), b: required('gpu') },
    {
      why: 'they require different taints',
      a: required('gpu'),
      b: { mode: 'Restore', taints: [{ ...TAINT, key: 'pool', value: 'ml' }] },
    },
    {
      why: 'no node can have the labels of both',
      a: required('gpu', on({ zone: 'a' })),
      b: required('ml', on({ zone: 'b' })),
    },
  ])('$why', ({ a, b }) => {
    const { taintPolicies } = policySet({ taint: { a, ...(b ? { b } : {}) } });
    expect(disagreements(taintPolicies, among(nodes))).toEqual([]);
  });
});

describe('disagreements that are no contradictions', () => {
  it.each<{ why: string; a: TaintPolicySpec; b: TaintPolicySpec; expected: object }>([
    {
      why: 'one of the policies only reports',
      a: required('gpu', { mode: 'Audit' }),
      b: required('ml'),
      expected: { first: { policy: { name: 'b' } }, isAudited: true, overlap: { isCertain: true } },
    },
    {
      why: 'no node is selected by both, and one could come',
      a: required('gpu', on({ pool: 'cpu' })),
      b: required('ml', on({ zone: 'b' })),
      expected: { isAudited: false, overlap: { nodes: [], isCertain: false } },
    },
  ])('$why', ({ a, b, expected }) => {
    const { taintPolicies } = policySet({ taint: { a, b } });
    const found = disagreements(taintPolicies, among(nodes));
    expect(found).toMatchObject([expected]);
    expect(found.filter(isContradiction)).toEqual([]);
    expect(contradictions(taintPolicies, among(nodes))).toEqual([]);
  });
});

describe('the status of both policies', () => {
  const many = ['n3', 'n4'].map((name) => ({ ...nodeOf([]), name, labels: { pool: 'gpu' } }));

  it.each<{ of: readonly { name: string; labels: Record<string, string> }[]; where: string }>([
    { of: [], where: 'select the same nodes' },
    { of: nodes.slice(0, 1), where: 'select node n1' },
    { of: nodes, where: 'select nodes n1, n2' },
    { of: [...nodes, ...many], where: 'select nodes n1, n2, and 2 more' },
  ])('they $where', ({ of, where }) => {
    const { taintPolicies } = policySet({ taint: { a: required('gpu'), b: required('ml', { mode: 'Deny' }) } });
    expect(contradictions(taintPolicies, among(of)).map(contradictionText)).toEqual([
      `TaintPolicies b and a ${where} and require dedicated=ml:NoSchedule and dedicated=gpu:NoSchedule: ` +
        'a node that registers gets dedicated=ml:NoSchedule, because mode Deny wins over mode Restore; ' +
        'a running node keeps what it carries',
    ]);
  });
});

describe('the warnings for the author of a policy', () => {
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
    {
      why: 'another value, among other taints',
      mine: required('gpu'),
      other: { mode: 'Restore', taints: [{ ...TAINT, key: 'pool' }, ...required('ml').taints] },
      rivals: 1,
    },
    {
      why: 'another value, where one rule of mine accepts any value',
      mine: { mode: 'Restore', taints: [...required(undefined).taints, ...required('gpu').taints] },
      other: required('ml'),
      rivals: 1,
    },
  ])('a policy that requires $why counts $rivals times', ({ mine, other, rivals }) => {
    expect(disagreeingWith(one(mine), policiesOf({ other }))).toHaveLength(rivals);
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

  it('says nothing about a rival if no node is selected by both, although one could be added', () => {
    const others = policiesOf({ other: required('ml', on({ zone: 'b' })) });
    const mine = one(required('gpu', on({ pool: 'cpu' })));
    expect(contradictionWarnings(mine, new Map(others.map((other) => [other, []])))).toEqual([]);
  });

  it('says which policies win, by mode and then by name, and nothing about contradictions between the others', () => {
    const others = policiesOf({
      z: required('ml', { mode: 'Deny' }),
      a: required('web'),
      other: required('cpu'),
      same: required('gpu'),
    });
    expect(contradictionWarnings(one(required('gpu')), new Map(others.map((other) => [other, ['n1']])))).toEqual([
      'TaintPolicy z requires dedicated=ml:NoSchedule on node n1, and wins over this policy',
      'TaintPolicy a requires dedicated=web:NoSchedule on node n1, and wins over this policy',
      'TaintPolicy other requires dedicated=cpu:NoSchedule on node n1, but this policy wins',
    ]);
  });
});

import { describe, expect, it } from 'vitest';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import type { Policy } from '../../../src/policy/policy.ts';
import { callsAbout, nodeWith } from './calls-about-nodes.ts';

// On a node with very many taints, conditions compare less. What that costs, an API server says (test/e2e/match-conditions-limits.test.ts).

const NOT_READY: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' };
const PROTECTED: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const PRESENT: Taint = { key: 'example.com/present', effect: 'NoSchedule' };

const others = (count: number): Taint[] =>
  Array.from({ length: count }, (_, index) => ({ key: `example.org/${index}`, value: 'v', effect: 'NoSchedule' }));

const policy: Policy = {
  kind: 'TaintPolicy',
  name: 'p',
  spec: {
    mode: 'Deny',
    nodeSelector: { matchLabels: { pool: 'gpu' } },
    taints: [{ key: 'dedicated' }, { key: 'example.com/present', effect: 'NoSchedule', ensure: 'AtRegistration' }],
  },
};
const inPool = (taints: readonly Taint[]) => nodeWith(taints, { pool: 'gpu' });

// The conditions are written in the test that asks: the mutation check runs a mutant with the tests in which its code ran.
const callsFor: ReturnType<typeof callsAbout> = (request) => callsAbout([policy])(request);

describe.each([
  { count: 100, exact: true, some: true },
  { count: 1_000, exact: false, some: true },
  { count: 20_000, exact: false, some: false },
])('an update of a node with $count taints', ({ count, exact, some }) => {
  const before = [...others(count), PROTECTED, NOT_READY];
  // On a long list, the condition of mutation knows only the keys.
  const BOTH = ['restore', 'protect'];
  const REMOVAL = exact ? ['protect'] : BOTH;

  it.each<{ what: string; after: readonly Taint[]; calls: string[] }>([
    { what: 'changes none', after: before, calls: [] },
    { what: 'takes off a protected one', after: before.filter((taint) => taint !== PROTECTED), calls: REMOVAL },
    { what: 'changes its value', after: before.with(count, { ...PROTECTED, value: 'cpu' }), calls: REMOVAL },
    { what: 'takes off one that Kubernetes sets and removes', after: before.slice(0, -1), calls: some ? [] : BOTH },
    { what: 'takes off another one', after: before.slice(1), calls: some ? [] : BOTH },
    { what: 'adds one', after: [...before, { key: 'new', effect: 'NoSchedule' }], calls: some ? [] : BOTH },
  ])('that $what', ({ after, calls }) => {
    expect(callsFor({ operation: 'UPDATE', object: inPool(after), oldObject: inPool(before) })).toEqual(calls);
  });
});

describe.each([
  { count: 100, exact: true },
  { count: 1_000, exact: false },
])('a change of labels of a node with $count taints', ({ count, exact }) => {
  const selecting: Policy = {
    ...policy,
    spec: { ...policy.spec, taints: [{ ...PRESENT, effect: 'NoSchedule', ensure: 'Always' }] },
  } as Policy;

  it.each<{ what: string; taints: readonly Taint[]; labels: Record<string, string>; calls: string[] }>([
    {
      what: 'makes the policy select it without its taint',
      taints: others(count),
      labels: { pool: 'gpu' },
      calls: ['restore'],
    },
    {
      what: 'makes the policy select it with its taint',
      taints: [...others(count), PRESENT],
      labels: { pool: 'gpu' },
      calls: exact ? [] : ['restore'],
    },
    { what: 'does not', taints: others(count), labels: { pool: 'cpu' }, calls: [] },
  ])('that $what', ({ taints, labels, calls }) => {
    const request = { operation: 'UPDATE', object: nodeWith(taints, labels), oldObject: nodeWith(taints) } as const;
    expect(callsAbout([selecting])(request)).toEqual(calls);
  });
});

it.each<{ what: string; taints: readonly Taint[]; calls: string[] }>([
  { what: '512 taints and the one that it needs', taints: [...others(511), PRESENT], calls: [] },
  { what: '512 taints without that one', taints: others(512), calls: ['register', 'report-registration'] },
  { what: 'more than 512 taints', taints: [...others(512), PRESENT], calls: ['register', 'report-registration'] },
])('a new node with $what', ({ taints, calls }) => {
  expect(callsFor({ operation: 'CREATE', object: inPool(taints), oldObject: null })).toEqual(calls);
});

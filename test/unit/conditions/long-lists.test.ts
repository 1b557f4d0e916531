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
    taints: [
      { key: 'dedicated', restrict: ['Removal', 'Unselection'] },
      { key: 'example.com/present', effect: 'NoSchedule', ensure: 'AtRegistration' },
    ],
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
  const BOTH = ['restore', 'protect'];

  it.each<{ what: string; after: readonly Taint[]; calls: string[] }>([
    { what: 'changes none', after: before, calls: [] },
    { what: 'takes off a protected one', after: before.filter((taint) => taint !== PROTECTED), calls: BOTH },
    { what: 'changes its value', after: before.with(count, { ...PROTECTED, value: 'cpu' }), calls: BOTH },
    { what: 'takes off one that Kubernetes sets and removes', after: before.slice(0, -1), calls: some ? [] : BOTH },
    { what: 'takes off another one', after: before.slice(1), calls: some ? [] : BOTH },
    { what: 'adds one', after: [...before, { key: 'new', effect: 'NoSchedule' }], calls: some ? [] : BOTH },
  ])('that $what', ({ after, calls }) => {
    expect(callsFor({ operation: 'UPDATE', object: inPool(after), oldObject: inPool(before) })).toEqual(calls);
  });

  it.each<{ what: string; taints: readonly Taint[]; labels: Record<string, string>; calls: string[] }>([
    { what: 'leaves the policy with its taint', taints: before, labels: { pool: 'cpu' }, calls: BOTH },
    { what: 'leaves the policy without it', taints: others(count), labels: { pool: 'cpu' }, calls: exact ? [] : BOTH },
    { what: 'stays in it', taints: before, labels: { pool: 'gpu', zone: 'a' }, calls: exact ? [] : BOTH },
  ])('that $what', ({ taints, labels, calls }) => {
    expect(callsFor({ operation: 'UPDATE', object: nodeWith(taints, labels), oldObject: inPool(taints) })).toEqual(
      calls,
    );
  });
});

it.each<{ what: string; taints: readonly Taint[]; calls: string[] }>([
  { what: '512 taints and the one that it needs', taints: [...others(511), PRESENT], calls: [] },
  { what: '512 taints without that one', taints: others(512), calls: ['register', 'report-registration'] },
  { what: 'more than 512 taints', taints: [...others(512), PRESENT], calls: ['register', 'report-registration'] },
])('a new node with $what', ({ taints, calls }) => {
  expect(callsFor({ operation: 'CREATE', object: inPool(taints), oldObject: null })).toEqual(calls);
});

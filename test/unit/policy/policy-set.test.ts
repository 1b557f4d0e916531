import { describe, expect, it } from 'vitest';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import { inAudit, type NativelyExpressible, needsNativePolicies } from '../../../src/policy/backstop.ts';
import { startupKeysOf } from '../../../src/policy/compiled-taint-policy.ts';
import { compileDaemonSetSelection } from '../../../src/policy/daemon-set-selection.ts';
import { isOnTrial } from '../../../src/policy/enforcement.ts';
import { type Policy, parsePolicy } from '../../../src/policy/policy.ts';
import type { RecoveryPolicySpec } from '../../../src/policy/recovery-policy.ts';
import type { TaintMode, TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import type { TolerationPolicySpec } from '../../../src/policy/toleration-policy.ts';
import type { TolerationRestrictionSpec } from '../../../src/policy/toleration-restriction.ts';
import { manifest, policySet } from './policies.ts';

const protecting = (mode: TaintPolicySpec['mode']): TaintPolicySpec => ({
  mode,
  taints: [{ key: 'dedicated' }],
});
const tolerating = (more: Partial<TolerationPolicySpec> = {}): TolerationPolicySpec => ({
  mode: 'Mutate',
  daemonSets: { namespaces: ['kube-system'] },
  ...more,
});
const restricting = (mode: TolerationRestrictionSpec['mode']): TolerationRestrictionSpec => ({
  mode,
  taints: [{ key: 'gpu' }],
});
const recovering: RecoveryPolicySpec = { mode: 'Recover', daemonSets: { namespaces: ['kube-system'] } };
const taint = (key: string): Taint => ({ key, effect: 'NoSchedule' });

function read(kind: string, spec: unknown): Policy {
  const result = parsePolicy(manifest(kind, 'p', spec));
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.policy;
}

function taintPolicy(spec: TaintPolicySpec, options?: { audit?: boolean }) {
  const [compiled] = policySet({ taint: { p: spec } }, options).taintPolicies;
  if (!compiled) throw new Error('nothing was compiled');
  return compiled;
}

describe('a set of policies', () => {
  const all = {
    taint: { a: protecting('Audit'), r: protecting('Restore'), z: protecting('Deny'), d: protecting('Deny') },
    toleration: { a: tolerating({ mode: 'Audit' }), z: tolerating(), m: tolerating() },
    restriction: { a: restricting('Audit'), z: restricting('Deny'), d: restricting('Deny') },
    recovery: { a: { ...recovering, mode: 'Audit' as const }, z: recovering, d: recovering },
  };
  const names = (policies: readonly { readonly name: string }[]) => policies.map(({ name }) => name);

  it('has a list for each kind, the strongest mode first, then by name', () => {
    const set = policySet(all);
    expect(names(set.taintPolicies)).toEqual(['d', 'z', 'r', 'a']);
    expect(names(set.tolerationPolicies)).toEqual(['m', 'z', 'a']);
    expect(names(set.tolerationRestrictions)).toEqual(['d', 'z', 'a']);
    expect(names(set.recoveryPolicies)).toEqual(['d', 'z', 'a']);
    const kinds = [set.taintPolicies, set.tolerationPolicies, set.tolerationRestrictions, set.recoveryPolicies]
      .flat()
      .map(({ kind }) => kind);
    expect([...new Set(kinds)]).toEqual(['TaintPolicy', 'TolerationPolicy', 'TolerationRestriction', 'RecoveryPolicy']);
  });

  it('says which taints a policy sets, each with its field, and not those that it only protects', () => {
    const { ensured, required, startup } = taintPolicy({
      mode: 'Deny',
      taints: [
        { key: 'a', effect: 'NoSchedule' },
        { key: 'b', value: 'x', effect: 'NoSchedule', ensure: 'Always' },
        { key: 'c', effect: 'NoExecute', ensure: 'AtRegistration' },
      ],
    });
    const b = { taint: { key: 'b', value: 'x', effect: 'NoSchedule' }, anyValue: false };
    const c = { taint: { key: 'c', effect: 'NoExecute' }, anyValue: true };
    expect(required).toEqual([{ ...b, field: 'spec.taints[1]', ensure: 'Always' }]);
    expect(startup).toEqual([{ ...c, field: 'spec.taints[2]', ensure: 'AtRegistration' }]);
    expect(ensured).toEqual([...required, ...startup]);
  });

  it('has every policy in mode Audit with audit', () => {
    const set = policySet(all, { audit: true });
    const modes = [set.taintPolicies, set.tolerationPolicies, set.tolerationRestrictions, set.recoveryPolicies]
      .flat()
      .map(({ mode }) => mode);
    expect(modes).toEqual(Array(13).fill('Audit'));
    expect(set.tolerationPolicies.map(({ name, declaredMode }) => [name, declaredMode])).toEqual([
      ['a', 'Audit'],
      ['m', 'Mutate'],
      ['z', 'Mutate'],
    ]);
  });
});

describe('a pattern', () => {
  const pattern: TaintPolicySpec = { mode: 'Deny', taints: [{ key: 'example.com/*' }] };
  const starting = (key: string): TaintPolicySpec => ({
    mode: 'Deny',
    taints: [
      {
        key,
        effect: 'NoSchedule',
        ensure: 'UntilReady',
        readyWhen: { daemonSets: [{ namespace: 'kube-system', name: 'cni' }] },
      },
    ],
  });

  it('covers no startup taint of another policy, which an exact key does', () => {
    const exact: TaintPolicySpec = { mode: 'Deny', taints: [{ key: 'example.com/starting' }] };
    const [byName, byPattern] = policySet({
      taint: { exact, pattern, starting: starting('example.com/starting') },
    }).taintPolicies;
    const fields = ['example.com/starting', 'example.com/other'].map((key) =>
      [byName, byPattern].map((policy) => policy?.protectingRule(taint(key))?.field),
    );
    expect(fields).toEqual([
      ['spec.taints[0]', undefined],
      [undefined, 'spec.taints[0]'],
    ]);
  });

  it('covers no startup taint of its own policy, and the exceptions that it names besides', () => {
    const spec: TaintPolicySpec = {
      mode: 'Deny',
      taints: [{ key: 'example.com/*', except: ['example.com/mine'] }, ...starting('example.com/starting').taints],
    };
    const policy = taintPolicy(spec);
    const keys = ['starting', 'mine', 'other'].map((key) => policy.protectingRule(taint(`example.com/${key}`))?.field);
    expect(keys).toEqual([undefined, undefined, 'spec.taints[0]']);
  });

  it('comes after an exact key of its policy', () => {
    const policy = taintPolicy({
      mode: 'Deny',
      taints: [{ key: 'example.com/*' }, { key: 'example.com/a', effect: 'NoSchedule' }],
    });
    expect(policy.protectingRule(taint('example.com/a'))?.field).toBe('spec.taints[1]');
    expect(policy.protectingRule({ ...taint('example.com/a'), effect: 'NoExecute' })?.field).toBe('spec.taints[0]');
    expect(policy.protectingRule(taint('dedicated'))?.field).toBeUndefined();
  });

  it('startup keys are sorted, each once', () => {
    const policies = ['b', 'a', 'b'].map((key) => read('TaintPolicy', starting(`example.com/${key}`)));
    expect(startupKeysOf([...policies, read('TolerationPolicy', tolerating())])).toEqual([
      'example.com/a',
      'example.com/b',
    ]);
    expect(startupKeysOf([read('TaintPolicy', protecting('Deny'))])).toEqual([]);
  });
});

it.each<{ mode: TaintPolicySpec['mode']; removalByAnnotation?: 'Forbidden'; audit: boolean; may: boolean }>([
  { mode: 'Deny', audit: false, may: true },
  { mode: 'Deny', audit: true, may: true },
  { mode: 'Deny', removalByAnnotation: 'Forbidden', audit: false, may: false },
  { mode: 'Deny', removalByAnnotation: 'Forbidden', audit: true, may: false },
  { mode: 'Audit', audit: false, may: false },
  { mode: 'Audit', audit: true, may: false },
])(
  'mode $mode, removalByAnnotation $removalByAnnotation, audit $audit: the annotation allows removals, as declared: $may',
  ({ mode, removalByAnnotation, audit, may }) => {
    const policy = taintPolicy(
      { ...protecting(mode), ...(removalByAnnotation ? { removalByAnnotation } : {}) },
      { audit },
    );
    expect(policy.allowsRemovalByAnnotation).toBe(may);
  },
);

it.each([
  { exempt: undefined, exempts: false },
  { exempt: { users: ['a'] }, exempts: true },
  { exempt: { users: ['a'], groups: ['g'] }, exempts: true },
])('a policy with exempt $exempt exempts a user: $exempts', ({ exempt, exempts }) => {
  const spec = { ...protecting('Deny'), ...(exempt ? { exempt } : {}) };
  expect(taintPolicy(spec).exemptsUsers).toBe(exempts);
});

it.each([
  { mode: 'Mutate', existing: 'Patch', audit: false, patches: true },
  { mode: 'Mutate', existing: 'Report', audit: false, patches: false },
  { mode: 'Mutate', existing: undefined, audit: false, patches: false },
  { mode: 'Mutate', existing: 'Patch', audit: true, patches: false },
] as const)(
  'mode $mode, existing $existing, audit $audit: patches DaemonSets that run: $patches',
  ({ mode, existing, audit, patches }) => {
    const spec = tolerating({ mode, ...(existing ? { existing } : {}) });
    expect(policySet({ toleration: { p: spec } }, { audit }).tolerationPolicies[0]?.patchesExisting).toBe(patches);
  },
);

it('each toleration has its field', () => {
  const tolerations = ['a', 'b'].map((key) => ({ key, operator: 'Exists' as const }));
  const [policy] = policySet({ toleration: { p: tolerating({ tolerations }) } }).tolerationPolicies;
  expect(policy?.tolerations.map(({ value, field }) => [value.key, field])).toEqual([
    ['a', 'spec.tolerations[0]'],
    ['b', 'spec.tolerations[1]'],
  ]);
});

it.each([
  { namespace: 'one', name: 'cni', is: true },
  { namespace: 'two', name: 'agent-x', is: true },
  { namespace: 'three', name: 'cni', is: false },
  { namespace: 'one', name: 'other', is: false },
])('a selection by two namespaces and two names selects $namespace/$name: $is', ({ namespace, name, is }) => {
  const selects = compileDaemonSetSelection({ namespaces: ['one', 'two'], names: ['cni', 'agent-*'] });
  expect(selects({ namespace, name, labels: {} })).toBe(is);
});

describe('native policies', () => {
  const native = { backstop: 'Native' } as const;

  it.each<{ kind: string; spec: unknown; asks: boolean }>([
    { kind: 'TaintPolicy', spec: protecting('Deny'), asks: false },
    { kind: 'TaintPolicy', spec: { ...protecting('Deny'), ...native }, asks: true },
    { kind: 'TolerationPolicy', spec: tolerating(), asks: false },
    { kind: 'TolerationPolicy', spec: { ...tolerating(), ...native }, asks: true },
    { kind: 'TolerationRestriction', spec: restricting('Audit'), asks: true },
    { kind: 'RecoveryPolicy', spec: recovering, asks: false },
  ])('are asked for by a $kind with $spec: $asks', ({ kind, spec, asks }) => {
    expect(needsNativePolicies(read(kind, spec))).toBe(asks);
  });

  it.each<{ kind: string; spec: object; left: object }>([
    { kind: 'TaintPolicy', spec: { ...protecting('Deny'), failurePolicy: 'Ignore' }, left: protecting('Audit') },
    { kind: 'TolerationPolicy', spec: tolerating({ existing: 'Patch' }), left: tolerating({ mode: 'Audit' }) },
    { kind: 'TolerationRestriction', spec: restricting('Deny'), left: restricting('Audit') },
  ])('of a $kind in mode Audit leave out what an Audit policy must not say', ({ kind, spec, left }) => {
    const audited = inAudit(read(kind, spec) as NativelyExpressible);
    expect(audited).toEqual({ kind, name: 'p', spec: left });
    expect(parsePolicy(manifest(kind, 'p', audited.spec)).ok).toBe(true);
  });
});

it.each<{ mode: TaintMode; audit: boolean; is: boolean }>([
  { mode: 'Restore', audit: true, is: true },
  { mode: 'Restore', audit: false, is: false },
  { mode: 'Audit', audit: true, is: false },
  { mode: 'Audit', audit: false, is: false },
])('only --audit keeps a policy from acting: $is in mode $mode, --audit $audit', ({ mode, audit, is }) => {
  const { taintPolicies } = policySet({ taint: { p: { mode, taints: [{ key: 'a' }] } } }, { audit });
  expect(taintPolicies.map(isOnTrial)).toEqual([is]);
});

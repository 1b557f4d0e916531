import { describe, expect, it } from 'vitest';
import { translate } from '../../../src/native/translate.ts';
import { type Policy, parsePolicy } from '../../../src/policy/policy.ts';
import type { TolerationPolicySpec } from '../../../src/policy/toleration-policy.ts';
import { manifest } from '../policy/policies.ts';

function policy(name: string, spec: Partial<TolerationPolicySpec> = {}) {
  const parsed = parsePolicy(
    manifest('TolerationPolicy', name, { mode: 'Mutate', daemonSets: { namespaces: ['kube-system'] }, ...spec }),
  );
  if (!parsed.ok || parsed.policy.kind !== 'TolerationPolicy') throw new Error(JSON.stringify(parsed));
  return parsed.policy;
}

const translated = (
  one: ReturnType<typeof policy>,
  {
    among = [one],
    mutates = true,
    purpose = 'Alone',
  }: { among?: Policy[]; mutates?: boolean; purpose?: 'Alone' | 'Backstop' } = {},
) => translate(one, { among, mutates, purpose });

const other = (key: string) => [{ key, operator: 'Exists' as const, effect: 'NoSchedule' as const }];

describe('a TolerationPolicy in the own language of the API server', () => {
  it.each<{ why: string; spec: Partial<TolerationPolicySpec>; mutates: boolean; names: string[]; fields: string[] }>([
    { why: 'adds and reports', spec: {}, mutates: true, names: ['tolerate', 'report-tolerations'], fields: [] },
    { why: 'in Audit only reports', spec: { mode: 'Audit' }, mutates: true, names: ['report-tolerations'], fields: [] },
    {
      why: 'only reports where there is no mutation',
      spec: {},
      mutates: false,
      names: ['report-tolerations'],
      fields: ['spec.mode'],
    },
    {
      why: 'changes nothing that runs',
      spec: { existing: 'Patch' },
      mutates: true,
      names: ['tolerate', 'report-tolerations'],
      fields: ['spec.existing'],
    },
  ])('$why', ({ spec, mutates, names, fields }) => {
    const { policies, limits } = translated(policy('cni', spec), { mutates });
    expect(policies.map(({ name }) => name)).toEqual(names.map((name) => `cni.${name}.taintkeeper.dev`));
    expect(policies.map((one) => one.spec.failurePolicy)).toEqual(names.map(() => 'Ignore'));
    expect(limits.map(({ field }) => field)).toEqual(fields);
  });

  it.each([
    { namespaces: ['kube-system', 'cilium'], selected: ['cilium', 'kube-system'] },
    { namespaces: ['kube-system', 'kube-*'], selected: undefined },
    { namespaces: ['kube-system', 'Not a namespace'], selected: undefined },
  ])('is evaluated in its namespaces alone, if they are named: $namespaces', ({ namespaces, selected }) => {
    const { policies } = translated(policy('p', { daemonSets: { namespaces } }));
    const expression = { key: 'kubernetes.io/metadata.name', operator: 'In', values: selected };
    expect(policies.map(({ spec }) => spec.matchConstraints.namespaceSelector)).toEqual(
      policies.map(() => selected && { matchExpressions: [expression] }),
    );
    expect(policies).toHaveLength(2);
  });

  it('warns where there is no webhook to do so', () => {
    const actions = (purpose: 'Alone' | 'Backstop') =>
      translated(policy('cni'), { purpose }).policies.flatMap((one) =>
        one.kind === 'ValidatingAdmissionPolicy' ? one.validationActions : [],
      );
    expect(actions('Alone')).toEqual(['Warn']);
    expect(actions('Backstop')).toEqual(['Audit']);
  });

  it('adds for the policies that may be for the same DaemonSets, and for no others', () => {
    const one = policy('one', { tolerations: other('one') });
    const among = [
      one,
      policy('same', { tolerations: other('same') }),
      policy('elsewhere', { tolerations: other('elsewhere'), daemonSets: { namespaces: ['cilium'] } }),
      policy('audit', { tolerations: other('audit'), mode: 'Audit' }),
    ];
    const [mutating] = translated(one, { among }).policies;
    const text = JSON.stringify(mutating);
    expect(['one', 'same', 'elsewhere', 'audit'].filter((key) => text.includes(`\\"key\\": \\"${key}\\"`))).toEqual([
      'one',
      'same',
    ]);
  });

  it('says nothing of what another policy has reported', () => {
    const among = [policy('a'), policy('b')];
    expect(among.map((one) => translated(one, { among }).policies.map(({ kind }) => kind))).toEqual([
      ['MutatingAdmissionPolicy', 'ValidatingAdmissionPolicy'],
      ['MutatingAdmissionPolicy'],
    ]);
  });

  it('has nothing to do where every pod tolerates it anyway, or where nothing keeps pods off', () => {
    const tolerations = [
      { key: 'node.kubernetes.io/unschedulable', operator: 'Exists' as const, effect: 'NoSchedule' as const },
      { key: 'spot', operator: 'Exists' as const, effect: 'PreferNoSchedule' as const },
    ];
    expect(translated(policy('p', { tolerations })).policies).toEqual([]);
  });

  it('is refused where the API server would not evaluate it, or not take its name', () => {
    const many = (prefix: string) =>
      Array.from({ length: 64 }, (_, index) => ({
        key: `example.com/${prefix.padEnd(40, 'k')}${index}`,
        operator: 'Exists' as const,
      }));
    const among = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name) => policy(name, { tolerations: many(name) }));
    const [first = policy('a')] = among;
    expect(translated(first).refusal).toBeUndefined();
    expect(translated(first, { among })).toMatchObject({
      policies: [],
      refusal: expect.stringContaining('TolerationPolicy a: '),
    });
    expect(translated(policy('n'.repeat(230))).refusal).toContain('shorten the name of the policy by');
  });
});

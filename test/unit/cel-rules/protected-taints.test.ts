import { describe, expect, it } from 'vitest';
import { isProtected, isTransientByName, keyCondition } from '../../../src/cel-rules/protected-taints.ts';
import { matchesPattern } from '../../../src/kubernetes/pattern.ts';
import { isTransientTaintKey } from '../../../src/kubernetes/transient-taints.ts';
import { compileRules, type TaintRule } from '../../../src/policy/taint-rule.ts';
import { parseCel } from './evaluate.ts';

const KEYS = [
  ...['dedicated', 'example.com/a', 'example.com/b', 'team-7.example.com/x', 'team-0.example.com/x', 'other'],
  ...['node.kubernetes.io/not-ready', 'node.kubernetes.io/unschedulable', 'node.cilium.io/agent-not-ready'],
  ...['karpenter.sh/disrupted', 'karpenter.sh/unregistered', 'kubevirt.io/drain', 'cni.istio.io/not-ready'],
  ...['readiness.k8s.io/network', 'readiness.k8s.io/storage'],
  // Permanent, though the domain is that of a program.
  ...['karpenter.sh/controller', 'karpenter.sh/capacity-type', 'node.kubernetes.io/instance-type'],
];

const rule = (key: string, more: Partial<TaintRule> = {}): TaintRule => ({ key, ...more });
const teams = (count: number) => Array.from({ length: count }, (_, index) => rule(`team-${index}.example.com/x`));

/** The keys for which the condition is true of a taint. */
function keysOf({ text }: { readonly text: string }): string[] {
  const condition = parseCel(text);
  return KEYS.filter((key) => condition({ t: { key, effect: 'NoSchedule' } }));
}

/** The keys of taints that the engine finds a rule for, with some value and effect. */
function protectedBy(rules: readonly TaintRule[]): string[] {
  const protectingRule = compileRules(
    rules.map(({ value: _value, effect: _effect, ...any }) => ({ ...any, field: '' })),
  );
  return KEYS.filter((key) => protectingRule({ key, effect: 'NoSchedule' }));
}

describe('what counts in lists of which only the keys are compared', () => {
  const few = [
    rule('dedicated', { value: 'x', effect: 'NoExecute' }),
    rule('node.kubernetes.io/unschedulable'),
    rule('example.com/*', { except: ['example.com/b'] }),
  ];

  it.each<{ what: string; rules: TaintRule[] }>([
    { what: 'one key', rules: [rule('dedicated')] },
    { what: 'keys and patterns', rules: few },
    { what: 'patterns of domains with both', rules: [rule('karpenter.sh/*'), rule('node.kubernetes.io/*')] },
    {
      what: 'a pattern twice, once with an exception',
      rules: [rule('example.com/*', { except: ['example.com/a'] }), rule('example.com/*')],
    },
  ])('is exactly what the rules protect, by few rules: $what', ({ rules }) => {
    expect(keysOf(keyCondition(rules))).toEqual(protectedBy(rules));
  });

  it('by many rules, is every key that a rule names, or that Kubernetes and operators do not set and remove', () => {
    const rules = [...teams(400), rule('node.kubernetes.io/unschedulable'), rule('karpenter.sh/*')];
    const named = ['node.kubernetes.io/unschedulable'];
    expect(keysOf(keyCondition(rules))).toEqual(KEYS.filter((key) => !isTransientTaintKey(key) || named.includes(key)));
  });

  it('by many rules of which one names a key of a family, such as readiness.k8s.io/*, includes no other key of it', () => {
    const rules = [...teams(400), rule('readiness.k8s.io/network')];
    const named = ['readiness.k8s.io/network'];
    expect(keysOf(keyCondition(rules))).toEqual(KEYS.filter((key) => !isTransientTaintKey(key) || named.includes(key)));
  });

  it('is the same by fewer rules with long keys', () => {
    const rules = teams(100).map(({ key, ...others }) => ({ ...others, key: `${'long-'.repeat(20)}${key}` }));
    expect(keysOf(keyCondition(rules))).toEqual(KEYS.filter((key) => !isTransientTaintKey(key)));
  });

  it('by many rules that name keys of one family, such as readiness.k8s.io/*, includes the whole family', () => {
    const parts = Array.from({ length: 400 }, (_, index) => rule(`readiness.k8s.io/part-${index}`));
    const rules = [...parts, rule('dedicated')];
    const family = (key: string) => matchesPattern('readiness.k8s.io/*', key);
    expect(keysOf(keyCondition(rules))).toEqual(KEYS.filter((key) => !isTransientTaintKey(key) || family(key)));
  });

  // 700,000 units (LONG_LIST_BUDGET) for 4,000 items: 2,000 taints before and after an update. Reading an item costs 20.
  it.each<{ what: string; rules: TaintRule[] }>([
    { what: 'a rule for every key', rules: [rule('*')] },
    { what: '200 rules', rules: teams(200) },
  ])('costs little enough for the keys of 2,000 taints: $what', ({ rules }) => {
    expect(keyCondition(rules).cost(0)).toBeLessThanOrEqual(155);
  });

  it('does not depend on the order of the rules, nor on how often one of them is there', () => {
    const transient = [rule('node.kubernetes.io/unschedulable'), rule('kubevirt.io/drain')];
    for (const rules of [few, transient, [...teams(400), ...transient]]) {
      const otherwise = [...rules, ...rules].reverse();
      expect(keyCondition(otherwise).text).toBe(keyCondition(rules).text);
      expect(isTransientByName(otherwise).text).toBe(isTransientByName(rules).text);
    }
  });
});

it('isProtected is true for a pattern, except for taints that Kubernetes and operators set and remove', () => {
  const rules = [rule('example.com/*'), rule('node.cilium.io/*'), rule('kubevirt.io/drain')].map((one, index) => ({
    ...one,
    field: `spec.taints[${index}]`,
  }));
  expect(keysOf(isProtected(rules))).toEqual(protectedBy(rules));
});

it('isTransientByName is true for taints that operators set and remove, if a rule names their exact key', () => {
  const rules = [rule('kubevirt.io/drain'), rule('dedicated'), rule('karpenter.sh/*'), rule('cni.istio.io/not-ready')];
  expect(keysOf(isTransientByName(rules))).toEqual(['kubevirt.io/drain', 'cni.istio.io/not-ready']);
});

import { expect, it } from 'vitest';
import { corrections, NO_CORRECTIONS } from '../../../src/cel-rules/corrected-values.ts';
import { rulesOf } from '../../../src/cel-rules/node-policies.ts';
import type { TaintRule } from '../../../src/policy/taint-rule.ts';
import { policySet } from '../policy/policies.ts';

const requiring = (key: string, value: string): TaintRule => ({ key, value, effect: 'NoSchedule', ensure: 'Always' });

// What corrections mean is in updates-of-nodes.test.ts. Nearly all conditions are shorter without them.
it.each<{ why: string; required: TaintRule; other?: TaintRule; has: boolean }>([
  { why: 'a rule protects any value', required: requiring('dedicated', 'gpu'), other: { key: 'dedicated' }, has: true },
  {
    why: 'a rule protects another value with the same effect',
    required: requiring('dedicated', 'gpu'),
    other: { key: 'dedicated', value: 'cpu', effect: 'NoSchedule' },
    has: true,
  },
  {
    why: 'a rule protects the domain',
    required: requiring('example.com/a', 'gpu'),
    other: { key: 'example.com/*' },
    has: true,
  },
  { why: 'only its own rule protects the taint', required: requiring('dedicated', 'gpu'), has: false },
  { why: 'only its own rule protects the taint without a value', required: requiring('dedicated', ''), has: false },
  {
    why: 'a rule protects the same value',
    required: requiring('dedicated', 'gpu'),
    other: { key: 'dedicated', value: 'gpu' },
    has: false,
  },
  { why: 'a rule protects another key', required: requiring('dedicated', 'gpu'), other: { key: 'other' }, has: false },
  {
    why: 'a rule protects another effect',
    required: requiring('dedicated', 'gpu'),
    other: { key: 'dedicated', effect: 'NoExecute' },
    has: false,
  },
  {
    why: 'a rule protects the domain, and excepts the key',
    required: requiring('example.com/a', 'gpu'),
    other: { key: 'example.com/*', except: ['example.com/a'] },
    has: false,
  },
  {
    why: 'a rule protects the domain of a taint that Karpenter sets and removes',
    required: requiring('karpenter.sh/unregistered', 'gpu'),
    other: { key: 'karpenter.sh/*' },
    has: false,
  },
])('values are corrected: $has, where $why', ({ required, other, has }) => {
  const { taintPolicies } = policySet({
    taint: {
      required: { mode: 'Restore', taints: [required] },
      ...(other ? { other: { mode: 'Deny', taints: [other] } } : {}),
    },
  });
  expect(corrections(taintPolicies, rulesOf(taintPolicies)) === NO_CORRECTIONS).toBe(!has);
});

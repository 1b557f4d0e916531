import { expect, it } from 'vitest';
import { mutatingAmong } from '../../../src/policy/compiled-toleration-policy.ts';
import type { TolerationPolicySpec } from '../../../src/policy/toleration-policy.ts';
import { policySet } from './policies.ts';

it('only policies in mode Mutate add tolerations', () => {
  const specOf = (mode: TolerationPolicySpec['mode']) => ({ mode, daemonSets: { namespaces: ['kube-system'] } });
  const { tolerationPolicies } = policySet({ toleration: { a: specOf('Audit'), m: specOf('Mutate') } });
  expect(mutatingAmong(tolerationPolicies).map(({ name }) => name)).toEqual(['m']);
  expect(mutatingAmong(tolerationPolicies)).toBe(mutatingAmong(tolerationPolicies));
});

import { expect, it } from 'vitest';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import { nodeWarnings } from '../../../../src/replica/apply-warnings/node-warnings.ts';
import { policySet } from '../../policy/policies.ts';

const waiting = (key: string, mode: 'Restore' | 'Audit' = 'Restore'): TaintPolicySpec => ({
  mode,
  taints: [
    {
      ...{ key, effect: 'NoSchedule', ensure: 'UntilReady' },
      readyWhen: { conditions: [{ type: 'example.com/Warm' }] },
    },
  ],
});

it.each<{ when: string; mode?: 'Audit'; signal?: AbortSignal; expected: string[] }>([
  { when: 'found among the policies that select one of its nodes', expected: ['b'] },
  { when: 'not looked for after the time limit', signal: AbortSignal.abort(), expected: [] },
  { when: 'not looked for if it only reports', mode: 'Audit', expected: [] },
])('the companions of a policy are $when', async ({ mode, signal = new AbortController().signal, expected }) => {
  const elsewhere = { ...waiting('c'), nodeSelector: { matchLabels: { pool: 'cpu' } } };
  const { taintPolicies } = policySet({ taint: { a: waiting('a', mode), b: waiting('b'), elsewhere } });
  const policy = taintPolicies.find(({ name }) => name === 'a');
  if (!policy) throw new Error('there is no policy');
  const others = taintPolicies.filter((one) => one !== policy);
  const nodes = [{ name: 'n1', labels: { pool: 'gpu' }, taints: [], allowRemoval: undefined }];
  const { companions } = await nodeWarnings(policy, { nodes, before: undefined, others, isComplete: true, signal });
  expect(companions.map(({ name }) => name)).toEqual(expected);
});

import { expect, it } from 'vitest';
import { TRUE } from '../../../src/cel/expression.ts';
import { anyPolicy } from '../../../src/cel-rules/node-policies.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import { policySet } from '../policy/policies.ts';

const GPU: TaintPolicySpec = {
  mode: 'Deny',
  nodeSelector: { matchLabels: { pool: 'gpu' } },
  taints: [{ key: 'a' }],
};
const EXEMPT: TaintPolicySpec = { ...GPU, exempt: { users: ['admin'] } };
const ELSEWHERE: TaintPolicySpec = { ...GPU, nodeSelector: { matchLabels: { pool: 'cpu' } } };

it.each([
  { ignoresExemptions: false, asked: ['elsewhere: a', 'exempt: a', 'gpu: a, b'] },
  { ignoresExemptions: true, asked: ['elsewhere: a', 'exempt: a, a, b'] },
])(
  'policies with the same nodes share one condition, which a request evaluates once: $asked',
  ({ ignoresExemptions, asked }) => {
    const { taintPolicies } = policySet({
      taint: { elsewhere: ELSEWHERE, exempt: EXEMPT, gpu: GPU, gpu2: { ...GPU, taints: [{ key: 'b' }] } },
    });
    const found: string[] = [];
    anyPolicy(
      taintPolicies,
      ({ name }, rules) => {
        found.push(`${name}: ${rules.map(({ key }) => key).join(', ')}`);
        return TRUE;
      },
      { ignoresExemptions },
    );
    expect(found).toEqual(asked);
  },
);

import { expect, it } from 'vitest';
import { collectCompanions } from '../../../../src/judge/policy/companions.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import { policySet } from '../../policy/policies.ts';

const waiting: TaintPolicySpec = {
  mode: 'Restore',
  taints: [
    {
      ...{ key: 'a', effect: 'NoSchedule', ensure: 'UntilReady' },
      readyWhen: { conditions: [{ type: 'example.com/Warm' }] },
    },
  ],
};
const required: TaintPolicySpec = {
  mode: 'Restore',
  taints: [{ key: 'b', effect: 'NoSchedule', ensure: 'Always' }],
};

/** The companions of each policy, if each of these lists of names selects a node. */
function companionsOf(specs: Readonly<Record<string, TaintPolicySpec>>, ...lists: readonly string[][]) {
  const { taintPolicies } = policySet({ taint: specs });
  const companions = collectCompanions();
  for (const names of lists) companions.add(taintPolicies.filter(({ name }) => names.includes(name)));
  return Object.fromEntries(
    taintPolicies.flatMap((policy) => {
      const names = companions.of(policy).map(({ name }) => name);
      return names.length > 0 ? [[policy.name, names]] : [];
    }),
  );
}

it('the companions of a policy are those that select one of its nodes and set taints', () => {
  const protects: TaintPolicySpec = { mode: 'Deny', taints: [{ key: 'c' }] };
  const audit: TaintPolicySpec = { ...required, mode: 'Audit' };
  const specs = { p: waiting, z: waiting, q: required, audit, protects, elsewhere: waiting };
  expect(companionsOf(specs, ['p', 'q', 'audit', 'protects'], ['p', 'z'], ['elsewhere'])).toEqual({
    p: ['q', 'z'],
    z: ['p'],
  });
});

it('the companions are sorted by name, in any order of the nodes', () => {
  const specs = { p: waiting, a: required, z: required };
  expect(companionsOf(specs, ['p', 'a'], ['p', 'z'])).toEqual({ p: ['a', 'z'] });
  expect(companionsOf(specs, ['p', 'z'], ['p', 'a'])).toEqual({ p: ['a', 'z'] });
});

it('the comparison is limited, however many policies select a node, and on however many kinds of nodes', () => {
  const names = Array.from({ length: 100 }, (_, index) => `p${index}`);
  const found = companionsOf(Object.fromEntries(names.map((name) => [name, waiting])), names);
  expect(Object.values(found).map(({ length }) => length)).toEqual(Array(32).fill(31));
  const kinds = Array.from({ length: 1_000 }, () => ['p']);
  expect(companionsOf({ p: waiting, q: required }, ...kinds, ['p', 'q'])).toEqual({});
});

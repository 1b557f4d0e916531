import { expect, it } from 'vitest';
import { requiredTaintsOn } from '../../../src/judge/removable-taints.ts';
import { policySet } from '../policy/policies.ts';

const GPU = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' } as const;

const pool = policySet({
  taint: {
    pool: {
      mode: 'Audit',
      nodeSelector: { matchLabels: { pool: 'gpu' } },
      taints: [
        { ...GPU, ensure: 'Always' },
        { key: 'any', effect: 'NoExecute', ensure: 'Always' },
        { key: 'preserved', effect: 'NoSchedule' },
      ],
    },
  },
}).taintPolicies[0];
if (!pool) throw new Error('there is a policy');

const node = (taints: object[], labels: Record<string, string> = { pool: 'gpu' }) => ({
  labels,
  taints: taints as { key: string; value?: string; effect: string }[],
});

const keptOn = (on: ReturnType<typeof node>, others: Parameters<typeof requiredTaintsOn>[2] = []) =>
  requiredTaintsOn(on, pool, others).map(({ taint, kept }) => [taint.key, kept]);

it('are those that the policy requires, and no others', () => {
  const taints = [
    { key: 'preserved', effect: 'NoSchedule' },
    { ...GPU, timeAdded: '2026-01-01T00:00:00Z' },
  ];
  expect(keptOn(node([...taints, { key: 'any', effect: 'NoExecute' }]))).toEqual([
    ['dedicated', undefined],
    ['any', undefined],
  ]);
  expect(keptOn(node([{ ...GPU, effect: 'NoExecute' }]))).toEqual([]);
});

it('are kept with a value that taintkeeper does not set', () => {
  const taints = [
    { ...GPU, value: 'other' },
    { key: 'any', value: 'own', effect: 'NoExecute' },
  ];
  expect(keptOn(node(taints))).toEqual([
    ['dedicated', { reason: 'OtherValue' }],
    ['any', { reason: 'OtherValue' }],
  ]);
});

it('are kept on a node that the policy does not select', () => {
  expect(keptOn(node([GPU], { pool: 'cpu' }))).toEqual([['dedicated', { reason: 'NotSelected' }]]);
});

it.each([
  { what: 'an exact key', rule: { key: 'example.com/a' }, kept: { reason: 'Protected', by: 'other' } },
  { what: 'the key of the domain', rule: { key: 'example.com/*' }, kept: { reason: 'Protected', by: 'other' } },
  { what: 'nothing but another value', rule: { key: 'example.com/a', value: 'x' }, kept: undefined },
])('are kept where another policy protects them by $what', ({ rule, kept }) => {
  const taint = { key: 'example.com/a', effect: 'NoSchedule' } as const;
  const { taintPolicies } = policySet({ taint: { other: { mode: 'Deny', taints: [rule] } } });
  const [own] = policySet({
    taint: { own: { mode: 'Audit', taints: [{ ...taint, ensure: 'Always' }] } },
  }).taintPolicies;
  if (!own) throw new Error('there is a policy');
  expect(requiredTaintsOn(node([taint]), own, taintPolicies)).toEqual([{ taint, kept }]);
});

it('are removed though another policy audits them, or is not for the node', () => {
  const { taintPolicies } = policySet({
    taint: {
      audits: { mode: 'Audit', taints: [{ key: 'dedicated' }] },
      elsewhere: {
        mode: 'Deny',
        nodeSelector: { matchLabels: { pool: 'cpu' } },
        taints: [{ key: 'dedicated' }],
      },
    },
  });
  expect(keptOn(node([GPU]), taintPolicies)).toEqual([['dedicated', undefined]]);
});

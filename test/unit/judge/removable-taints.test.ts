import { expect, it } from 'vitest';
import { requiredTaintsOn } from '../../../src/judge/removable-taints.ts';
import { policySet } from '../policy/policies.ts';
import { withRecorded } from './established.ts';

const GPU = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' } as const;

const pool = policySet({
  taint: {
    pool: {
      mode: 'Audit',
      nodeSelector: { matchLabels: { pool: 'gpu' } },
      taints: [
        { ...GPU, ensure: 'Always' },
        { key: 'any', effect: 'NoExecute', ensure: 'Always' },
        { key: 'preserved', effect: 'NoSchedule', restrict: ['Removal'] },
      ],
    },
  },
}).taintPolicies[0];
if (!pool) throw new Error('there is a policy');

const node = (taints: object[], labels: Record<string, string> = { pool: 'gpu' }, recorded?: string) =>
  withRecorded({ labels, taints: taints as { key: string; value?: string; effect: string }[] }, recorded);

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
  {
    what: 'an exact key',
    taints: [{ key: 'dedicated', restrict: ['Removal'] as const }],
    kept: { reason: 'Protected', by: 'other' },
  },
  {
    what: 'a pattern, where it is established',
    taints: [{ key: 'd*', restrict: ['Removal'] as const }],
    kept: { reason: 'Protected', by: 'other' },
  },
  {
    what: 'a pattern, where it is not',
    taints: [{ key: 'd*', restrict: ['Removal'] as const }],
    recorded: undefined,
    kept: undefined,
  },
])('are kept where another policy protects them by $what', ({ taints, kept, ...rest }) => {
  const recorded = 'recorded' in rest ? rest.recorded : 'dedicated=gpu:NoSchedule';
  const { taintPolicies } = policySet({ taint: { other: { mode: 'Deny', taints } } });
  expect(keptOn(node([GPU], { pool: 'gpu' }, recorded), taintPolicies)).toEqual([['dedicated', kept]]);
});

it('are removed though another policy audits them, or is not for the node', () => {
  const { taintPolicies } = policySet({
    taint: {
      audits: { mode: 'Audit', taints: [{ key: 'dedicated', restrict: ['Removal'] }] },
      elsewhere: {
        mode: 'Deny',
        nodeSelector: { matchLabels: { pool: 'cpu' } },
        taints: [{ key: 'dedicated', restrict: ['Removal'] as const }],
      },
    },
  });
  expect(keptOn(node([GPU]), taintPolicies)).toEqual([['dedicated', undefined]]);
});

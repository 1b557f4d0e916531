import { expect, it } from 'vitest';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import { parsePolicy } from '../../../src/policy/policy.ts';
import { policyFromNode } from '../../../src/policy/policy-from-node.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../src/policy/taint-rule.ts';
import { policySet } from './policies.ts';

const GPU: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const CORDON: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
const AUTOSCALER: Taint = { key: 'ToBeDeletedByClusterAutoscaler', value: '1700000000', effect: 'NoSchedule' };
const QUARANTINE: Taint & { timeAdded: string } = {
  ...{ key: 'example.com/quarantine', effect: 'NoExecute' },
  timeAdded: '2026-01-01T00:00:00Z',
};

const ofNode = (
  taints: readonly Taint[],
  labels: Record<string, string> = { 'kubernetes.io/hostname': 'worker-7.local' },
) => policyFromNode({ name: 'worker-7', labels, taints });

it.each([{ taints: [QUARANTINE, GPU] }, { taints: [GPU, QUARANTINE] }])(
  'requires the taints of the node in order, by its name in the label that the kubelet registers with: $taints',
  ({ taints }) => {
    const { policy } = ofNode(taints);
    expect(policy).toEqual({
      kind: 'TaintPolicy',
      name: 'node-worker-7',
      spec: {
        mode: 'Restore',
        nodeSelector: { matchLabels: { 'kubernetes.io/hostname': 'worker-7.local' } },
        taints: [
          { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' },
          { key: 'example.com/quarantine', effect: 'NoExecute', ensure: 'Always' },
        ],
      },
    });
  },
);

it.each<{
  why: string;
  taints: readonly Taint[];
  labels?: Record<string, string>;
  keys: string[] | undefined;
  leftOut: Taint[];
}>([
  { why: 'a cordon ends with kubectl uncordon', taints: [CORDON, GPU], keys: ['dedicated'], leftOut: [CORDON] },
  { why: 'an autoscaler removes its taint', taints: [AUTOSCALER, GPU], keys: ['dedicated'], leftOut: [AUTOSCALER] },
  { why: 'no taint is left', taints: [CORDON], keys: undefined, leftOut: [CORDON] },
  { why: 'the node has no taints', taints: [], keys: undefined, leftOut: [] },
  { why: 'no label selects the node', taints: [GPU], labels: { pool: 'gpu' }, keys: undefined, leftOut: [] },
  {
    why: 'the label is empty, as on many nodes',
    taints: [GPU],
    labels: { 'kubernetes.io/hostname': '' },
    keys: undefined,
    leftOut: [],
  },
])('leaves out what a policy must not require: $why', ({ taints, labels, keys, leftOut }) => {
  const { policy, leftOut: found } = ofNode(taints, labels);
  expect(policy?.spec.taints.map(({ key }) => key)).toEqual(keys);
  expect(found).toEqual(leftOut);
});

const AT_REGISTRATION = { key: 'dedicated', effect: 'NoSchedule', ensure: 'AtRegistration' } as const;

it.each<{ why: string; taints: TaintRule[]; nodeSelector?: TaintPolicySpec['nodeSelector']; isStartup: boolean }>([
  { why: 'with its value', taints: [{ ...AT_REGISTRATION, value: 'gpu' }], isStartup: true },
  { why: 'with any value', taints: [AT_REGISTRATION], isStartup: true },
  {
    why: 'beside another one',
    taints: [
      { ...AT_REGISTRATION, key: 'other' },
      { ...AT_REGISTRATION, value: 'gpu' },
    ],
    isStartup: true,
  },
  { why: 'with another value', taints: [{ ...AT_REGISTRATION, value: 'cpu' }], isStartup: false },
  { why: 'that stays', taints: [{ ...AT_REGISTRATION, value: 'gpu', ensure: 'Always' }], isStartup: false },
  {
    why: 'of other nodes',
    taints: [{ ...AT_REGISTRATION, value: 'gpu' }],
    nodeSelector: { matchLabels: { pool: 'gpu' } },
    isStartup: false,
  },
])('does not require a startup taint of another policy: $why', ({ taints, nodeSelector = {}, isStartup }) => {
  const { taintPolicies } = policySet({ taint: { p: { mode: 'Restore', nodeSelector, taints } } });
  const labels = { 'kubernetes.io/hostname': 'worker-7.local' };
  const { policy, startup } = policyFromNode({ name: 'worker-7', labels, taints: [GPU, QUARANTINE] }, taintPolicies);
  expect(startup).toEqual(isStartup ? [{ taint: GPU, policy: 'p' }] : []);
  const keys = policy?.spec.taints.map(({ key }) => key);
  expect(keys).toEqual(isStartup ? [QUARANTINE.key] : [GPU.key, QUARANTINE.key]);
});

it('the policy is one that the API server accepts', () => {
  const { policy } = ofNode([GPU, QUARANTINE, { ...GPU, effect: 'PreferNoSchedule' }]);
  const { kind, name, spec } = policy ?? {};
  expect(parsePolicy({ apiVersion: 'taintkeeper.dev/v1alpha1', kind, metadata: { name }, spec }).ok).toBe(true);
});

import fc from 'fast-check';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import type { Toleration } from '../../../src/kubernetes/toleration.ts';
import { NODE_STATE_TAINT_KEYS } from '../../../src/kubernetes/transient-taints.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../src/policy/taint-rule.ts';
import type { TolerationPolicySpec } from '../../../src/policy/toleration-policy.ts';
import { daemonSetSelection, labelSelector, labels } from '../policy/selector-cases.ts';

// A small world, so that keys, values and selectors meet often.

// Of those that come and go by themselves, one that may be required as well.
const KEYS = ['dedicated', 'example.com/a', 'example.com/b', 'node.cilium.io/agent-not-ready'];
const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;

const key = fc.constantFrom(...KEYS);
const value = fc.constantFrom('', 'x', 'y');
const effect = fc.constantFrom(...EFFECTS);

/** Taints as they may stand on a node: at most one of each key and effect, with and without a value. */
export const taints = fc.uniqueArray(
  fc.record<Taint & { timeAdded?: string | null }>(
    { key, value, effect, timeAdded: fc.constantFrom('2026-01-01T00:00:00Z', null) },
    { requiredKeys: ['key', 'effect'] },
  ),
  { selector: (taint) => `${taint.key}:${taint.effect}`, maxLength: 6 },
);

const allowRemoval = fc.constantFrom(
  undefined,
  'dedicated=x:NoSchedule',
  'dedicated:NoSchedule, example.com/a:NoExecute',
  'dedicated=y:NoExecute,example.com/a=x:NoSchedule , example.com/b=:NoSchedule',
  'dedicated=x:NoSchedule-, rubbish',
);

/** The node's parts that change in an update. */
export const nodeState = fc.record({ labels, taints, allowRemoval });

export const requester = fc.constantFrom<{ username: string; groups: string[] }>(
  { username: 'dev', groups: ['developers'] },
  { username: 'system:serviceaccount:kube-system:node-controller', groups: ['system:serviceaccounts'] },
  { username: 'system:node:n1', groups: ['system:nodes'] },
);

const CILIUM = [{ namespace: 'kube-system', name: 'cilium' }];

/** Rules that say `ensure`. */
export const presentRule = (all: fc.Arbitrary<string>) => {
  const keys = all.filter((one) => !NODE_STATE_TAINT_KEYS.includes(one));
  return fc.oneof(
    {
      weight: 12,
      arbitrary: fc.record(
        { key: keys, value, effect, ensure: fc.constant('Always' as const) },
        { requiredKeys: ['key', 'effect', 'ensure'] },
      ),
    },
    {
      weight: 1,
      arbitrary: fc.record(
        { key: keys, value, effect, ensure: fc.constant('AtRegistration' as const) },
        { requiredKeys: ['key', 'effect', 'ensure'] },
      ),
    },
    {
      weight: 1,
      arbitrary: fc.record(
        {
          key: keys,
          value,
          effect: fc.constant('NoSchedule' as const),
          ensure: fc.constant('UntilReady' as const),
          readyWhen: fc.constant({ daemonSets: CILIUM }),
          afterReboot: fc.constantFrom('Ignore' as const, 'SetAgain' as const),
        },
        { requiredKeys: ['key', 'effect', 'ensure', 'readyWhen'] },
      ),
    },
  );
};

const taintRule: fc.Arbitrary<TaintRule> = fc.oneof(
  fc.record({ key, value, effect }, { requiredKeys: ['key'] }),
  fc.record(
    {
      key: fc.constant('example.com/*'),
      except: fc.constantFrom<string[]>(['example.com/a'], ['example.com/b', 'example.com/c']),
      value,
      effect,
    },
    { requiredKeys: ['key'] },
  ),
  { weight: 3, arbitrary: presentRule(key) },
);

/** Without what a policy must not combine: `ensure: Always`, an exemption, and no removal by annotation. */
export function withoutContradiction({ removalByAnnotation, ...spec }: TaintPolicySpec): TaintPolicySpec {
  const { users = [], groups = [] } = spec.exempt ?? {};
  const isContradiction = users.length + groups.length > 0 && spec.taints.some(({ ensure }) => ensure === 'Always');
  return removalByAnnotation === undefined || (removalByAnnotation === 'Forbidden' && isContradiction)
    ? spec
    : { ...spec, removalByAnnotation };
}

export const backstop = fc.constantFrom('Native', 'None');

const taintPolicy = fc
  .record<TaintPolicySpec>(
    {
      mode: fc.constantFrom('Deny', 'Restore', 'Audit'),
      nodeSelector: labelSelector.map((selector) => selector ?? {}),
      // A policy that requires two values for one required taint is refused.
      taints: fc.uniqueArray(taintRule, {
        minLength: 1,
        maxLength: 3,
        selector: (rule) => (rule.ensure !== undefined ? `${rule.key}:${rule.effect}` : JSON.stringify(rule)),
      }),
      exempt: fc.constantFrom({ users: ['dev'] }, { groups: ['system:*'] }, {}),
      removalByAnnotation: fc.constantFrom('Allowed', 'Forbidden'),
      failurePolicy: fc.constantFrom('Fail', 'Ignore'),
      backstop,
    },
    { requiredKeys: ['mode', 'taints'] },
  )
  // An Audit policy may not say Fail.
  .map(({ failurePolicy, ...spec }) =>
    spec.mode === 'Audit' || failurePolicy === undefined ? spec : { ...spec, failurePolicy },
  )
  .map(withoutContradiction);

export const taintPolicies = fc.dictionary(fc.constantFrom('p1', 'p2', 'p3'), taintPolicy, { noNullPrototype: true });

export const tolerations = fc.array(
  fc.record<Toleration>(
    {
      key,
      operator: fc.constantFrom('Exists', 'Equal', 'Gt', ''),
      value,
      effect: fc.constantFrom(...EFFECTS, ''),
      tolerationSeconds: fc.constantFrom(0, 300, null),
    },
    { requiredKeys: [] },
  ),
  { maxLength: 6 },
);

const tolerationPolicy = fc
  .record<TolerationPolicySpec>(
    {
      mode: fc.constantFrom('Mutate', 'Audit'),
      daemonSets: daemonSetSelection,
      tolerations: fc.array(
        fc.oneof(
          fc.record({ key, operator: fc.constant('Exists' as const), effect }, { requiredKeys: ['key', 'operator'] }),
          fc.record({ key, operator: fc.constant('Equal' as const), value, effect }, { requiredKeys: ['key'] }),
          fc.record({ key, effect: fc.constant('NoExecute' as const), tolerationSeconds: fc.constantFrom(0, 300) }),
          fc.constant({ operator: 'Exists' as const }),
        ),
        { minLength: 1, maxLength: 3 },
      ),
      existing: fc.constantFrom('Report', 'Patch'),
      backstop,
    },
    { requiredKeys: ['mode', 'daemonSets'] },
  )
  // An Audit policy may not say Patch.
  .map(({ existing, ...spec }) => (spec.mode === 'Audit' || existing === undefined ? spec : { ...spec, existing }));

export const tolerationPolicies = fc.dictionary(fc.constantFrom('p1', 'p2'), tolerationPolicy, {
  noNullPrototype: true,
});

import fc from 'fast-check';
import { daemonTolerations } from '../../../src/kubernetes/daemon-tolerations.ts';
import { REPELLING_EFFECTS, TAINT_EFFECTS, type Taint } from '../../../src/kubernetes/taint.ts';
import { type Toleration, tolerates } from '../../../src/kubernetes/toleration.ts';
import type { PolicyToleration, TolerationPolicySpec } from '../../../src/policy/toleration-policy.ts';

// A world so small that tolerations meet, and what there is to tolerate in it: each taint by itself.

const ROLE = 'node-role.kubernetes.io/master';
const NOT_READY = 'node.kubernetes.io/not-ready';
const NETWORK = 'node.kubernetes.io/network-unavailable';
const key = fc.constantFrom('a', 'b', 'a', 'b', ROLE, NOT_READY, NETWORK);
const lastingKey = fc.constantFrom('a', 'b', NOT_READY);
const effect = fc.constantFrom(...TAINT_EFFECTS);
const noExecute = fc.constant('NoExecute' as const);
const tolerationSeconds = fc.constantFrom(0, 30, 300);
const exists = fc.constant('Exists' as const);
const equal = fc.constant('Equal' as const);

/** A role taint has no value. */
const withoutValue = <T extends { key?: string; value?: string }>({ value, ...rest }: T): T =>
  ({ ...rest, ...(rest.key === ROLE || value === undefined ? {} : { value }) }) as T;

const required = fc
  .oneof(
    { arbitrary: fc.record({ key, operator: exists, effect }, { requiredKeys: ['key', 'operator'] }), weight: 4 },
    {
      arbitrary: fc.record(
        { key, operator: equal, value: fc.constantFrom('', 'x', 'y'), effect },
        { requiredKeys: ['key'] },
      ),
      weight: 3,
    },
    { arbitrary: fc.record({ operator: exists, effect }, { requiredKeys: ['operator'] }), weight: 1 },
    {
      arbitrary: fc.record(
        { key: lastingKey, operator: exists, effect: noExecute, tolerationSeconds },
        { requiredKeys: ['operator', 'effect', 'tolerationSeconds'] },
      ),
      weight: 1,
    },
  )
  .map((one): PolicyToleration => withoutValue(one as PolicyToleration));

const there = fc.oneof(
  { arbitrary: required as fc.Arbitrary<Toleration>, weight: 4 },
  {
    arbitrary: fc.record<Toleration>({
      key,
      operator: fc.constantFrom('Exists', 'Equal'),
      effect: noExecute,
      tolerationSeconds,
    }),
    weight: 1,
  },
  {
    arbitrary: fc.record<Toleration>({ key, operator: fc.constant('Gt'), value: fc.constant('1'), effect }),
    weight: 1,
  },
);

const policy = fc.record<TolerationPolicySpec>({
  mode: fc.constant('Mutate'),
  daemonSets: fc.constant({ namespaces: ['*'] }),
  tolerations: fc.array(required, { minLength: 1, maxLength: 4 }),
});

/** DaemonSets, and what policies in mode Mutate ask of them. */
export const tolerationCases = fc.record({
  tolerations: fc.array(there, { maxLength: 5 }),
  hostNetwork: fc.boolean(),
  policies: fc.array(policy, { minLength: 1, maxLength: 3 }),
});

/** Taints of each key and value that tolerations are written for, and of one of which nobody has heard. */
export const TAINTS: readonly Taint[] = ['a', 'b', ROLE, NOT_READY, NETWORK, 'other'].flatMap((one) =>
  (one === ROLE ? [''] : ['', 'x', 'y', 'other']).flatMap((value) =>
    REPELLING_EFFECTS.map((effect) => ({ key: one, value, effect })),
  ),
);

/** For how many seconds a pod with the tolerations stays on a node with the taint: by the first one that matches. -1: not at all. */
export function secondsOn(taint: Taint, tolerations: readonly Toleration[]): number {
  const first = tolerations.find((toleration) => tolerates(toleration, taint));
  if (!first) return -1;
  return first.tolerationSeconds == null ? Number.POSITIVE_INFINITY : Math.max(0, first.tolerationSeconds);
}

/** The tolerations of a daemon's pods as the DaemonSet controller makes them: its own in place of those that say the same. */
export function ofPods(tolerations: readonly Toleration[], hostNetwork: boolean): Toleration[] {
  const own = daemonTolerations([], hostNetwork);
  const same = (a: Toleration, b: Toleration) =>
    a.key === b.key && a.operator === b.operator && (a.effect ?? '') === (b.effect ?? '') && !a.value;
  return [...tolerations.map((one) => own.find((other) => same(one, other)) ?? one), ...own];
}

import fc from 'fast-check';
import { IGNORE_ANNOTATION } from '../../src/judge/daemon-set-view.ts';
import type { Toleration } from '../../src/kubernetes/toleration.ts';
import type { Policy } from '../../src/policy/policy.ts';
import type { TolerationPolicySpec } from '../../src/policy/toleration-policy.ts';
import { manifest } from '../unit/policy/policies.ts';
import { daemonSetSelection, labels } from '../unit/policy/selector-cases.ts';
import { readPolicy } from './policy-objects.ts';

// A world so small that policies meet, that what one adds another one needs not, and that DaemonSets have what policies ask
// for in all the ways in which it can be written.

const KEYS = ['dedicated', 'example.com/a', 'node-role.kubernetes.io/master'];
/** Some pods tolerate these by themselves. */
const OWN_KEYS = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/network-unavailable'];
const key = fc.constantFrom(...KEYS, ...KEYS, ...KEYS, ...OWN_KEYS);
const value = fc.constantFrom('', 'x');
const effect = fc.constantFrom('NoSchedule', 'PreferNoSchedule', 'NoExecute');

const toleration: fc.Arbitrary<Toleration> = fc.oneof(
  { arbitrary: fc.record({ key, operator: fc.constant('Exists'), effect }), weight: 4 },
  {
    arbitrary: fc.record({ key, operator: fc.constant('Equal'), value, effect }, { requiredKeys: ['key'] }),
    weight: 3,
  },
  { arbitrary: fc.record({ key, operator: fc.constant('Exists') }), weight: 1 },
  {
    arbitrary: fc.record({
      key,
      operator: fc.constantFrom('Exists', 'Equal'),
      effect: fc.constant('NoExecute'),
      tolerationSeconds: fc.constantFrom(0, 300, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER),
    }),
    weight: 1,
  },
  { arbitrary: fc.record({ operator: fc.constant('Exists'), effect }, { requiredKeys: ['operator'] }), weight: 1 },
);

const policy = fc
  .record<TolerationPolicySpec>(
    {
      mode: fc.constantFrom('Mutate', 'Mutate', 'Audit'),
      daemonSets: daemonSetSelection,
      tolerations: fc.array(toleration, { minLength: 1, maxLength: 4 }) as never,
      // Neither has a say in what is admitted.
      existing: fc.constantFrom('Report', 'Patch'),
      backstop: fc.constantFrom('None', 'Native'),
    },
    { requiredKeys: ['mode', 'daemonSets'] },
  )
  // An Audit policy may not say Patch.
  .map(({ existing, ...spec }) => (spec.mode === 'Audit' || existing === undefined ? spec : { ...spec, existing }));

/** Names of which one is the beginning of another, and sorts differently once something is appended. */
const NAMES = ['a', 'a-b', 'b'];

const policies: fc.Arbitrary<Policy[]> = fc
  .array(policy, { minLength: 1, maxLength: NAMES.length })
  .map((specs) => specs.map((spec, index) => readPolicy(manifest('TolerationPolicy', NAMES[index] ?? '', spec))));

export interface DaemonSetState {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly tolerations: readonly Toleration[];
  readonly image: string;
  readonly hostNetwork: boolean;
}

/** What there is of DaemonSets before the requests. */
export const PLACES = [
  { namespace: 'kube-system', name: 'cni' },
  { namespace: 'kube-system', name: 'node-agent' },
  { namespace: 'kube-public', name: 'ci' },
  { namespace: 'default', name: 'cni-x' },
  { namespace: 'default', name: 'other' },
] as const;

const annotations = fc.oneof(
  { arbitrary: fc.constant<Record<string, string>>({}), weight: 6 },
  { arbitrary: fc.constantFrom('true', 'false', '').map((text) => ({ [IGNORE_ANNOTATION]: text })), weight: 1 },
);
const image = fc.constantFrom('a', 'a', 'b');
const hostNetwork = fc.constantFrom(true, true, false);

/** A toleration of the generated policies, by number, in one of two spellings; or one of nobody's. */
const some = fc.oneof(
  { arbitrary: fc.record({ required: fc.nat(11), spelledOut: fc.boolean() }), weight: 3 },
  toleration,
);
const someTolerations = fc.array(some, { maxLength: 5 });

const state = fc.record({ labels, annotations, image, hostNetwork, tolerations: someTolerations });
type Drafted = typeof state extends fc.Arbitrary<infer T> ? T : never;

const request = fc.record({
  place: fc.nat(PLACES.length - 1),
  what: fc.oneof(
    { arbitrary: fc.record({ create: fc.constantFrom('name', 'generateName'), state }), weight: 1 },
    {
      arbitrary: fc.record({
        update: fc.record({ labels, annotations, image, hostNetwork }),
        /** Which of the tolerations stay, bit by bit. */
        stay: fc.nat(0b11111),
        more: fc.oneof(
          { arbitrary: fc.array(some, { maxLength: 0 }), weight: 2 },
          { arbitrary: someTolerations, weight: 1 },
        ),
      }),
      weight: 3,
    },
  ),
});
type DraftedRequest = typeof request extends fc.Arbitrary<infer T> ? T : never;

export type Request = { readonly namespace: string; readonly name: string } & (
  | { readonly what: 'create'; readonly by: 'name' | 'generateName'; readonly state: DaemonSetState }
  | { readonly what: 'update'; readonly state: DaemonSetState }
);

export interface Scenario {
  readonly policies: readonly Policy[];
  /** One for each place. */
  readonly states: readonly DaemonSetState[];
  readonly requests: readonly Request[];
}

export const scenario = (requests: number): fc.Arbitrary<Scenario> =>
  fc
    .record({
      policies,
      states: fc.array(state, { minLength: PLACES.length, maxLength: PLACES.length }),
      requests: fc.array(request, { minLength: requests, maxLength: requests }),
    })
    .map((drafted) => {
      const required = drafted.policies.flatMap((one) =>
        one.kind === 'TolerationPolicy' ? (one.spec.tolerations ?? []) : [],
      );
      const states = drafted.states.map((one) => written(one, required));
      return {
        policies: drafted.policies,
        states,
        requests: drafted.requests.map((one) => made(one, states, required)),
      };
    });

function made(
  { place, what }: DraftedRequest,
  states: readonly DaemonSetState[],
  required: readonly Toleration[],
): Request {
  const { namespace, name } = PLACES[place] ?? PLACES[0];
  if ('create' in what) {
    return {
      what: 'create',
      by: what.create as 'name',
      namespace,
      name: `${name}-n`,
      state: written(what.state, required),
    };
  }
  const { update, stay, more } = what;
  const kept = (states[place]?.tolerations ?? []).filter((_, index) => stay & (1 << index));
  const { tolerations } = written({ ...update, tolerations: more }, required);
  return { what: 'update', namespace, name, state: { ...update, tolerations: [...kept, ...tolerations] } };
}

function written({ tolerations, ...rest }: Drafted, required: readonly Toleration[]): DaemonSetState {
  return {
    ...rest,
    tolerations: tolerations.map((one) => {
      if (!('required' in one)) return one;
      const toleration = required[one.required % Math.max(required.length, 1)] ?? { operator: 'Exists' };
      return one.spelledOut && !toleration.operator ? { ...toleration, operator: 'Equal' } : toleration;
    }),
  };
}

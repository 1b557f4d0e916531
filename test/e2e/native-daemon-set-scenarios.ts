import fc from 'fast-check';
import type { Toleration } from '../../src/kubernetes/toleration.ts';
import type { Policy } from '../../src/policy/policy.ts';
import type { TolerationPolicySpec } from '../../src/policy/toleration-policy.ts';
import { developer } from '../control-plane/users.ts';
import { DAEMON_SET_PLACES, type DaemonSetState, type Request } from '../unit/cel-rules/scenarios.ts';
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

const ignore = fc.oneof(
  { arbitrary: fc.constant(undefined), weight: 6 },
  { arbitrary: fc.constantFrom('true', 'false', ''), weight: 1 },
);
const image = fc.constantFrom('a', 'a', 'b');
const hostNetwork = fc.constantFrom(true, true, false);

/** A toleration of the generated policies, by number, in one of two spellings; or one of nobody's. */
const some = fc.oneof(
  { arbitrary: fc.record({ required: fc.nat(11), spelledOut: fc.boolean() }), weight: 3 },
  toleration,
);
const someTolerations = fc.array(some, { maxLength: 5 });

const state = fc.record({ labels, ignore, image, hostNetwork, tolerations: someTolerations });
type Drafted = typeof state extends fc.Arbitrary<infer T> ? T : never;

const request = fc.record({
  place: fc.nat(DAEMON_SET_PLACES.length - 1),
  what: fc.oneof(
    { arbitrary: fc.record({ create: state, isNamed: fc.boolean() }), weight: 1 },
    {
      arbitrary: fc.record({
        update: fc.record({ labels, ignore, image, hostNetwork }),
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
      states: fc.array(state, { minLength: DAEMON_SET_PLACES.length, maxLength: DAEMON_SET_PLACES.length }),
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
  const user = developer;
  if ('create' in what) {
    const named = what.isNamed ? {} : { generateName: true as const };
    return { what: 'DaemonSet creation', place, state: written(what.create, required), user, ...named };
  }
  const { update, stay, more } = what;
  const kept = (states[place]?.tolerations ?? []).filter((_, index) => stay & (1 << index));
  const { tolerations } = written({ ...update, tolerations: more }, required);
  return { what: 'DaemonSet update', place, state: { ...update, tolerations: [...kept, ...tolerations] }, user };
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

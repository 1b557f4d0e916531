import fc from 'fast-check';
import type { StoredNode } from '../../../../src/judge/node-view.ts';
import { type Taint, withTaints } from '../../../../src/kubernetes/taint.ts';
import type { Requester } from '../../../../src/policy/compiled-taint-policy.ts';
import type { PolicySet } from '../../../../src/policy/policy-set.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../../src/policy/taint-rule.ts';
import { withoutContradiction } from '../../admission/generators.ts';
import { policySet } from '../../policy/policies.ts';
import { identityOf, textOf } from './declared-state.ts';
import type { NodeChange, OtherWriter } from './model-cluster.ts';

// A small world, so that taints, entries and policies meet often.

export const DEVELOPER: Requester = { username: 'dev', groups: ['developers'] };
/** Some policies exempt it. */
export const OWNER: Requester = { username: 'owner', groups: ['owners'] };
export const KUBELET: Requester = { username: 'system:node:n1', groups: ['system:nodes'] };
export const CONTROLLER: Requester = {
  username: 'system:serviceaccount:kube-system:node-controller',
  groups: ['system:serviceaccounts'],
};

const NODES = ['n1', 'n2'];
export const NOT_READY: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
const NO_SCHEDULE = { effect: 'NoSchedule' } as const;
const READY_WHEN = { daemonSets: [{ namespace: 'kube-system', name: 'network' }] };
const UNTIL_READY = { ...NO_SCHEDULE, ensure: 'UntilReady', readyWhen: READY_WHEN } as const;
const untilDeadline = (seconds: number) =>
  ({
    ...UNTIL_READY,
    readyWhen: { ...READY_WHEN, progressDeadlineSeconds: seconds, afterDeadline: 'Remove' },
  }) as const;
const ALWAYS = { ...NO_SCHEDULE, ensure: 'Always' } as const;
const SET_AGAIN = { ...UNTIL_READY, afterReboot: 'SetAgain' } as const;
const BOOTS = ['boot-1', 'boot-2', 'boot-3'];

const RULES_AGAIN: readonly TaintRule[] = [
  { key: 'dedicated', ...SET_AGAIN },
  { key: 'example.com/b', ...SET_AGAIN },
  { key: 'example.com/c', value: 'x', ...SET_AGAIN },
];
const RULES: readonly TaintRule[] = [
  { key: 'dedicated', value: 'x', ...ALWAYS },
  { key: 'dedicated', value: 'y', ...ALWAYS },
  { key: 'dedicated', ...ALWAYS },
  { key: 'dedicated', value: 'x', effect: 'NoExecute', ensure: 'Always' },
  { key: 'dedicated' },
  { key: 'dedicated', value: 'y' },
  { key: 'dedicated', ...UNTIL_READY },
  { key: 'example.com/*' },
  { key: 'example.com/*', except: ['example.com/b'] },
  { key: 'example.com/a', ...ALWAYS },
  { key: 'example.com/a', ...NO_SCHEDULE, ensure: 'AtRegistration' },
  { key: 'example.com/a' },
  { key: 'example.com/b', ...UNTIL_READY },
  { key: 'example.com/b', value: 'x', ...UNTIL_READY },
  { key: 'example.com/b', value: 'x', ...ALWAYS },
  ...RULES_AGAIN,
];

export type Policies = Readonly<Record<string, TaintPolicySpec>>;

/** Protects what any startup policy that ends has left: by chance alone, that is rare. */
export const DOMAIN: Policies = { all: { mode: 'Deny', taints: [{ key: 'example.com/*' }] } };
/** Requires one value, and protects the other: by chance alone, that is rare. */
const VALUES: Policies = {
  p1: { mode: 'Restore', taints: [{ key: 'dedicated', value: 'x', ...ALWAYS }] },
  all: { mode: 'Deny', taints: [{ key: 'dedicated' }] },
};

const taintPolicyOf = (rules: readonly TaintRule[], again: readonly TaintRule[]): fc.Arbitrary<TaintPolicySpec> =>
  fc
    .record({
      mode: fc.constantFrom('Restore', 'Restore', 'Deny', 'Audit'),
      nodeSelector: fc.constantFrom({}, { matchLabels: { pool: 'a' } }, { matchLabels: { pool: 'b' } }),
      taints: fc.uniqueArray(fc.oneof(...[rules, rules.slice(0, 2), again].map((rules) => fc.constantFrom(...rules))), {
        minLength: 1,
        maxLength: 3,
        // A policy cannot set two values of one taint.
        selector: ({ key, effect, ensure }) => `${key}:${ensure && effect}`,
      }),
      exempt: fc.constantFrom({}, {}, { users: ['owner'] }),
      removalByAnnotation: fc.constantFrom('Allowed', 'Allowed', 'Forbidden'),
    })
    .map((spec) => withoutContradiction(spec as TaintPolicySpec));

const taintPoliciesOf = (taintPolicy: fc.Arbitrary<TaintPolicySpec>): fc.Arbitrary<Policies> =>
  fc.dictionary(fc.constantFrom('p1', 'p2', 'p3'), taintPolicy, { minKeys: 1, noNullPrototype: true });

export const compiled = (policies: Policies): PolicySet => policySet({ taint: policies });

export const taint: fc.Arbitrary<Taint> = fc.oneof(
  fc.constantFrom('', 'x', 'y').map((value) => ({ key: 'dedicated', value, ...NO_SCHEDULE })),
  fc.constantFrom<Taint>(
    { key: 'dedicated', value: 'x', effect: 'NoExecute' },
    { key: 'example.com/a', ...NO_SCHEDULE },
    { key: 'example.com/b', ...NO_SCHEDULE },
    { key: 'example.com/b', value: 'x', ...NO_SCHEDULE },
    { key: 'example.com/c', ...NO_SCHEDULE },
  ),
);
const taints = fc.array(taint, { maxLength: 3 }).map((list) => withTaints([], list));
const annotation = fc.constantFrom(
  undefined,
  'dedicated=x:NoSchedule',
  'dedicated=y:NoSchedule, example.com/a:NoSchedule',
  'dedicated:NoSchedule,example.com/b=x:NoSchedule',
  'example.com/b:NoSchedule, rubbish',
  'example.com/a:NoSchedule,example.com/c:NoSchedule',
);
const labels = fc.constantFrom<Record<string, string>>({}, { pool: 'a' }, { pool: 'b' });

/** From what the Node is, to what a client makes of it. `stored` is an earlier list of taints, as a stale cache has it. */
export type Edit = (node: Required<NodeChange>, stale: readonly Taint[]) => NodeChange;

/** Prints as what it does, in the smallest sequence that fails. */
function named<Value extends object>(value: Value, name: string): Value {
  return Object.assign(value, { [fc.toStringMethod]: () => name });
}

const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.constant(named<Edit>(() => ({ taints: [] }), 'remove all taints')),
  fc
    .nat(3)
    .map((index) =>
      named<Edit>(({ taints: all }) => ({ taints: all.filter((_, at) => at !== index) }), `remove taint ${index}`),
    ),
  {
    weight: 3,
    arbitrary: taint.map((one) =>
      named<Edit>(({ taints: all }) => ({ taints: withTaints(all, [one]) }), `set ${JSON.stringify(one)}`),
    ),
  },
  taints.map((list) => named<Edit>(() => ({ taints: list }), `set only ${JSON.stringify(list)}`)),
  fc.constant(named<Edit>((_, stale) => ({ taints: stale }), 'write a stale list of taints')),
  annotation.map((allowRemoval) => named<Edit>(() => ({ allowRemoval }), `annotate ${allowRemoval}`)),
  annotation.map((allowRemoval) =>
    named<Edit>(() => ({ allowRemoval, taints: [] }), `annotate ${allowRemoval}, and remove all taints`),
  ),
  labels.map((next) => named<Edit>(() => ({ labels: next }), `label ${JSON.stringify(next)}`)),
  labels.map((next) =>
    named<Edit>(() => ({ labels: next, taints: [] }), `label ${JSON.stringify(next)}, and remove all taints`),
  ),
);

/** The controller manager keeps this taint, and writes the whole list. */
const condition: Edit[] = [
  named<Edit>(({ taints: all }) => ({ taints: withTaints(all, [NOT_READY]) }), 'set not-ready'),
  named<Edit>(({ taints: all }) => ({ taints: all.filter(({ key }) => key !== NOT_READY.key) }), 'remove not-ready'),
];

export type Action =
  | { readonly do: 'edit'; readonly node: string; readonly by: Requester; readonly edit: Edit }
  | {
      readonly do: 'register';
      readonly node: string;
      readonly by: Requester;
      readonly change: NodeChange & Pick<StoredNode, 'bootId'>;
    }
  | { readonly do: 'delete'; readonly node: string }
  /** The kubelet reports this boot, which may be the present one, or an earlier one. */
  | { readonly do: 'reboot'; readonly node: string; readonly bootId: string }
  | { readonly do: 'ready'; readonly node: string; readonly isReady: boolean }
  | { readonly do: 'policies'; readonly policies: Policies }
  | { readonly do: 'policy'; readonly name: string; readonly spec: TaintPolicySpec | undefined }
  | { readonly do: 'webhook'; readonly isUp: boolean }
  | { readonly do: 'leader'; readonly next: 'none' | 'new' }
  | { readonly do: 'time'; readonly ms: number }
  /** Another writer undoes what the leader writes, for some time. */
  | { readonly do: 'oppose'; readonly ms: number; readonly other: OtherWriter };

const constant = <Value extends string>(value: Value) => fc.constant(value);
const node = fc.constantFrom(...NODES);

/** Keeps some taints on all nodes, and others off. */
export const otherWriter: fc.Arbitrary<OtherWriter> = fc
  .record({ kept: fc.array(taint, { maxLength: 2 }), off: fc.array(taint, { maxLength: 2 }) })
  .map(({ kept, off }) => {
    const identities = off.map(identityOf);
    const change: OtherWriter['change'] = ({ taints: all }) => {
      const rest = all.filter((one) => !identities.includes(identityOf(one)));
      const next = withTaints(rest, kept);
      return JSON.stringify(next) === JSON.stringify(all) ? undefined : { taints: next };
    };
    return named({ requester: CONTROLLER, change }, `keeps ${JSON.stringify(kept)}, and off ${JSON.stringify(off)}`);
  });

export const registration: fc.Arbitrary<Registration> = fc.record({
  do: constant('register'),
  node,
  by: fc.constantFrom(KUBELET, DEVELOPER),
  change: fc.record(
    {
      labels,
      taints: taints.map((list) => withTaints(list, [NOT_READY])),
      allowRemoval: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, annotation),
      bootId: fc.constantFrom(...BOOTS),
    },
    { requiredKeys: ['labels', 'taints', 'allowRemoval'] },
  ),
});

/** What a registration draws. */
export type Registration = Extract<Action, { do: 'register' }>;

const actionOf = (
  taintPolicy: fc.Arbitrary<TaintPolicySpec>,
  taintPolicies: fc.Arbitrary<Policies>,
): fc.Arbitrary<Action> =>
  fc.oneof(
    {
      weight: 12,
      arbitrary: fc.record({ do: constant('edit'), node, by: fc.constantFrom(DEVELOPER, DEVELOPER, OWNER), edit }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: constant('edit'),
        node,
        by: fc.constant(KUBELET),
        edit: labels.map((next) => named<Edit>(() => ({ labels: next }), `label ${JSON.stringify(next)}`)),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: constant('edit'),
        node,
        by: fc.constant(CONTROLLER),
        edit: fc.constantFrom(...condition),
      }),
    },
    {
      weight: 3,
      arbitrary: registration,
    },
    { weight: 1, arbitrary: fc.record({ do: constant('delete'), node }) },
    { weight: 3, arbitrary: fc.record({ do: constant('reboot'), node, bootId: fc.constantFrom(...BOOTS) }) },
    { weight: 2, arbitrary: fc.record({ do: constant('ready'), node, isReady: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ do: constant('policies'), policies: taintPolicies }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: constant('policy'),
        name: fc.constantFrom('p1', 'p2', 'p3'),
        spec: fc.option(taintPolicy, { nil: undefined, freq: 3 }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: constant('webhook'), isUp: fc.boolean() }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: constant('leader'),
        next: fc.constantFrom<'none' | 'new'>('none', 'new', 'new'),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: constant('oppose'), ms: fc.constantFrom(1_000, 660_000), other: otherWriter }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ do: constant('time'), ms: fc.constantFrom(1_000, 15_000, 660_000, 3_660_000) }),
    },
  );

/** What a test must meet, and seldom comes by chance. */
const RARE: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ do: constant('policies'), policies: fc.constantFrom(DOMAIN, VALUES) }),
  fc.record({
    do: constant('edit'),
    node,
    by: fc.constant(DEVELOPER),
    edit: fc.constant(
      named<Edit>(({ taints: all }) => ({ allowRemoval: all.map(textOf).join() }), 'annotate all taints'),
    ),
  }),
);

/** What happens, with policies of these rules. */
function generatorsOf(rules: readonly TaintRule[], again: readonly TaintRule[], weightOfRare = 0) {
  const taintPolicy = taintPolicyOf(rules, again);
  const taintPolicies = taintPoliciesOf(taintPolicy);
  const usual = actionOf(taintPolicy, taintPolicies);
  const action =
    weightOfRare === 0 ? usual : fc.oneof({ weight: 100, arbitrary: usual }, { weight: weightOfRare, arbitrary: RARE });
  const sequence: fc.Arbitrary<readonly Action[]> = fc.array(action, { minLength: 5, maxLength: 40, size: 'max' });
  return { taintPolicies, action, sequence };
}

export const { taintPolicies, action, sequence } = generatorsOf(RULES, RULES_AGAIN);

/** With deadlines, whose moment only a clock of the test can meet. */
export const withDeadlines = generatorsOf(
  [...RULES, { key: 'example.com/b', ...untilDeadline(60) }, { key: 'example.com/b', ...untilDeadline(500) }],
  [...RULES_AGAIN, { key: 'example.com/b', ...untilDeadline(300), afterReboot: 'SetAgain' }],
  8,
);

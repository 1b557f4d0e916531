import fc from 'fast-check';
import { formatTaint, type Taint, withTaints } from '../../../src/kubernetes/taint.ts';
import type { Toleration } from '../../../src/kubernetes/toleration.ts';
import { NODE_STATE_TAINT_KEYS } from '../../../src/kubernetes/transient-taints.ts';
import type { Policy } from '../../../src/policy/policy.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import type { TolerationPolicySpec } from '../../../src/policy/toleration-policy.ts';
import type { User } from '../../control-plane/users.ts';
import { readPolicy } from '../../e2e/policy-objects.ts';
import { backstop, presentRule, withoutContradiction } from '../admission/generators.ts';
import { manifest } from '../policy/policies.ts';
import { daemonSetSelection, labelSelector, labels } from '../policy/selector-cases.ts';

// A small world again (see ../admission/generators.ts), in which every way to write a pattern, a selector, an
// exemption or a release meets objects that it just fits and just does not.

const LASTING_KEYS = ['dedicated', 'example.com/a', 'example.com/a.b', 'example.org/a'];
const KEYS = [
  ...LASTING_KEYS,
  'example.com/agent-not-ready',
  'node.kubernetes.io',
  'node.kubernetes.io/not-ready',
  'node.kubernetes.io/instance-type',
  'karpenter.sh/disruption',
  'karpenter.sh/controller',
  'ToBeDeletedByClusterAutoscaler',
];
const DOMAINS = ['example.com/*', 'example.com/*', 'example.org/*', 'karpenter.sh/*', 'node.kubernetes.io/*'];
const EXCEPTIONS = ['a', 'a.b', 'agent-not-ready'];
const VALUES = ['', 'x', 'y'];
const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;

const key = fc.oneof(fc.constantFrom(...LASTING_KEYS), fc.constantFrom(...KEYS));
const value = fc.constantFrom(...VALUES);
const effect = fc.constantFrom(...EFFECTS);

const taint = fc.record<Taint & { timeAdded?: string }>(
  { key, value, effect, timeAdded: fc.constantFrom('2026-01-01T00:00:00Z', '2026-02-02T00:00:00Z') },
  { requiredKeys: ['key', 'effect'] },
);
const taints = fc.uniqueArray(taint, {
  selector: (one) => `${one.key}:${one.effect}`,
  minLength: 1,
  maxLength: 5,
  size: 'max',
});

/** What TaintPolicies are called. */
const TAINT_POLICIES = ['taint-0', 'taint-1', 'taint-2', 'taint-3'];

/** In place of a text: one that names all taints which the node has. */
const ALL_TAINTS = 'all taints';
const allTaints = { arbitrary: fc.constant(ALL_TAINTS), weight: 2 };

const allowRemoval = fc.constantFrom(
  undefined,
  '',
  ' , \n',
  'dedicated:NoSchedule',
  'dedicated=x:NoSchedule, example.com/a:NoExecute',
  'example.com/a=:NoSchedule,rubbish',
  'dedicated=x:NoSchedule-, dedicated:NoSchedule',
);

export interface NodeState {
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly allowRemoval: string | undefined;
}

const nodeState: fc.Arbitrary<NodeState> = fc
  .record({ labels, taints, allowRemoval: fc.oneof({ arbitrary: allowRemoval, weight: 3 }, allTaints) })
  .map((state) => ({ ...state, allowRemoval: namesOf(state.allowRemoval, state.taints) }));

function namesOf(text: string | undefined, named: readonly Taint[]): string | undefined {
  return text === ALL_TAINTS ? named.map(formatTaint).join(', ') : text;
}

/** An update of a node, from what it is before: most parts stay. */
export interface NodeEdit {
  readonly labels: NodeState['labels'] | 'kept';
  readonly allowRemoval: string | undefined | 'kept';
  /** Which taints stay, bit by bit. */
  readonly stay: number;
  /** Comes last, or in place of the taint of its key and effect. */
  readonly added: Taint | undefined;
}

const kept = { arbitrary: fc.constant('kept' as const), weight: 3 };
const nodeEdit: fc.Arbitrary<NodeEdit> = fc.record({
  labels: fc.oneof(kept, { arbitrary: labels, weight: 1 }),
  allowRemoval: fc.oneof(kept, { arbitrary: allowRemoval, weight: 1 }, allTaints),
  stay: fc.oneof(
    { arbitrary: fc.constant(0b11111), weight: 1 },
    { arbitrary: fc.integer({ min: 0, max: 0b11111 }), weight: 2 },
  ),
  added: fc.oneof({ arbitrary: taint, weight: 2 }, { arbitrary: fc.constant(undefined), weight: 1 }),
});

export function edited(
  before: NodeState,
  { labels: newLabels, allowRemoval: newAllowRemoval, stay, added }: NodeEdit,
): NodeState {
  const left = before.taints.filter((_, index) => stay & (1 << index));
  return {
    ...before,
    labels: newLabels === 'kept' ? before.labels : newLabels,
    allowRemoval: newAllowRemoval === 'kept' ? before.allowRemoval : namesOf(newAllowRemoval, before.taints),
    taints: withTaints(left, added ? [added] : []),
  };
}

/** The name of a node that is created. */
export const NEW_NODE = 'n-new';

/** Who makes requests; the API server adds `system:authenticated` to the groups. */
const USERS: readonly User[] = [
  { name: 'dev@example.com', groups: ['developers'] },
  { name: 'a "quoted" \\ nâme', groups: ['some\tgroup', "it's"] },
  { name: 'autoscaler', groups: [] },
  { name: 'system:node:n1', groups: ['system:nodes'] },
  { name: 'system:node:n1', groups: ['developers'] },
  { name: `system:node:${NEW_NODE}`, groups: ['system:nodes'] },
  { name: 'kubelet', groups: ['system:nodes'] },
] as const;

const exempt = fc.constantFrom<TaintPolicySpec['exempt']>(
  undefined,
  {},
  { users: ['autoscaler', 'dev@example.com'] },
  { users: ['*@example.com', 'a*b'] },
  { users: ['a "*" \\ n*e', 'a "quoted" *â*'] },
  { groups: ['*'] },
  { groups: ['developers'] },
  { groups: ['some\t*', "it's not"] },
  { groups: ['*me*'] },
  { groups: ['system:auth*'] },
  { users: ['nobody'], groups: ['dev*s', 'x*y*z'] },
);

const possibleKey = key.filter((one) => !NODE_STATE_TAINT_KEYS.includes(one));

/** A key, or a domain that mostly excepts nothing. */
const meant = fc.oneof(
  fc.record({ key: possibleKey }),
  fc.record({ key: fc.constantFrom(...DOMAINS) }),
  fc
    .tuple(fc.constantFrom(...DOMAINS), fc.subarray(EXCEPTIONS, { minLength: 1 }))
    .map(([domain, names]) => ({ key: domain, except: names.map((name) => `${domain.slice(0, -1)}${name}`) })),
);

const taintRule = fc.oneof(
  // Rules that ask for little: what they protect is removed often.
  { arbitrary: meant, weight: 3 },
  fc.tuple(meant, fc.record({ value, effect }, { requiredKeys: [] })).map(([which, how]) => ({ ...which, ...how })),
  { arbitrary: presentRule(possibleKey), weight: 2 },
);

const taintPolicy = fc
  .record<TaintPolicySpec>(
    {
      mode: fc.constantFrom('Deny', 'Restore', 'Audit'),
      nodeSelector: labelSelector,
      taints: fc.uniqueArray(taintRule, {
        minLength: 1,
        maxLength: 3,
        selector: (rule) =>
          'ensure' in rule && rule.ensure !== undefined ? `${rule.key}:${rule.effect}` : JSON.stringify(rule),
      }),
      exempt,
      removalByAnnotation: fc.constantFrom('Allowed', 'Forbidden'),
      failurePolicy: fc.constantFrom('Fail', 'Ignore'),
      backstop,
    } as never,
    { requiredKeys: ['mode', 'taints'] },
  )
  // An Audit policy may not say Fail.
  .map((spec) =>
    withoutUndefined({ ...withoutContradiction(spec), ...(spec.mode === 'Audit' ? { failurePolicy: undefined } : {}) }),
  );

/** With those that some pods tolerate by themselves, and one that has no value by convention. */
const tolerationKey = fc.oneof(
  key,
  fc.constantFrom('node.kubernetes.io/network-unavailable', 'node-role.kubernetes.io/master'),
);

/** One that lets everybody take off what it declares, which hardly ever comes about by chance. */
const exemptingPolicy = fc.record<TaintPolicySpec>({
  mode: fc.constantFrom('Deny', 'Restore'),
  nodeSelector: labelSelector.map((selector) => selector ?? {}),
  taints: fc.uniqueArray(
    fc.record(
      {
        key: fc.constantFrom(...LASTING_KEYS),
        value,
        effect,
        ensure: fc.constantFrom('Always' as const, 'AtRegistration' as const),
      },
      { requiredKeys: ['key', 'effect', 'ensure'] },
    ),
    { minLength: 4, maxLength: 12, size: 'max', selector: (rule) => `${rule.key}:${rule.effect}` },
  ),
  exempt: fc.constantFrom({ groups: ['system:auth*'] }, { users: ['*'] }),
});

/** One whose startup taints nodes carry, and that some labels do not fit. */
const startupPolicy = fc
  .record({
    mode: fc.constantFrom('Deny' as const, 'Restore' as const),
    nodeSelector: labelSelector.filter((selector) => selector !== undefined),
    keys: fc.subarray(LASTING_KEYS, { minLength: 2 }),
    value: fc.constantFrom(undefined, undefined, 'x'),
    failurePolicy: fc.constantFrom('Fail' as const, 'Ignore' as const),
  })
  .map(
    ({ keys, value: named, ...spec }): TaintPolicySpec => ({
      ...spec,
      taints: keys.map((one) => ({
        key: one,
        ...(named === undefined ? {} : { value: named }),
        effect: 'NoSchedule',
        ensure: 'UntilReady',
        readyWhen: { daemonSets: [{ namespace: 'kube-system', name: 'cilium' }] },
      })),
    }),
  );

const tolerationList = fc.array(
  fc.oneof(
    fc.record(
      { key: tolerationKey, operator: fc.constant('Exists' as const), effect },
      { requiredKeys: ['key', 'operator'] },
    ),
    fc.record({ key, value, effect, operator: fc.constant('Equal' as const) }, { requiredKeys: ['key'] }),
    fc.record({
      key,
      operator: fc.constantFrom('Exists' as const, 'Equal' as const),
      effect: fc.constant('NoExecute' as const),
      tolerationSeconds: fc.constantFrom(0, 300),
    }),
    fc.constant({ operator: 'Exists' as const }),
    fc.record({ operator: fc.constant('Exists' as const), effect }),
  ),
  { maxLength: 4 },
);

const tolerationPolicy = fc
  .record<TolerationPolicySpec>(
    {
      mode: fc.constantFrom('Mutate', 'Audit'),
      daemonSets: daemonSetSelection,
      tolerations: tolerationList.filter(({ length }) => length > 0) as never,
      existing: fc.constantFrom('Report', 'Patch'),
      backstop,
    } as never,
    { requiredKeys: ['mode', 'daemonSets'] },
  )
  // An Audit policy may not say Patch.
  .map((spec) => withoutUndefined(spec.mode === 'Audit' ? { ...spec, existing: undefined } : spec));

/** Policies of both kinds as they come out of their files, valid all of them. */
export const policies: fc.Arbitrary<Policy[]> = fc
  .record({
    taint: fc.array(
      fc.oneof(
        { arbitrary: taintPolicy, weight: 5 },
        { arbitrary: exemptingPolicy, weight: 1 },
        { arbitrary: startupPolicy, weight: 1 },
      ),
      { minLength: 1, maxLength: TAINT_POLICIES.length, size: 'max' },
    ),
    toleration: fc.array(tolerationPolicy, { maxLength: 3, size: 'max' }),
  })
  .map(({ taint: taintSpecs, toleration }) => [
    ...taintSpecs.map((spec, index) => manifest('TaintPolicy', TAINT_POLICIES[index] ?? '', spec)),
    ...toleration.map((spec, index) => manifest('TolerationPolicy', `toleration-${index}`, spec)),
  ])
  .map((manifests) => manifests.map(readPolicy));

export interface DaemonSetState {
  readonly labels: Readonly<Record<string, string>>;
  readonly tolerations: readonly Toleration[];
  /** The value of the annotation `taintkeeper.dev/ignore`. */
  readonly ignore?: string | undefined;
  /** Another image is another template. */
  readonly image: string;
  readonly hostNetwork: boolean;
  /** Only an API server sets this: it is not among what is generated. */
  readonly deleting?: true;
}

const daemonSetState: fc.Arbitrary<DaemonSetState> = fc.record({
  labels,
  tolerations: tolerationList,
  ignore: fc.constantFrom(undefined, undefined, 'true', 'false', ''),
  image: fc.constantFrom('a', 'b'),
  hostNetwork: fc.constantFrom(true, true, true, false),
});

export const DAEMON_SET_PLACES = [
  { namespace: 'kube-system', name: 'cni' },
  { namespace: 'kube-system', name: 'node-agent' },
  { namespace: 'kube-public', name: 'csi' },
  { namespace: 'default', name: 'cni-x' },
  { namespace: 'default', name: 'other' },
  // The asterisk of a pattern c*i matches nothing here.
  { namespace: 'kube-public', name: 'ci' },
] as const;

/** One request. Which node or DaemonSet an update is about, is a number: as many as there are stand ready. */
export type Request = { readonly user: User } & (
  | { readonly what: 'node update'; readonly node: number; readonly edit: NodeEdit }
  | { readonly what: 'node creation'; readonly state: NodeState }
  | { readonly what: 'DaemonSet update'; readonly place: number; readonly state: DaemonSetState }
  | {
      readonly what: 'DaemonSet creation';
      readonly place: number;
      readonly state: DaemonSetState;
      /** The API server makes the name, after admission. */
      readonly generateName?: true;
    }
);

const NODES = 6;

// NodeRestriction refuses most of what nodes do here.
const user = fc.oneof(
  { arbitrary: fc.constantFrom(...USERS.slice(0, 3)), weight: 3 },
  { arbitrary: fc.constantFrom(...USERS), weight: 1 },
);
const place = fc.nat(DAEMON_SET_PLACES.length - 1);

const nodeRequests = (state: fc.Arbitrary<NodeState>, edit: fc.Arbitrary<NodeEdit>) =>
  [
    {
      arbitrary: fc.record({ what: fc.constant('node update' as const), node: fc.nat(NODES - 1), edit, user }),
      weight: 4,
    },
    { arbitrary: fc.record({ what: fc.constant('node creation' as const), state, user }), weight: 1 },
  ] as const;

const request: fc.Arbitrary<Request> = fc.oneof(...nodeRequests(nodeState, nodeEdit), {
  arbitrary: fc.record({
    what: fc.constantFrom('DaemonSet update', 'DaemonSet creation'),
    place,
    state: daemonSetState,
    user,
  }),
  weight: 2,
});

/** A set of policies, what stands ready when they come into force, and the requests that are made then. */
export const scenario = (requests: number) =>
  fc.record({
    policies,
    /** `--audit`. */
    audit: fc.oneof({ arbitrary: fc.constant(false), weight: 7 }, { arbitrary: fc.constant(true), weight: 1 }),
    nodes: fc.array(nodeState, { minLength: NODES, maxLength: NODES }),
    daemonSets: fc.array(daemonSetState, { minLength: DAEMON_SET_PLACES.length, maxLength: DAEMON_SET_PLACES.length }),
    requests: fc.array(request, { minLength: requests, maxLength: requests }),
  });

/** The same for TaintPolicies and nodes alone. */
export const nodeScenario = (requests: number) =>
  fc.record({
    policies: policies.map((all) => all.filter((policy) => policy.kind === 'TaintPolicy')),
    nodes: fc.array(nodeState, { minLength: NODES, maxLength: NODES }),
    requests: fc.array(fc.oneof(...nodeRequests(nodeState, nodeEdit)), { minLength: requests, maxLength: requests }),
  });

function withoutUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}

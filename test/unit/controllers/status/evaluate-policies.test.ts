import { describe, expect, it } from 'vitest';
import { type ClusterDaemonSet, keepDaemonSet } from '../../../../src/cluster/objects/cluster-objects.ts';
import { viewPolicy } from '../../../../src/cluster/policies/policy-object.ts';
import { createReports, type Report, type ReportedProblem } from '../../../../src/controllers/reports.ts';
import type { ComparedKind, Reading } from '../../../../src/controllers/status/compared-kinds.ts';
import { evaluatePolicies } from '../../../../src/controllers/status/evaluate-policies.ts';
import type { NodeStatus } from '../../../../src/judge/node-view.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import type { PolicyStatus } from '../../../../src/policy/reporting/policy-status.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import type { TolerationPolicySpec } from '../../../../src/policy/toleration-policy.ts';
import type { TolerationRestrictionSpec } from '../../../../src/policy/toleration-restriction.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { policySet } from '../../policy/policies.ts';
import { nodeEntry } from '../nodes/node-entries.ts';

interface Cluster {
  readonly taint?: Record<string, TaintPolicySpec>;
  readonly toleration?: Record<string, TolerationPolicySpec>;
  readonly restriction?: Record<string, TolerationRestrictionSpec>;
  /** The name of a TaintPolicy that cannot be used. */
  readonly invalid?: string;
  /** What the spec of each policy has besides. */
  readonly unknown?: object;
  readonly nodes?: readonly ReturnType<typeof nodeEntry>[];
  /** The current one of each policy. */
  readonly status?: PolicyStatus;
  readonly daemonSets?: readonly ClusterDaemonSet[];
}

/** What is found. */
async function evaluated(
  cluster: Cluster,
  report: Omit<Report, 'changes'>,
  readings: Readonly<Record<ComparedKind, Reading>> = { nodes: 'Read', daemonSets: 'Read' },
) {
  const {
    taint = {},
    toleration = {},
    restriction = {},
    invalid,
    unknown,
    nodes = [],
    daemonSets = [],
    status,
  } = cluster;
  const kinds = { TaintPolicy: taint, TolerationPolicy: toleration, TolerationRestriction: restriction };
  const objects = Object.entries(kinds).flatMap(([kind, specs]) =>
    Object.entries(specs).map(([name, spec]) =>
      viewPolicy(kind as keyof typeof kinds, {
        metadata: { name, uid: `${kind}-${name}`, generation: 1, resourceVersion: '1' },
        spec: { ...spec, ...unknown },
        status,
      }),
    ),
  );
  if (invalid !== undefined)
    objects.push(
      viewPolicy('TaintPolicy', {
        metadata: { name: invalid, uid: invalid, generation: 1, resourceVersion: '1' },
        spec: {},
      }),
    );
  const reports = createReports();
  reports.add('nodes', { changes: createSubject(), ...report });
  const { policies, problems } = await evaluatePolicies({
    readings,
    objects,
    compiled: policySet({ taint, toleration, restriction }),
    nodes: nodes.map(({ value }) => value),
    daemonSets,
    unreadable: [
      { namespace: 'unreadable', name: 'd' },
      { namespace: 'taintkeeper', name: 'stale' },
    ],
    ownNamespace: 'taintkeeper',
    pods: [],
    reports,
    patchedBy: () => [],
    audit: false,
    violators: new Map(),
    now: new Date(),
  });
  return {
    statuses: new Map(policies.map(({ policy: { kind, name }, status }) => [`${kind} ${name}`, status])),
    problems: problems.map(({ kind, policy, reason }) => `${kind} ${policy} ${reason}`),
  };
}

/** The condition Stalled of each status, where it is True. */
function stalledIn(statuses: ReadonlyMap<string, PolicyStatus>): Record<string, string> {
  return Object.fromEntries(
    [...statuses].flatMap(([policy, { conditions = [] }]) =>
      conditions
        .filter(({ type, status }) => type === 'Stalled' && status === 'True')
        .map(({ reason, message }) => [policy, `${reason}: ${message}`]),
    ),
  );
}

const MUTATE: TolerationPolicySpec = { mode: 'Mutate', daemonSets: { namespaces: ['*'] } };
const PROTECT: TaintPolicySpec = { mode: 'Restore', taints: [{ key: 'dedicated' }] };
const RESTRICTION: TolerationRestrictionSpec = { mode: 'Audit', taints: [{ key: 'dedicated' }] };
const requiring = (value: string, pool = 'gpu'): TaintPolicySpec => ({
  mode: 'Restore',
  nodeSelector: { matchLabels: { pool } },
  taints: [{ key: 'dedicated', value, effect: 'NoSchedule', ensure: 'Always' }],
});
const nodeOf = (labels: Record<string, string>, taints: readonly Taint[] = [], status: NodeStatus = {}) => {
  const entry = nodeEntry('n1', taints);
  return { ...entry, value: { ...entry.value, ...status, labels } };
};
const waitingFor = (key: string, name: string): TaintPolicySpec => ({
  mode: 'Restore',
  taints: [
    {
      ...{ key, effect: 'NoSchedule', ensure: 'UntilReady' },
      readyWhen: { daemonSets: [{ namespace: 'taintkeeper', name }] },
    },
  ],
});
/** In the namespace of taintkeeper, which startup taints may wait for as well. */
const daemonSetOf = (name: string, podSpec: object) =>
  keepDaemonSet({
    metadata: { name, namespace: 'taintkeeper' },
    spec: { selector: {}, template: { spec: { containers: [], ...podSpec } } },
  });
const IGNORED =
  'spec.later: this version of taintkeeper does not know this field; it is ignored, so the policy may do more or less than intended';
const CONTRADICTION =
  'TaintPolicies p and q select node n1 and require dedicated=a:NoSchedule and dedicated=b:NoSchedule: ' +
  'a node that registers gets dedicated=a:NoSchedule, because both are in mode Restore, and p comes first by name; ' +
  'a running node keeps what it carries';

it.each<{
  what: string;
  cluster: Cluster;
  problems?: readonly ReportedProblem[];
  stalled: Record<string, string>;
  counted: readonly string[];
}>([
  {
    what: 'a problem, on the policy of its kind and name alone',
    cluster: { taint: { p: PROTECT, q: PROTECT }, toleration: { p: MUTATE } },
    problems: [{ kind: 'TaintPolicy', policy: 'p', reason: 'RepairRefused', message: 'refused' }],
    stalled: { 'TaintPolicy p': 'RepairRefused: refused' },
    counted: ['TaintPolicy p RepairRefused'],
  },
  {
    what: 'several problems of one policy together, with the reason of the first',
    cluster: { taint: { p: PROTECT } },
    problems: [
      { kind: 'TaintPolicy', policy: 'p', reason: 'NotPermitted', message: 'one' },
      { kind: 'TaintPolicy', policy: 'p', reason: 'RepairRefused', message: 'other' },
    ],
    stalled: { 'TaintPolicy p': 'RepairRefused: other; one' },
    counted: ['TaintPolicy p NotPermitted', 'TaintPolicy p RepairRefused'],
  },
  {
    what: 'no problem of a TolerationRestriction, which only the metric has',
    cluster: { taint: { p: PROTECT }, restriction: { p: RESTRICTION } },
    problems: [{ kind: 'TolerationRestriction', policy: 'p', reason: 'NotPermitted', message: 'no right' }],
    stalled: {},
    counted: ['TolerationRestriction p NotPermitted'],
  },
  {
    what: 'the fields that are ignored, of every kind and before all other problems',
    cluster: {
      taint: { p: PROTECT },
      restriction: { r: RESTRICTION },
      unknown: { later: 1 },
    },
    problems: [{ kind: 'TaintPolicy', policy: 'p', reason: 'RepairRefused', message: 'refused' }],
    stalled: {
      'TaintPolicy p': `UnknownFields: ${IGNORED}; refused`,
      'TolerationRestriction r': `UnknownFields: ${IGNORED}`,
    },
    counted: ['TaintPolicy p UnknownFields', 'TolerationRestriction r UnknownFields', 'TaintPolicy p RepairRefused'],
  },
  {
    what: 'a label and a taint that look misspelled',
    cluster: {
      taint: { p: { ...PROTECT, nodeSelector: { matchLabels: { poool: 'gpu' } } }, q: PROTECT },
      nodes: [nodeOf({ pool: 'gpu' }, [{ key: 'dedicted', effect: 'NoSchedule' }])],
    },
    stalled: {
      'TaintPolicy p':
        'KeyLooksMisspelled: spec.nodeSelector: no node has label poool; did you mean pool?; ' +
        'spec.taints[0].key: no node carries a taint dedicated; did you mean dedicted?',
      'TaintPolicy q':
        'KeyLooksMisspelled: spec.taints[0].key: no node carries a taint dedicated; did you mean dedicted?',
    },
    counted: ['p', 'p', 'q'].map((name) => `TaintPolicy ${name} KeyLooksMisspelled`),
  },
  {
    what: 'a condition and a resource of readyWhen that look misspelled',
    cluster: {
      taint: {
        p: {
          mode: 'Restore',
          taints: [
            {
              ...{ key: 'a', effect: 'NoSchedule', ensure: 'UntilReady' },
              readyWhen: { conditions: [{ type: 'networkReady' }], allocatable: [{ resource: 'nvidia.com/gpus' }] },
            },
          ],
        },
      },
      nodes: [nodeOf({}, [], { conditions: { NetworkReady: 'True' }, resources: ['nvidia.com/gpu'] })],
    },
    stalled: {
      'TaintPolicy p':
        'KeyLooksMisspelled: spec.taints[0].readyWhen.conditions[0].type: no node has condition networkReady; did you mean NetworkReady?; ' +
        'spec.taints[0].readyWhen.allocatable[0].resource: no node has resource nvidia.com/gpus; did you mean nvidia.com/gpu?',
    },
    counted: ['p', 'p'].map((name) => `TaintPolicy ${name} KeyLooksMisspelled`),
  },
  {
    what: 'a DaemonSet of readyWhen that selects no node of the policy',
    cluster: {
      taint: {
        p: waitingFor('a', 'one'),
        q: { ...waitingFor('b', 'one'), nodeSelector: { matchLabels: { pool: 'cpu' } } },
        r: waitingFor('c', 'two'),
        // The leader has only an earlier version of it.
        s: waitingFor('d', 'stale'),
      },
      nodes: [nodeOf({ pool: 'gpu' })],
      daemonSets: [
        daemonSetOf('one', { nodeSelector: { pool: 'cpu' } }),
        daemonSetOf('two', {}),
        daemonSetOf('stale', { nodeSelector: { pool: 'cpu' } }),
      ],
    },
    stalled: {
      'TaintPolicy p':
        "DaemonSetSelectsNoNode: DaemonSet taintkeeper/one selects none of the policy's nodes: " +
        'new nodes with the same labels wait with taint a:NoSchedule (spec.taints[0]). ' +
        'Correct nodeSelector of the policy, or the node selector or affinity of the DaemonSet',
    },
    counted: ['TaintPolicy p DaemonSetSelectsNoNode'],
  },
  {
    what: 'a contradiction, on both policies',
    cluster: {
      taint: { p: requiring('a'), q: requiring('b'), r: requiring('c', 'cpu') },
      nodes: [nodeOf({ pool: 'gpu' })],
    },
    stalled: {
      'TaintPolicy p': `RequiredValuesDiffer: ${CONTRADICTION}`,
      'TaintPolicy q': `RequiredValuesDiffer: ${CONTRADICTION}`,
    },
    counted: ['TaintPolicy p RequiredValuesDiffer', 'TaintPolicy q RequiredValuesDiffer'],
  },
])('the condition Stalled has $what', async ({ cluster, problems = [], stalled, counted }) => {
  const found = await evaluated(cluster, { problems: () => problems });
  const { taint = {}, toleration = {}, restriction = {} } = cluster;
  expect(found.statuses.size).toBe([taint, toleration, restriction].flatMap(Object.keys).length);
  expect(stalledIn(found.statuses)).toEqual(stalled);
  expect(found.problems).toEqual(counted);
});

it('the condition Ready names for what allDaemonSets does not wait, also because of the startup taints of another policy', async () => {
  const all = (key: string, namespaces: string[], pool: string): TaintPolicySpec => ({
    mode: 'Restore',
    nodeSelector: { matchLabels: { pool } },
    taints: [{ key, effect: 'NoSchedule', ensure: 'UntilReady', readyWhen: { allDaemonSets: { namespaces } } }],
  });
  const found = await evaluated(
    {
      taint: {
        p: all('a', ['taintkeeper', 'empty', 'unreadable'], 'gpu'),
        q: { ...all('b', ['taintkeeper'], 'gpu'), nodeSelector: { matchLabels: { zone: 'a' } } },
        r: all('c', ['taintkeeper'], 'cpu'),
      },
      nodes: [nodeOf({ pool: 'gpu', zone: 'a' })],
      daemonSets: [daemonSetOf('one', { tolerations: [{ key: 'a', operator: 'Exists' }] })],
    },
    {},
  );
  const messageOf = (name: string) =>
    found.statuses.get(`TaintPolicy ${name}`)?.conditions?.find(({ type }) => type === 'Ready')?.message;
  expect(messageOf('p')).toContain(
    'spec.taints[0]: namespace empty has no DaemonSet, so the taint waits for none there; ' +
      'spec.taints[0] does not wait for DaemonSet taintkeeper/one, which does not tolerate taint b:NoSchedule of TaintPolicy q on the same nodes',
  );
  expect(messageOf('r')).not.toContain('TaintPolicy');
});

it('a policy has no status while a controller does not know its conditions', async () => {
  const { statuses } = await evaluated(
    { taint: { p: PROTECT, q: PROTECT } },
    { conditions: ({ name }) => (name === 'p' ? 'pending' : []) },
  );
  expect([...statuses.keys()]).toEqual(['TaintPolicy q']);
});

describe('a kind that is not listed yet', () => {
  it('leaves the statuses of the other policies, and the problems of those without a status are not counted', async () => {
    const cluster = { taint: { p: PROTECT }, toleration: { p: MUTATE }, restriction: { p: RESTRICTION } };
    const problems: readonly ReportedProblem[] = [
      { kind: 'TaintPolicy', policy: 'p', reason: 'RepairRefused', message: 'm' },
      { kind: 'TolerationPolicy', policy: 'p', reason: 'NotPermitted', message: 'm' },
    ];
    const readings = { nodes: 'Read', daemonSets: 'Pending' } as const;
    const found = await evaluated(cluster, { problems: () => problems }, readings);
    expect([...found.statuses.keys()]).toEqual(['TaintPolicy p', 'TolerationRestriction p']);
    expect(found.problems).toEqual(['TaintPolicy p RepairRefused']);
  });
});

describe('a kind that cannot be listed', () => {
  const WAIT: TaintPolicySpec = {
    mode: 'Restore',
    taints: [
      {
        key: 'example.com/network',
        effect: 'NoSchedule',
        ensure: 'UntilReady',
        readyWhen: { daemonSets: [{ namespace: 'kube-system', name: 'cilium' }] },
      },
    ],
  };
  const status: PolicyStatus = { matched: 12, violating: 11, violators: ['n1'], removalAllowed: 2, waiting: 3 };
  const UNLISTED = { error: 'HTTP 503' };
  const readings = { nodes: 'Read', daemonSets: UNLISTED } as const;

  it('is told in the status of each policy that is compared with it, which keeps what was found before', async () => {
    const cluster = { taint: { p: PROTECT, w: WAIT }, toleration: { t: MUTATE }, nodes: [nodeOf({})], status };
    const { statuses, problems } = await evaluated(cluster, {}, readings);
    const message = 'NotListed: the leader cannot list DaemonSets: HTTP 503';
    expect(stalledIn(statuses)).toEqual({ 'TaintPolicy w': message, 'TolerationPolicy t': message });
    expect(problems).toEqual(['TaintPolicy w NotListed', 'TolerationPolicy t NotListed']);
    expect(statuses.get('TaintPolicy w')).toMatchObject(status);
    expect(statuses.get('TolerationPolicy t')).toMatchObject(status);
    expect(statuses.get('TaintPolicy p')).toMatchObject({ matched: 1, violating: 0, violators: [] });
  });

  it('leaves a status that has found nothing yet without counts', async () => {
    const { statuses } = await evaluated({ taint: { w: WAIT } }, {}, readings);
    expect(Object.keys(statuses.get('TaintPolicy w') ?? {}).sort()).toEqual([
      'conditions',
      'mode',
      'observedGeneration',
    ]);
  });

  it('says nothing of a TolerationRestriction, which is compared with nothing', async () => {
    const unlisted = { nodes: UNLISTED, daemonSets: UNLISTED };
    const { problems } = await evaluated({ restriction: { r: RESTRICTION } }, {}, unlisted);
    expect(problems).toEqual([]);
  });

  it('says nothing of a policy that is not in force', async () => {
    const { statuses, problems } = await evaluated({ invalid: 'p' }, {}, { ...readings, nodes: UNLISTED });
    expect(problems).toEqual([]);
    expect(statuses.get('TaintPolicy p')).toMatchObject({ matched: 0, violating: 0, violators: [] });
  });

  it('compares no key with a part of the nodes', async () => {
    const misspelled: TaintPolicySpec = { ...PROTECT, nodeSelector: { matchLabels: { pol: 'gpu' } } };
    const cluster = { taint: { p: misspelled }, nodes: [nodeOf({ pool: 'gpu' })] };
    expect((await evaluated(cluster, {})).problems).toEqual(['TaintPolicy p KeyLooksMisspelled']);
    const unlisted = { nodes: UNLISTED, daemonSets: UNLISTED };
    expect((await evaluated(cluster, {}, unlisted)).problems).toEqual(['TaintPolicy p NotListed']);
  });
});

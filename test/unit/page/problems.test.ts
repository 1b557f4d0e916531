import { describe, expect, it } from 'vitest';
import type { EvaluatedRow } from '../../../src/page/coverage-matrix.ts';
import type { DenialsOfComponent } from '../../../src/page/decision-log.ts';
import type { EvaluatedNodes, EvaluatedNote, NodeLoss } from '../../../src/page/node-map.ts';
import { daemonSetAt, nodeAt } from '../../../src/page/places.ts';
import { pageProblems } from '../../../src/page/problems.ts';
import type { NodeColumn } from '../../../src/page/state.ts';
import type { LeaderView, ReplicaView } from '../../../src/page/state-views.ts';
import { assessCondition } from '../../../src/policy/reporting/status-conditions.ts';

const NOW = Date.parse('2026-03-14T02:00:00Z');
const DAY_MS = 86_400_000;
const after = (days: number) => new Date(NOW + days * DAY_MS).toISOString();

const POLICY: ReplicaView['policies'][number] = {
  kind: 'TaintPolicy',
  name: 'gpu-pool',
  mode: 'Restore',
  valid: true,
  problems: [],
  matched: 3,
  violating: 0,
  violators: [],
  conditions: [],
  summary: { level: 'ok', word: 'in force', why: '' },
  spec: '',
};
const daemonSets = (...names: readonly string[]) => names.map((text) => ({ text, place: daemonSetAt(text) }));
const CERTIFICATE = { notAfter: after(60), daysLeft: 60, expiresSoon: false };
const HEALTHY: ReplicaView = {
  version: '1.0.0',
  replica: 'a',
  mode: 'cluster',
  leader: { isThis: true, name: 'a' },
  audit: false,
  checks: [
    { name: 'policies', state: 'ok', detail: '1 in force' },
    { name: 'certificate', state: 'ok', detail: '' },
  ],
  certificate: CERTIFICATE,
  webhooks: [{ name: 'protect.taintkeeper.dev', trusted: true }],
  policies: [POLICY],
};

const NOTE: EvaluatedNote = {
  taint: 'a:NoSchedule',
  blockedBy: 'ModeDoesNotRestore',
  why: 'mode Audit does not set it',
  harm: 'Missing',
};
const REPAIRING: EvaluatedNote = { taint: 'a:NoSchedule', why: 'the leader is about to set it', harm: 'Repairing' };
const COLUMNS: readonly NodeColumn[] = [
  { policy: 'gpu-pool', field: 'spec.taints[0]', mode: 'Restore', taint: 'a:NoSchedule' },
  { policy: 'watched', field: 'spec.taints[0]', mode: 'Audit', taint: 'b:NoSchedule' },
];
/** Nodes `n0`, `n1`, … with these cells. The last note is also that of further nodes. */
const nodesWith = (
  cells: readonly string[],
  notes: readonly [EvaluatedNote, ...EvaluatedNote[]] = [NOTE],
  columns = COLUMNS,
): EvaluatedNodes => ({
  shown: {
    columns,
    columnsLeftOut: 0,
    notes: [],
    unselected: 2,
    pools: ['pool=gpu'],
    waiting: [],
    waitingLeftOut: 0,
    rows: [],
  },
  losses: cells.flatMap((row, index) =>
    columns.flatMap((column, at): NodeLoss[] => {
      const cell = row[at];
      const note = notes[index] ?? notes.at(-1) ?? NOTE;
      return cell === 'm' || cell === 'd' || cell === 'c' ? [{ node: `n${index}`, column, cell, note }] : [];
    }),
  ),
});

const row = (name: string, more: Partial<EvaluatedRow>): EvaluatedRow => ({
  ...{ namespace: 'ns', name, cells: [0], runs: 1, keptOff: 0, desired: 1, unavailable: 0 },
  ...more,
});
const ledWith = (nodes: EvaluatedNodes, daemonSets: readonly EvaluatedRow[] = [], unready = 0): LeaderView => ({
  nodes,
  coverage: { shown: { groups: [], groupsLeftOut: 0, daemonSets, answers: [] }, daemonSets },
  unready,
});
const LED = ledWith(nodesWith(['kk']));

const condition = (type: string, status: string, reason = '') => {
  const { level, word } = assessCondition({ type, status, reason });
  return { type, status, reason, message: 'why', since: after(-1), level, word };
};

const DENIED: DenialsOfComponent = {
  ...{ user: 'system:node:n1', count: 1, policies: ['p'], objects: ['n1'] },
  origins: ['10.0.0.1'],
};

const problemsOf = (
  change: Partial<ReplicaView> = {},
  led: LeaderView | undefined = LED,
  denials: readonly DenialsOfComponent[] = [],
) => pageProblems({ ...HEALTHY, ...change }, led, denials);
const told = (...args: Parameters<typeof problemsOf>) =>
  problemsOf(...args).map(({ level, place, text }) => `${level} ${place?.tab ?? '-'} ${text}`);

it('finds nothing wrong where nothing is', () => {
  expect(problemsOf()).toEqual([]);
});

it.each<{ why: string; change: Partial<ReplicaView>; found: string[] }>([
  {
    why: 'a check that failed comes before one that is degraded',
    change: {
      checks: [
        { name: 'webhooks', state: 'degraded', detail: 'odd' },
        { name: 'certificate', state: 'failed', detail: 'expired' },
      ],
    },
    found: ['failed - Certificate: expired', 'attention - Webhooks: odd'],
  },
  {
    why: 'webhooks that do not trust the certificate',
    change: { webhooks: [{ name: 'protect.taintkeeper.dev', trusted: false }] },
    found: ['failed - The API server does not trust the certificate of 1 of 1 webhook'],
  },
  {
    why: 'a policy that cannot be used is named, and not told of twice',
    change: {
      checks: [{ name: 'policies', state: 'degraded', detail: '0 in force; not usable: TaintPolicy gpu-pool' }],
      policies: [{ ...POLICY, valid: false, problems: ['spec: no'] }],
    },
    found: ['failed policies TaintPolicy gpu-pool is not in force: spec: no'],
  },
  {
    why: 'a policy of which an earlier generation stays in force is less of a matter',
    change: { policies: [{ ...POLICY, valid: false, problems: ['spec: no'], generationInForce: 2 }] },
    found: [
      'attention policies TaintPolicy gpu-pool cannot be used as it stands, and generation 2 stays in force until taintkeeper restarts: spec: no',
    ],
  },
  {
    why: 'files that cannot be read are told of by the check alone',
    change: { checks: [{ name: 'policies', state: 'degraded', detail: '1 in force, the last good ones: bad file' }] },
    found: ['attention policies Policies: 1 in force, the last good ones: bad file'],
  },
  {
    why: 'a policy that is not ready, and one that is stalled',
    change: {
      policies: [
        { ...POLICY, conditions: [condition('Ready', 'True'), condition('Stalled', 'True')] },
        { ...POLICY, name: 'b', conditions: [condition('Ready', 'False')] },
      ],
    },
    found: [
      'failed policies TaintPolicy b is not in force: why',
      'attention policies TaintPolicy gpu-pool is stalled: why',
    ],
  },
  {
    why: 'what the nodes show by cause is not told of once more',
    change: { policies: [{ ...POLICY, conditions: [condition('Stalled', 'True', 'TaintConflict')] }] },
    found: [],
  },
  {
    why: 'a repair that the API server refuses is, because the nodes only show that it is to come',
    change: { policies: [{ ...POLICY, conditions: [condition('Stalled', 'True', 'RepairRefused')] }] },
    found: ['failed policies TaintPolicy gpu-pool is stalled: why'],
  },
  {
    why: 'that of a TolerationPolicy is always told of',
    change: {
      policies: [{ ...POLICY, kind: 'TolerationPolicy', violating: 2, violators: daemonSets('ns/x', 'ns/y') }],
    },
    found: ['failed policies TolerationPolicy gpu-pool: tolerations are missing on 2 of 3 DaemonSets'],
  },
  {
    why: 'a certificate near its end, of which the check does not say so yet',
    change: { certificate: { notAfter: after(13.5), daysLeft: 13, expiresSoon: true } },
    found: ['attention - The serving certificate expires in 13 days'],
  },
  {
    why: 'one that has expired',
    change: { certificate: { notAfter: after(-1), daysLeft: -1, expiresSoon: true } },
    found: ['failed - The serving certificate has expired'],
  },
  {
    why: 'that nothing is declared',
    change: { policies: [] },
    found: ['attention policies There are no policies: nothing is protected'],
  },
  {
    why: 'policies that have not been read, which is another matter',
    change: { policies: [], checks: [{ name: 'policies', state: 'failed', detail: 'not read yet' }] },
    found: ['failed policies Policies: not read yet'],
  },
  {
    why: 'that no replica leads',
    change: { leader: { isThis: false } },
    found: ['attention - No replica leads: nothing is restored except within requests'],
  },
])('tells of $why', ({ change, found }) => {
  expect(told(change)).toEqual(found);
});

it('tells of a TaintPolicy by its status where the nodes are not known', () => {
  const change = {
    leader: { isThis: false, name: 'b' },
    policies: [{ ...POLICY, violating: 2, violators: ['n1', 'n2'].map((text) => ({ text, place: nodeAt(text) })) }],
  };
  expect(pageProblems({ ...HEALTHY, ...change }, undefined, []).map(({ text }) => text)).toEqual([
    'TaintPolicy gpu-pool: taints are missing on 2 of 3 nodes',
  ]);
  expect(told(change)).toEqual([]);
});

it('ranks what is wrong with nodes, daemons, requests and policies by its harm', () => {
  const led = ledWith(nodesWith(['ck', 'ck', 'kk'], [{ ...NOTE, blockedBy: 'Conflict', harm: 'Conflict' }]), [
    row('cni', { gap: true, critical: true, keptOff: 119, runs: 281 }),
    row('log', { unavailable: 2 }),
  ]);
  const change = {
    webhooks: [{ name: 'protect.taintkeeper.dev', trusted: false }],
    policies: [{ ...POLICY, valid: false, problems: ['spec: no'] }],
  };
  const denials = [{ ...DENIED, count: 12 }];
  expect(told(change, led, denials)).toEqual([
    'failed coverage ns/cni is kept off 119 of 400 nodes by taints',
    'failed - The API server does not trust the certificate of 1 of 1 webhook',
    'failed policies TaintPolicy gpu-pool is not in force: spec: no',
    'attention nodes a:NoSchedule is missing on 2 nodes: another writer removes it repeatedly',
    'attention decisions At least 12 requests of system:node:n1 were denied in the last hour',
    'attention coverage ns/log has 2 of 1 pod unavailable',
  ]);
});

describe('a problem of nodes', () => {
  it('names the first three, leads to the list of all, and says what to do', () => {
    expect(problemsOf({}, ledWith(nodesWith(['mk', 'kk', 'mk', 'mk', 'mk'])))).toEqual([
      {
        harm: 'Missing',
        level: 'failed',
        text: 'a:NoSchedule is missing on 4 nodes',
        place: { tab: 'nodes', filters: { show: 'missing', policy: 'gpu-pool' } },
        names: ['n0', 'n2', 'n3'].map((text) => ({ text, place: { tab: 'nodes', object: text } })),
        more: 1,
        why: 'TaintPolicy gpu-pool: mode Audit does not set it',
        fix: { command: 'kubectl taint node n0 n2 n3 n4 a:NoSchedule', note: 'Sets it on 4 nodes.' },
      },
    ]);
  });

  it('that ends by itself is one for all, at the end', () => {
    const nodes = nodesWith(['mk', 'km', 'dk', 'mk'], [REPAIRING, REPAIRING, REPAIRING, NOTE]);
    expect(told({}, ledWith(nodes))).toEqual([
      'failed nodes a:NoSchedule is missing on 1 node',
      'repairing nodes 3 nodes are being repaired',
    ]);
  });

  it('that a policy only reports is less of a matter', () => {
    expect(told({}, ledWith(nodesWith(['km'], [{ ...NOTE, harm: 'Reported' }])))).toEqual([
      'attention nodes a:NoSchedule is missing on 1 node',
    ]);
  });

  it('is one for each reason', () => {
    const other: EvaluatedNote = { ...NOTE, blockedBy: 'OtherValuePresent', why: 'of another value' };
    const found = problemsOf({}, ledWith(nodesWith(['mk', 'mk', 'mk'], [other, NOTE])));
    expect(found.map(({ names, why }) => [...names.map(({ text }) => text), why])).toEqual([
      ['n1', 'n2', 'TaintPolicy gpu-pool: mode Audit does not set it'],
      ['n0', 'TaintPolicy gpu-pool: of another value'],
    ]);
  });

  it('has no command for nodes that lack different taints', () => {
    const [x, y] = [
      { ...NOTE, taint: 'a/x:NoSchedule' },
      { ...NOTE, taint: 'a/y:NoSchedule' },
    ] as const;
    const [found] = problemsOf({}, ledWith(nodesWith(['mk', 'mk'], [x, y])));
    expect(found?.text).toBe('a:NoSchedule is missing on 2 nodes');
    expect(found?.fix).toBeUndefined();
  });

  it('is not told of by the dozen', () => {
    const columns = Array.from({ length: 12 }, (_, index) => ({
      ...{ policy: `p${index}`, field: 'spec.taints[0]', mode: 'Deny' },
      taint: `t${index}:NoSchedule`,
    }));
    const found = problemsOf({}, ledWith(nodesWith(['m'.repeat(12)], [NOTE], columns)));
    expect(found).toHaveLength(9);
    expect(found.at(-1)).toMatchObject({ text: '1 node for 4 more reasons', place: { filters: { show: 'problem' } } });
  });

  it.each<{ why: string; note: Partial<EvaluatedNote>; cells?: string[]; command?: string; says?: string }>([
    {
      why: 'another value is in its place',
      note: { carries: 'a=x:NoSchedule' },
      cells: ['dk'],
      command: 'kubectl taint --overwrite node n0 a:NoSchedule',
    },
    {
      why: 'it evicts pods, which is said',
      note: { taint: 'edge:NoExecute', blockedBy: 'WouldEvictPods' },
      command: 'kubectl taint node n0 edge:NoExecute',
      says: 'Sets it on 1 node, and evicts the pods there that do not tolerate it.',
    },
    {
      why: 'another policy protects the value in its place',
      note: { blockedBy: 'OtherValuePresent', carries: 'a=x:NoSchedule' },
      cells: ['dk'],
      command: 'kubectl taint --overwrite node n0 a:NoSchedule',
    },
    {
      why: 'policies contradict each other',
      note: { blockedBy: 'ValuesDiffer' },
      command: 'taintkeeper explain node n0',
    },
    {
      why: 'another writer removes it repeatedly',
      note: { blockedBy: 'Conflict', harm: 'Conflict' },
      cells: ['ck'],
      command: 'kubectl get events --all-namespaces --field-selector reason=TaintConflict',
    },
    {
      why: 'it is on more nodes than a command can name',
      note: {},
      cells: Array<string>(5_000).fill('mk'),
      command: expect.stringMatching(/^kubectl taint node (n\d+ ){100}a:NoSchedule$/),
      says: 'Sets it on the first 100 of 5,000 nodes.',
    },
  ])('has a command where $why', ({ note, cells = ['mk'], command, says }) => {
    const [found] = problemsOf({}, ledWith(nodesWith(cells, [{ ...NOTE, ...note }])));
    expect(found?.fix?.command).toEqual(command);
    if (says !== undefined) expect(found?.fix?.note).toBe(says);
  });
});

describe('a problem of DaemonSets', () => {
  const on = (...daemonSets: EvaluatedRow[]) => ledWith(nodesWith(['kk']), daemonSets);
  const remedy = { command: 'cure it', nodes: 119 };

  it('is a node-critical daemon that is kept off, with its one remedy', () => {
    const led = on(row('cni', { gap: true, critical: true, keptOff: 119, runs: 281, remedy }));
    const lacking = {
      ...POLICY,
      kind: 'TolerationPolicy',
      mode: 'Mutate',
      violating: 1,
      violators: daemonSets('ns/cni'),
    } as const;
    expect(problemsOf({ policies: [lacking] }, led)).toEqual([
      {
        harm: 'NodesWithoutDaemons',
        level: 'failed',
        text: 'ns/cni is kept off 119 of 400 nodes by taints',
        place: { tab: 'coverage', object: 'ns/cni' },
        names: [],
        more: 0,
        why: 'the other pods of these nodes depend on it',
        fix: { command: 'cure it', note: 'Lets it run on all 119, and replaces all of its pods.' },
      },
    ]);
  });

  it.each([
    {
      why: 'says how many nodes the remedy cures',
      daemonSets: [row('a', { gap: true, lacking: true, keptOff: 120, remedy })],
      found: 'failed ns/a is kept off 120 of 121 nodes by taints',
      note: 'Lets it run on 119 of them, and replaces all of its pods.',
    },
    {
      why: 'is one where it tolerates half of the control plane’s taint',
      daemonSets: [row('a', { halfTolerant: true, keptOff: 2, remedy: { command: 'x', nodes: 2 } })],
      found: "attention ns/a tolerates one of the two names of the control plane's taint",
      note: 'Lets it run on all 2, and replaces all of its pods.',
    },
    {
      why: 'is pods that are not available',
      daemonSets: [row('a', { unavailable: 2, desired: 10 })],
      found: 'attention ns/a has 2 of 10 pods unavailable',
      note: '',
    },
    {
      why: 'is one of the node if the daemon is node-critical',
      daemonSets: [row('a', { critical: true, unavailable: 2, desired: 10 })],
      found: 'failed ns/a has 2 of 10 pods unavailable',
      note: '',
    },
    {
      why: 'is folded while it rolls out',
      daemonSets: [row('a', { critical: true, unavailable: 2, rollingOut: true })],
      found: 'repairing 1 DaemonSet is rolling out',
      note: undefined,
    },
  ])('$why', ({ daemonSets, found, note }) => {
    const problems = problemsOf({}, on(...daemonSets));
    expect(problems.map(({ level, text }) => `${level} ${text}`)).toEqual([found]);
    expect(problems[0]?.fix?.note).toBe(note);
  });

  it('is no more than a warning where no more pods are unavailable than nodes are not Ready', () => {
    const led = ledWith(nodesWith(['kk']), [row('a', { critical: true, unavailable: 2 })], 2);
    expect(problemsOf({}, led).map(({ harm }) => harm)).toEqual(['Reported']);
  });

  it.each([
    { why: 'a taint of another kind keeps it off, as one of a pool does', more: {} },
    { why: 'its annotations say that it is meant so', more: { critical: true, halfTolerant: true, optsOut: true } },
  ] as const)('is none where $why', ({ more }) => {
    expect(problemsOf({}, on(row('b', { keptOff: 2, ...more })))).toEqual([]);
  });

  it('has no remedy with --audit, which adds nothing', () => {
    const led = on(row('cni', { gap: true, critical: true, keptOff: 2, remedy }));
    expect(problemsOf({ audit: true }, led)[0]?.fix).toEqual({
      command: 'taintkeeper coverage --gaps',
      note: 'taintkeeper runs with --audit, and adds no toleration.',
    });
  });
});

it('names the stuck pods that a RecoveryPolicy finds, which have no page of their own', () => {
  const violators = ['ns/a-1', 'ns/b-2', 'ns/c-3', 'ns/d-4'].map((text) => ({ text }));
  const policy = { ...POLICY, kind: 'RecoveryPolicy', violating: 4, violators } as const;
  expect(problemsOf({ policies: [policy] })).toMatchObject([
    {
      text: 'RecoveryPolicy gpu-pool: 4 pods of DaemonSets are stuck',
      names: ['ns/a-1', 'ns/b-2', 'ns/c-3'].map((text) => ({ text })),
      more: 1,
      fix: { command: 'taintkeeper explain pod ns/a-1' },
    },
  ]);
});

it.each(['TaintPolicy', 'TolerationPolicy', 'RecoveryPolicy'] as const)(
  'survives the status of a %s that names more violators than it counts',
  (kind) => {
    const policy = { ...POLICY, kind, violating: 1, violators: daemonSets('ns/a', 'ns/b') };
    expect(pageProblems({ ...HEALTHY, policies: [policy] }, undefined, [])).toHaveLength(1);
    const gaps = ['a', 'b'].map((name) => row(name, { gap: true, keptOff: 1 }));
    expect(told({ policies: [policy] }, ledWith(nodesWith(['kk']), gaps)).join('\n')).not.toContain('-1');
  },
);

it.each<{ names: string[]; patches?: { patchesExisting: true }; command: unknown }>([
  { names: ['ns/a'], command: 'kubectl rollout restart -n ns daemonset a' },
  { names: ['ns/a', 'ns/b'], command: expect.stringContaining('"existing":"Patch"') },
  { names: ['ns/a', 'ns/b'], patches: { patchesExisting: true }, command: 'taintkeeper doctor' },
])('has a command for DaemonSets that no taint keeps off: $names $patches', ({ names, patches, command }) => {
  const violators = daemonSets(...names);
  const policy = { ...POLICY, kind: 'TolerationPolicy', mode: 'Mutate', ...patches } as const;
  const [found] = problemsOf({ policies: [{ ...policy, violating: violators.length, violators }] });
  expect(found?.fix?.command).toEqual(command);
  expect(found?.names).toEqual(violators);
});

describe('DaemonSets that no taint keeps off, where one has so many tolerations that policies add none', () => {
  const crowded = row('a', { lacking: true, tooManyTolerations: true });
  it.each<{ why: string; others: readonly EvaluatedRow[]; command: unknown }>([
    { why: 'are explained if it is the only one', others: [], command: 'taintkeeper explain daemonset ns/a' },
    {
      why: 'are explained if the others have as many',
      others: [row('b', { lacking: true, tooManyTolerations: true })],
      command: 'taintkeeper explain daemonset ns/a',
    },
    {
      why: 'lead to the rollout of the only other one',
      others: [row('b', { lacking: true })],
      command: 'kubectl rollout restart -n ns daemonset b',
    },
    {
      why: 'are explained if the policy adds nothing to the other one either',
      others: [row('b', { unchangedBy: ['gpu-pool'] })],
      command: 'taintkeeper explain daemonset ns/a',
    },
    {
      why: 'lead to the rollout of the other one if only another policy adds nothing to it',
      others: [row('b', { lacking: true, unchangedBy: ['other'] })],
      command: 'kubectl rollout restart -n ns daemonset b',
    },
    {
      why: 'are patched if there are several others',
      others: [row('b', { lacking: true }), row('c', { lacking: true })],
      command: expect.stringContaining('"existing":"Patch"'),
    },
  ])('$why', ({ others, command }) => {
    const rows = [crowded, ...others];
    const violators = daemonSets(...rows.map(({ namespace, name }) => `${namespace}/${name}`));
    const policy = { ...POLICY, kind: 'TolerationPolicy', mode: 'Mutate', violating: rows.length } as const;
    const [found] = problemsOf({ policies: [{ ...policy, violators }] }, ledWith(nodesWith(['kk']), rows));
    expect(found?.fix?.command).toEqual(command);
  });
});

it('leads from a denied component to its decisions, and to the nodes only where there are nodes', () => {
  const denials = [DENIED];
  expect(problemsOf({}, LED, denials)).toMatchObject([
    {
      harm: 'ComponentsDenied',
      text: 'At least 1 request of system:node:n1 was denied in the last hour',
      place: { tab: 'decisions', filters: { q: 'system:node:n1', show: 'denied' } },
      names: [{ text: 'n1', place: { tab: 'nodes', object: 'n1' } }],
      why: 'denied by TaintPolicy p, in reviews from 10.0.0.1; a component repeats what is denied',
      fix: {
        command: 'kubectl edit taintpolicy p',
        note: expect.stringMatching(/^Look for the request in the API server's audit log first: .* forge /),
      },
    },
  ]);
  expect(pageProblems({ ...HEALTHY, mode: 'standalone' }, undefined, denials)[0]?.names).toEqual([{ text: 'n1' }]);
});

it('has few problems of forged reviews, after what the leader has seen, and leaves room for the components of another origin', () => {
  const forged = Array.from({ length: 200 }, (_, index) => ({
    ...{ ...DENIED, user: `system:serviceaccount:made:up-${index}`, count: 50 },
    origins: ['10.0.0.66'],
  }));
  const found = told({}, ledWith(nodesWith(['mk'])), [...forged, DENIED]);
  expect(found[0]).toBe('failed nodes a:NoSchedule is missing on 1 node');
  expect(found.slice(1)).toEqual([
    ...Array.from(
      { length: 7 },
      (_, index) =>
        `attention decisions At least 50 requests of system:serviceaccount:made:up-${index} were denied in the last hour`,
    ),
    'attention decisions At least 1 request of system:node:n1 was denied in the last hour',
    'attention decisions Requests of at least 193 more components were denied in the last hour',
  ]);
});

it('has as many problems of an origin with many denied components as of one that forges a few', () => {
  const deniedAt = (origin: string, user: string, length: number, times: number) =>
    Array.from({ length }, (_, index) => ({ ...DENIED, user: `${user}-${index}`, count: times, origins: [origin] }));
  const found = told({}, LED, [
    ...deniedAt('10.0.0.66', 'forged', 8, 50),
    ...deniedAt('10.0.0.1', 'system:node:n', 100, 5),
  ]);
  expect(found).toEqual([
    ...[0, 1, 2, 3].map(
      (index) => `attention decisions At least 50 requests of forged-${index} were denied in the last hour`,
    ),
    ...[0, 1, 2, 3].map(
      (index) => `attention decisions At least 5 requests of system:node:n-${index} were denied in the last hour`,
    ),
    'attention decisions Requests of at least 100 more components were denied in the last hour',
  ]);
});

it('names the first few origins of reviews', () => {
  const origins = Array.from({ length: 6 }, (_, index) => `10.0.0.${index}`);
  expect(problemsOf({}, LED, [{ ...DENIED, origins }])[0]?.why).toContain(
    'in reviews from 10.0.0.0, 10.0.0.1, and 4 more;',
  );
});

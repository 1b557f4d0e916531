import { describe, expect, it } from 'vitest';
import type { CoverageRow, NodeMap, PageDecision, PageState } from '../../../../src/page/state.ts';
import { gauges } from '../../../../src/page/static/gauges.js';
import { headline, problems } from '../../../../src/page/static/problems.js';
import { assessCondition } from '../../../../src/policy/status-conditions.ts';

const NOW = Date.parse('2026-03-14T02:00:00Z');
const DAY_MS = 86_400_000;
const after = (days: number) => new Date(NOW + days * DAY_MS).toISOString();

const POLICY: PageState['policies'][number] = {
  kind: 'TaintPolicy',
  name: 'gpu-pool',
  mode: 'Restore',
  valid: true,
  problems: [],
  matched: 3,
  violating: 0,
  violators: [],
  conditions: [],
  spec: '',
};
const CERTIFICATE = { notAfter: after(60) };
const HEALTHY: PageState = {
  version: '1.0.0',
  replica: 'a',
  mode: 'cluster',
  leader: { isThis: true, name: 'a' },
  audit: false,
  at: after(0),
  checks: [
    { name: 'policies', state: 'ok', detail: '1 in force' },
    { name: 'certificate', state: 'ok', detail: '' },
  ],
  certificate: CERTIFICATE,
  webhooks: [],
  policies: [POLICY],
  nodes: {
    columns: [
      { policy: 'gpu-pool', field: 'spec.taints[0]', mode: 'Restore', taint: 'a:NoSchedule' },
      { policy: 'watched', field: 'spec.taints[0]', mode: 'Audit', taint: 'b:NoSchedule' },
    ],
    columnsLeftOut: 0,
    rows: [{ name: 'n1', ready: true, cells: 'kk' }],
    notes: [],
    unselected: 2,
  },
};
/** Nodes `n0`, `n1`, … of which each cell in problem lacks the same taint. */
const nodesWith = (...cells: string[]): NodeMap => ({
  columns: HEALTHY.nodes?.columns ?? [],
  columnsLeftOut: 0,
  notes: [{ taint: 'a:NoSchedule', blockedBy: 'ModeDoesNotRestore' }],
  unselected: 2,
  rows: cells.map((row, index) => ({
    name: `n${index}`,
    ready: true,
    cells: row,
    notes: [...row].filter((cell) => 'mdc'.includes(cell)).map(() => 0),
  })),
});
const condition = (type: string, status: string, reason = '') => {
  const { level, word } = assessCondition({ type, status, reason });
  return { type, status, reason, message: 'why', since: after(-1), level, word };
};

it('finds nothing wrong where nothing is', () => {
  expect(problems(HEALTHY, NOW)).toEqual([]);
});

it.each<{ why: string; change: Partial<PageState>; found: string[] }>([
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
    why: 'fields that are ignored are named',
    change: { policies: [{ ...POLICY, conditions: [condition('Stalled', 'True', 'UnknownFields')] }] },
    found: ['attention policies TaintPolicy gpu-pool is in force, in part: why'],
  },
  {
    why: 'a node pool that does not declare a taint is named, and nothing is said where pools may not be read',
    change: {
      policies: [
        { ...POLICY, conditions: [condition('Ready', 'True', 'PoolLacksTaint')] },
        { ...POLICY, conditions: [condition('Ready', 'True', 'PoolsNotPermitted')] },
      ],
    },
    found: ['attention policies TaintPolicy gpu-pool is in force, not declared: why'],
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
        { ...POLICY, conditions: [condition('Ready', 'False')] },
        { ...POLICY, name: 'b', conditions: [condition('Ready', 'True'), condition('Stalled', 'True')] },
      ],
    },
    found: [
      'failed policies TaintPolicy gpu-pool is not in force: why',
      'attention policies TaintPolicy b is stalled: why',
    ],
  },
  {
    why: 'taints that are missing or have another value, and those in conflict',
    change: { nodes: nodesWith('mk', 'mk', 'dk', 'ck') },
    found: [
      'failed nodes a:NoSchedule is missing on 2 nodes',
      'failed nodes a:NoSchedule has another value on 1 node',
      'attention nodes a:NoSchedule is in conflict on 1 node',
    ],
  },
  {
    why: 'what a policy in mode Audit misses is less of a matter',
    change: { nodes: nodesWith('km') },
    found: ['attention nodes a:NoSchedule is missing on 1 node'],
  },
  {
    why: 'the status of a TaintPolicy is told of only where the nodes are not known',
    change: { policies: [{ ...POLICY, violating: 2 }], nodes: nodesWith('mk', 'mk') },
    found: ['failed nodes a:NoSchedule is missing on 2 nodes'],
  },
  {
    why: 'that of a TolerationPolicy is always told of',
    change: { policies: [{ ...POLICY, kind: 'TolerationPolicy', violating: 2 }] },
    found: ['attention policies TolerationPolicy gpu-pool finds 2 of 3 DaemonSets not as declared'],
  },
  {
    why: 'a certificate near its end, of which the check does not say so yet',
    change: { certificate: { ...CERTIFICATE, notAfter: after(13.5) } },
    found: ['attention - The serving certificate expires in 13 days'],
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
    found: ['attention - No replica leads: nothing is repaired outside of requests'],
  },
])('tells of $why', ({ change, found }) => {
  expect(
    problems({ ...HEALTHY, ...change }, NOW).map(({ level, tab, text }) => `${level} ${tab ?? '-'} ${text}`),
  ).toEqual(found);
});

describe('a problem of nodes', () => {
  it('names the first three, leads to the list of all, and says what to do', () => {
    expect(problems({ ...HEALTHY, nodes: nodesWith('mk', 'kk', 'mk', 'mk', 'mk') }, NOW)).toEqual([
      {
        level: 'failed',
        text: 'a:NoSchedule is missing on 4 nodes',
        tab: 'nodes',
        href: '#nodes?show=missing&policy=gpu-pool',
        names: ['n0', 'n2', 'n3'].map((text) => ({ text, href: `#nodes/${text}` })),
        more: 1,
        why: 'TaintPolicy gpu-pool: mode Restore restores nothing',
        fix: { command: 'kubectl taint node n0 n2 n3 n4 a:NoSchedule', note: '' },
      },
    ]);
  });

  it('is one for each reason', () => {
    const notes = [{ taint: 'a:NoSchedule' }, { taint: 'a:NoSchedule', blockedBy: 'OtherValuePresent' }] as const;
    const rows = ['n0', 'n1', 'n2'].map((name, index) => ({
      name,
      ready: true,
      cells: 'mk',
      notes: [index === 0 ? 1 : 0],
    }));
    const found = problems({ ...HEALTHY, nodes: { ...nodesWith(), notes, rows } }, NOW);
    expect(found.map(({ names = [], why }) => [...names.map(({ text }) => text), why])).toEqual([
      ['n1', 'n2', 'TaintPolicy gpu-pool: about to be set'],
      ['n0', 'TaintPolicy gpu-pool: not set, because another policy protects the value that it carries'],
    ]);
  });

  it('has no command for nodes that lack different taints', () => {
    const notes = [
      { taint: 'a/x:NoSchedule', blockedBy: 'ModeDoesNotRestore' },
      { taint: 'a/y:NoSchedule', blockedBy: 'ModeDoesNotRestore' },
    ] as const;
    const rows = ['n0', 'n1'].map((name, index) => ({ name, ready: true, cells: 'mk', notes: [index] }));
    const [found] = problems({ ...HEALTHY, nodes: { ...nodesWith(), notes, rows } }, NOW);
    expect(found).toMatchObject({ text: 'a:NoSchedule is missing on 2 nodes', fix: undefined });
  });

  it('is not told of by the dozen', () => {
    const columns = Array.from({ length: 12 }, (_, index) => ({
      ...{ policy: `p${index}`, field: 'spec.taints[0]', mode: 'Deny' },
      taint: `t${index}:NoSchedule`,
    }));
    const found = problems({ ...HEALTHY, nodes: { ...nodesWith('m'.repeat(12)), columns } }, NOW);
    expect(found).toHaveLength(9);
    expect(found.at(-1)).toMatchObject({ text: '1 node for 4 more reasons', href: '#nodes?show=problem' });
  });
});

describe('a problem of DaemonSets', () => {
  const row = (name: string, more: Partial<CoverageRow>): CoverageRow => ({
    ...{ namespace: 'ns', name, cells: [0], runs: 1, keptOff: 0, desired: 1, unavailable: 0 },
    ...more,
  });
  const coverageWith = (...daemonSets: CoverageRow[]): PageState => ({
    ...HEALTHY,
    coverage: {
      groups: [{ label: 'gpu', count: 2, examples: ['n0', 'n1'], taints: ['a:NoSchedule'] }],
      groupsLeftOut: 0,
      daemonSets,
      answers: [{ kind: 'tainted', reasons: ['taint a:NoSchedule'], keys: ['a'] }],
    },
  });
  const tell = (state: PageState) =>
    problems(state, NOW).map(({ level, tab, text }) => `${level} ${tab ?? '-'} ${text}`);

  it('is pods that are not available, and taints that keep it off', () => {
    expect(
      tell(
        coverageWith(
          row('a', { unavailable: 2 }),
          row('b', { keptOff: 2, halfTolerant: true }),
          row('c', { keptOff: 1, halfTolerant: true }),
        ),
      ),
    ).toEqual([
      'attention coverage 1 DaemonSet with pods unavailable',
      "attention coverage 2 DaemonSets kept off nodes, tolerating one of the two names of the control plane's taint",
    ]);
  });

  it('is none where a taint of another kind keeps it off, as one of a pool does', () => {
    const state = coverageWith(row('b', { keptOff: 2 }));
    expect(tell(state)).toEqual([]);
    expect(gauges(state, [], NOW).coverage).toMatchObject({ note: '1 kept off by taints', level: 'plain' });
  });

  it('names them, and says what to do about one', () => {
    expect(problems(coverageWith(row('b', { keptOff: 2, halfTolerant: true })), NOW)).toMatchObject([
      {
        href: '#coverage?show=tainted',
        names: [{ text: 'ns/b', href: '#coverage/ns/b' }],
        fix: { command: 'taintkeeper coverage fix --namespace ns --daemonset b --taint a' },
      },
    ]);
  });

  it('says where to look for several', () => {
    const found = problems(
      coverageWith(
        row('a', { keptOff: 1, halfTolerant: true, unavailable: 1 }),
        row('b', { keptOff: 2, halfTolerant: true }),
      ),
      NOW,
    );
    expect(found.map(({ fix }) => fix?.command)).toEqual([
      'kubectl describe daemonset --namespace ns a',
      'taintkeeper coverage --gaps',
    ]);
  });

  it('is none where its annotations say that it is meant so', () => {
    const state = coverageWith(row('b', { keptOff: 2, halfTolerant: true, optsOut: true }));
    expect(tell(state)).toEqual([]);
    expect(gauges(state, [], NOW).coverage).toMatchObject({ note: 'no taint in the way', level: 'plain' });
  });
});

it('names the stuck pods that a RecoveryPolicy finds, which have no page of their own', () => {
  const policy = {
    ...POLICY,
    kind: 'RecoveryPolicy',
    violating: 4,
    violators: ['ns/a-1', 'ns/b-2', 'ns/c-3', 'ns/d-4'],
  } as const;
  expect(problems({ ...HEALTHY, policies: [policy] }, NOW)).toMatchObject([
    {
      text: 'RecoveryPolicy gpu-pool finds 4 stuck pods',
      names: [{ text: 'ns/a-1' }, { text: 'ns/b-2' }, { text: 'ns/c-3' }].map((name) => ({ ...name, href: undefined })),
      more: 1,
      fix: { command: 'taintkeeper explain pod ns/a-1' },
    },
  ]);
});

it('names the DaemonSets that a policy finds not as declared, and what makes them so', () => {
  const policy = {
    ...POLICY,
    kind: 'TolerationPolicy',
    mode: 'Mutate',
    violating: 2,
    violators: ['ns/a', 'ns/b'],
  } as const;
  expect(problems({ ...HEALTHY, policies: [policy] }, NOW)).toMatchObject([
    {
      href: '#policies/TolerationPolicy/gpu-pool',
      names: [
        { text: 'ns/a', href: '#coverage/ns/a' },
        { text: 'ns/b', href: '#coverage/ns/b' },
      ],
      more: 0,
      fix: { command: expect.stringContaining('"existing":"Patch"') },
    },
  ]);
});

it('tells of a TaintPolicy by its status where the nodes are not known', () => {
  const { nodes: _, ...elsewhere } = HEALTHY;
  const state = { ...elsewhere, leader: { isThis: false, name: 'b' }, policies: [{ ...POLICY, violating: 2 }] };
  expect(problems(state, NOW).map(({ text }) => text)).toEqual([
    'TaintPolicy gpu-pool finds 2 of 3 nodes not as declared',
  ]);
  expect(gauges(state, [], NOW).nodes).toEqual({ figure: '–', note: 'known to the leader', level: 'plain' });
});

it.each<{ note: string; change: Partial<PageState>; level: string }>([
  { note: 'none declared', change: { policies: [] }, level: 'attention' },
  { note: 'all as Audit', change: { audit: true }, level: 'ok' },
  { note: '1 not in force', change: { policies: [POLICY, { ...POLICY, valid: false }] }, level: 'failed' },
  { note: 'all in force, 1 not met', change: { policies: [POLICY, { ...POLICY, violating: 1 }] }, level: 'attention' },
])('says of the policies: $note', ({ note, change, level }) => {
  expect(gauges({ ...HEALTHY, ...change }, [], NOW).policies).toMatchObject({ note, level });
});

it('sums up each panel in a figure and a few words', () => {
  const decision = {
    result: 'denied',
    violations: [],
    time: new Date(NOW - 4_000).toISOString(),
  } as unknown as PageDecision;
  const state = { ...HEALTHY, nodes: nodesWith('mk', 'kk') };
  expect(gauges(state as unknown as PageState, [decision], NOW)).toEqual({
    policies: { figure: '1', note: 'all in force', level: 'ok' },
    nodes: { figure: '4', note: '1 not as declared', level: 'failed' },
    coverage: { figure: '–', note: 'being read', level: 'plain' },
    decisions: { figure: '1', note: 'denied 4 s ago', level: 'plain' },
  });
});

it.each([
  [0, 0, 'Everything is as declared'],
  [0, 1, '1 warning'],
  [1, 0, '1 problem'],
  [2, 0, '2 problems'],
  [2, 1, '2 problems, 1 warning'],
])('%d problems and %d warnings in one line', (wrong, others, line) => {
  const problem = (level: 'failed' | 'attention') => ({ level, text: '' }) as const;
  const found = [...Array(wrong).fill(problem('failed')), ...Array(others).fill(problem('attention'))];
  expect(headline(found, HEALTHY)).toBe(line);
});

it('without a cluster, nothing was compared with what is declared', () => {
  const { nodes: _, ...rest } = HEALTHY;
  const standalone: PageState = { ...rest, mode: 'standalone' };
  expect(headline(problems(standalone, NOW), standalone)).toBe('Serving requests; no cluster to check');
});

import { expect, it } from 'vitest';
import type { PageDecision, PageState } from '../../../../src/page/state.ts';
import { gauges } from '../../../../src/page/static/gauges.js';
import { troubles, verdict } from '../../../../src/page/static/troubles.js';

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
const CERTIFICATE = { subject: 'CN=x', names: [], notBefore: after(-30), notAfter: after(60), renews: 'all' } as const;
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
      { policy: 'gpu-pool', field: 'spec.taints[0]', mode: 'Restore', ensure: 'Present', taint: 'a:NoSchedule' },
      { policy: 'watched', field: 'spec.taints[0]', mode: 'Audit', ensure: 'Present', taint: 'b:NoSchedule' },
    ],
    columnsLeftOut: 0,
    rows: [{ name: 'n1', ready: true, cells: 'kk' }],
    notes: [],
    unselected: 2,
  },
};
const nodesWith = (...cells: string[]): PageState['nodes'] & object => ({
  columns: [],
  columnsLeftOut: 0,
  notes: [],
  unselected: 0,
  ...HEALTHY.nodes,
  rows: cells.map((row, index) => ({ name: `n${index}`, ready: true, cells: row })),
});
const condition = (type: string, status: string) => ({ type, status, reason: 'R', message: 'why', since: after(-1) });

it('finds nothing wrong where nothing is', () => {
  expect(troubles(HEALTHY, NOW)).toEqual([]);
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
    found: ['failed trust Certificate: expired', 'attention trust Webhooks: odd'],
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
      'attention policies TaintPolicy gpu-pool cannot be used as it stands, and generation 2 stays in force: spec: no',
    ],
  },
  {
    why: 'fields that are ignored are named',
    change: { policies: [{ ...POLICY, conditions: [condition('FieldsIgnored', 'True')] }] },
    found: ['attention policies TaintPolicy gpu-pool is in force without why'],
  },
  {
    why: 'a node pool that does not declare a taint is named, and nothing is said where pools may not be read',
    change: {
      policies: [
        { ...POLICY, conditions: [condition('PoolLacksTaint', 'True')] },
        { ...POLICY, conditions: [condition('PoolLacksTaint', 'Unknown')] },
      ],
    },
    found: ['attention policies TaintPolicy gpu-pool has a taint that a pool lacks: why'],
  },
  {
    why: 'pods that landed while a taint was missing',
    change: { policies: [{ ...POLICY, conditions: [condition('Intruders', 'True')] }] },
    found: ['attention policies TaintPolicy gpu-pool names intruders: why'],
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
      'failed policies TaintPolicy gpu-pool is not ready: why',
      'attention policies TaintPolicy b needs attention: why',
    ],
  },
  {
    why: 'taints that are missing or have another value, and those that are contested',
    change: { nodes: nodesWith('mk', 'mk', 'dk', 'ck') },
    found: [
      'failed nodes 2 nodes lack a protected taint',
      'failed nodes 1 node carries a protected taint with another value',
      'attention nodes On 1 node a protected taint is removed again and again',
    ],
  },
  {
    why: 'what a policy in mode Audit misses is less of a matter',
    change: { nodes: nodesWith('km') },
    found: ['attention nodes 1 node lacks a protected taint'],
  },
  {
    why: 'the status of a TaintPolicy is told of only where the nodes are not known',
    change: { policies: [{ ...POLICY, violating: 2 }], nodes: nodesWith('mk', 'mk') },
    found: ['failed nodes 2 nodes lack a protected taint'],
  },
  {
    why: 'that of a TolerationPolicy is always told of',
    change: { policies: [{ ...POLICY, kind: 'TolerationPolicy', violating: 2 }] },
    found: ['attention policies TolerationPolicy gpu-pool finds 2 of 3 DaemonSets not as declared'],
  },
  {
    why: 'a certificate near its end, of which the check does not say so yet',
    change: { certificate: { ...CERTIFICATE, notAfter: after(13.5) } },
    found: ['attention trust The serving certificate expires in 13 days'],
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
    why: 'nobody leads',
    change: { leader: { isThis: false } },
    found: ['attention trust No replica leads: nothing is repaired outside of requests'],
  },
])('tells of $why', ({ change, found }) => {
  expect(troubles({ ...HEALTHY, ...change }, NOW).map(({ level, tab, text }) => `${level} ${tab} ${text}`)).toEqual(
    found,
  );
});

it('tells of a TaintPolicy by its status where the nodes are not known', () => {
  const { nodes: _, ...elsewhere } = HEALTHY;
  const state = { ...elsewhere, leader: { isThis: false, name: 'b' }, policies: [{ ...POLICY, violating: 2 }] };
  expect(troubles(state, NOW).map(({ text }) => text)).toEqual([
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
  const decision = { verdict: 'denied', time: new Date(NOW - 4_000).toISOString() } as PageDecision;
  const state = { ...HEALTHY, nodes: nodesWith('mk', 'kk'), webhooks: [{ trusted: false }, { trusted: true }] };
  expect(gauges(state as unknown as PageState, [decision], NOW)).toEqual({
    policies: { figure: '1', note: 'all in force', level: 'ok' },
    nodes: { figure: '4', note: '1 not as declared', level: 'failed' },
    coverage: { figure: '–', note: 'being read', level: 'plain' },
    decisions: { figure: '1', note: 'denied 4 s ago', level: 'plain' },
    trust: { figure: '60 days', note: '1 of 2 webhooks not trusted', level: 'attention' },
  });
});

it.each([
  [0, 0, 'Everything is as declared'],
  [0, 1, '1 thing to look at'],
  [1, 0, '1 thing is wrong'],
  [2, 0, '2 things are wrong'],
  [2, 1, '2 things are wrong, 1 to look at'],
])('%d wrong and %d to look at in one line', (wrong, others, line) => {
  const trouble = (level: 'failed' | 'attention') => ({ level, text: '', tab: 'trust' }) as const;
  const found = [...Array(wrong).fill(trouble('failed')), ...Array(others).fill(trouble('attention'))];
  expect(verdict(found, HEALTHY)).toBe(line);
});

it('without a cluster, nothing was compared with what is declared', () => {
  const { nodes: _, ...rest } = HEALTHY;
  const standalone: PageState = { ...rest, mode: 'standalone' };
  expect(verdict(troubles(standalone, NOW), standalone)).toBe('Serving requests; no cluster to check');
});

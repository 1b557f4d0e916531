import { describe, expect, it } from 'vitest';
import type { CoverageRow, NodeRow, PageDecision, PageProblem, PageState } from '../../../../src/page/state.ts';
import { gauges } from '../../../../src/page/static/gauges.js';
import { headline } from '../../../../src/page/static/problems.js';

const NOW = Date.parse('2026-03-14T02:00:00Z');

const POLICY: PageState['policies'][number] = {
  ...{ kind: 'TaintPolicy', name: 'gpu-pool', mode: 'Restore', valid: true, problems: [] },
  ...{ violators: [], conditions: [], summary: { level: 'ok', word: 'in force', why: '' }, spec: '' },
};
const UNREGISTERED: typeof POLICY = { ...POLICY, summary: { level: 'failed', word: 'not in force', why: '' } };
const EARLIER_IN_FORCE: typeof POLICY = {
  ...{ ...POLICY, valid: false, generationInForce: 1 },
  summary: { level: 'attention', word: 'in force as it was', why: '' },
};
const nodes = (...cells: string[]): NonNullable<PageState['nodes']> => ({
  ...{ columns: [], columnsLeftOut: 0, notes: [], unselected: 2, pools: ['p'], waiting: [], waitingLeftOut: 0 },
  rows: cells.map((row, index): NodeRow => ({ name: `n${index}`, ready: true, pool: 0, cells: row })),
});
const HEALTHY: PageState = {
  ...{
    version: '1.0.0',
    build: '',
    replica: 'a',
    mode: 'cluster',
    leader: { isThis: true, name: 'a' },
    audit: false,
    at: '',
  },
  ...{ checks: [], webhooks: [], problems: [], policies: [POLICY], nodes: nodes('kk') },
};
const problem = (level: PageProblem['level'], tab?: 'nodes' | 'coverage' | 'policies'): PageProblem => ({
  ...{ harm: 'Missing', level, text: '', names: [], more: 0 },
  ...(tab ? { place: { tab } } : {}),
});
const gaugesOf = (change: Partial<PageState>, decisions: readonly PageDecision[] = []) =>
  gauges({ ...HEALTHY, ...change }, decisions, NOW);

it.each([
  [0, 0, 0, 'No problems'],
  [0, 0, 1, 'No problems'],
  [0, 1, 0, '1 warning'],
  [1, 0, 0, '1 problem'],
  [2, 0, 0, '2 problems'],
  [2, 1, 3, '2 problems, 1 warning'],
])('%d problems, %d warnings and %d repairs in one line', (wrong, others, repairing, line) => {
  const found = [
    ...Array<PageProblem>(wrong).fill(problem('failed')),
    ...Array<PageProblem>(others).fill(problem('attention')),
    ...Array<PageProblem>(repairing).fill(problem('repairing')),
  ];
  expect(headline({ ...HEALTHY, problems: found })).toBe(line);
});

it('without a cluster, nothing was compared with what is declared', () => {
  expect(headline({ mode: 'standalone', problems: [] })).toBe('Serving requests; no cluster to check');
});

describe('the gauge of a tab', () => {
  it('is a figure with its unit, and a few words', () => {
    const decision = {
      result: 'denied',
      violations: [],
      time: new Date(NOW - 4_000).toISOString(),
    } as unknown as PageDecision;
    const problems = [problem('failed', 'nodes'), problem('repairing', 'nodes')];
    expect(gaugesOf({ nodes: nodes('mk', 'kk'), problems }, [decision])).toEqual({
      overview: { figure: '1', unit: 'problem', note: 'see what to do', level: 'failed' },
      policies: { figure: '1', unit: 'policy', note: 'all in force', level: 'ok' },
      nodes: { figure: '4', unit: 'nodes', note: 'taints missing on 1', level: 'failed' },
      coverage: { figure: '–', unit: 'DaemonSets', note: 'being read', level: 'plain' },
      decisions: { figure: '1', unit: 'decision', note: 'denied 4 s ago', level: 'plain' },
    });
  });

  it.each<{ note: string; change: Partial<PageState>; level: string }>([
    { note: 'none declared', change: { policies: [] }, level: 'attention' },
    { note: 'all as Audit', change: { audit: true }, level: 'ok' },
    {
      note: '1 not in force',
      change: { policies: [POLICY, UNREGISTERED], problems: [problem('failed', 'policies')] },
      level: 'failed',
    },
    {
      note: 'all in force',
      change: { policies: [POLICY, EARLIER_IN_FORCE], problems: [problem('attention', 'policies')] },
      level: 'attention',
    },
    {
      note: 'the webhooks are not trusted',
      change: { webhooks: [{ name: 'protect.taintkeeper.dev', trusted: false }] },
      level: 'failed',
    },
  ])('says of the policies: $note', ({ note, change, level }) => {
    expect(gaugesOf(change).policies).toMatchObject({ note, level });
  });

  it.each<{ note: string; row: Partial<CoverageRow>; level?: string }>([
    { note: 'no taint in the way', row: {}, level: 'ok' },
    { note: 'no taint in the way', row: { keptOff: 1, optsOut: true }, level: 'ok' },
    { note: '1 kept off by taints', row: { keptOff: 1 } },
    { note: '1 with pods unavailable', row: { keptOff: 1, unavailable: 1 } },
    { note: '1 needed and kept off', row: { keptOff: 1, unavailable: 1, gap: true } },
  ])('says of the DaemonSets: $note', ({ note, row, level = 'plain' }) => {
    const daemonSet: CoverageRow = {
      ...{ namespace: 'ns', name: 'a', cells: [], runs: 1, keptOff: 0, desired: 1, unavailable: 0 },
      ...row,
    };
    const groups = ['a', 'b'].map((label) => ({ label, count: 1, examples: [], taints: [] }));
    const coverage = { groups, groupsLeftOut: 0, daemonSets: [daemonSet], answers: [] };
    expect(gaugesOf({ coverage }).coverage).toMatchObject({
      figure: '1',
      unit: 'DaemonSet on 2 kinds of nodes',
      note,
      level,
    });
  });

  it('says who knows the nodes', () => {
    const { nodes: _, ...elsewhere } = HEALTHY;
    const state = { ...elsewhere, leader: { isThis: false, name: 'b' } };
    expect(gauges(state, [], NOW).nodes).toMatchObject({ figure: '–', note: 'known to the leader', level: 'plain' });
  });
});

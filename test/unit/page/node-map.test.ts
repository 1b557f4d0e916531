import { describe, expect, it } from 'vitest';
import type { ClusterNode } from '../../../src/cluster/objects/cluster-objects.ts';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import { type EvaluatedNote, nodeMap } from '../../../src/page/node-map.ts';
import type { Policy } from '../../../src/policy/policy.ts';
import { compilePolicies } from '../../../src/policy/policy-set.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';

const GPU: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const CPU: Taint = { ...GPU, value: 'cpu' };

const node = (name: string, taints: readonly Taint[], more: Partial<ClusterNode> = {}): ClusterNode => ({
  ...{ name, uid: 'u1', labels: { pool: 'gpu' }, taints, allowRemoval: undefined, ready: true },
  ...more,
});

/** The map, and the losses of its nodes. */
async function mapOf(
  specs: Record<string, TaintPolicySpec>,
  nodes: readonly ClusterNode[],
  isInConflict: (node: ClusterNode, taint: Taint) => boolean = () => false,
  {
    audit = false,
    startupOn = () => undefined,
  }: { audit?: boolean; startupOn?: (node: string) => string | undefined } = {},
) {
  const policies = Object.entries(specs).map(([name, spec]): Policy => ({ kind: 'TaintPolicy', name, spec }));
  const { shown, losses } = await nodeMap({
    nodes,
    compiled: compilePolicies(policies, { audit }).taintPolicies,
    isInConflict,
    startupOn,
  });
  const shownLosses = shown.rows.flatMap(({ name: node, cells, losses: found = [] }) =>
    found.map(([column, note]) => ({
      ...{ node, cell: cells[column] },
      ...{ column: shown.columns[column], note: shown.notes[note] },
    })),
  );
  expect(shownLosses).toEqual(losses.map(({ note: { blockedBy: _, ...note }, ...loss }) => ({ ...loss, note })));
  return { shown, losses };
}

const PRESENT: TaintPolicySpec = {
  mode: 'Restore',
  nodeSelector: { matchLabels: { pool: 'gpu' } },
  taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' }],
};
const PRESERVED: TaintPolicySpec = { mode: 'Deny', taints: [{ key: 'example.com/*' }] };

describe('a cell', () => {
  it.each<{ why: string; node: ClusterNode; cell: string; note?: EvaluatedNote; inConflict?: boolean }>([
    { why: 'carried as declared', node: node('n', [GPU]), cell: 'k' },
    {
      why: 'not carried',
      node: node('n', []),
      cell: 'm',
      note: { taint: 'dedicated=gpu:NoSchedule', why: 'the leader is about to set it', harm: 'Repairing' },
    },
    {
      why: 'carried with another value',
      node: node('n', [CPU]),
      cell: 'd',
      note: {
        ...{ taint: 'dedicated=gpu:NoSchedule', carries: 'dedicated=cpu:NoSchedule' },
        ...{ why: 'the leader is about to set it', harm: 'Repairing' },
      },
    },
    {
      why: 'taken away again and again',
      node: node('n', []),
      cell: 'c',
      note: {
        ...{ taint: 'dedicated=gpu:NoSchedule', blockedBy: 'Conflict' },
        ...{ why: 'another writer removes it repeatedly', harm: 'Conflict' },
      },
      inConflict: true,
    },
    { why: 'another pool', node: node('n', [GPU], { labels: {} }), cell: '-' },
  ])('$cell: $why', async ({ node, cell, note, inConflict = false }) => {
    const { shown, losses } = await mapOf({ pool: PRESENT, all: PRESERVED }, [node], () => inConflict);
    const { rows, columns } = shown;
    expect(columns.map(({ policy }) => policy)).toEqual(['all', 'pool']);
    expect(rows).toEqual([
      { name: 'n', ready: true, pool: 0, cells: `a${cell}`, ...(note ? { losses: [[1, 0]] } : {}) },
    ]);
    expect(losses).toEqual(note ? [{ node: 'n', column: columns[1], cell, note }] : []);
  });

  it.each([
    { why: 'not carried', taints: [], cell: 'a' },
    { why: 'that a pattern matches', taints: [{ key: 'example.com/a', effect: 'NoSchedule' }], cell: 'k' },
  ])('of a protected taint: $cell, $why', async ({ taints, cell }) => {
    const { shown } = await mapOf({ all: PRESERVED }, [node('n', taints)]);
    expect(shown.rows[0]?.cells).toBe(cell);
  });

  it.each([
    { why: 'in mode Audit', spec: { ...PRESENT, mode: 'Audit' as const }, audit: false },
    { why: 'with --audit', spec: PRESENT, audit: true },
  ])('u: carried, and not protected, because its removal is only reported: $why', async ({ spec, audit }) => {
    const { shown } = await mapOf({ pool: spec }, [node('n', [GPU])], () => false, { audit });
    expect(shown.rows[0]?.cells).toBe('u');
  });

  it('r: kept off by an entry of the annotation, without a note', async () => {
    const allowRemoval = 'dedicated=gpu:NoSchedule';
    const { shown } = await mapOf({ pool: PRESENT }, [node('n', [], { allowRemoval })]);
    expect(shown.rows).toEqual([{ name: 'n', ready: true, pool: 0, cells: 'r' }]);
  });

  it.each([
    { mode: 'Audit', audit: false, why: 'mode Audit does not set it' },
    { mode: 'Audit', audit: true, why: 'mode Audit does not set it' },
    { mode: 'Restore', audit: true, why: 'only --audit keeps it from being set' },
    { mode: 'Deny', audit: true, why: 'only --audit keeps it from being set' },
  ] as const)('says what a mode does not do: $mode, --audit $audit', async ({ mode, audit, why }) => {
    const { losses } = await mapOf({ pool: { ...PRESENT, mode } }, [node('n', [])], () => false, { audit });
    const note = { taint: 'dedicated=gpu:NoSchedule', blockedBy: 'ModeDoesNotRestore', why, harm: 'Reported' };
    expect(losses.map((loss) => loss.note)).toEqual([note]);
  });

  it('of a rule behind another one for the same taint is kept as well', async () => {
    const twice = { ...PRESENT, taints: [{ key: 'dedicated' }, ...PRESENT.taints] };
    const { shown } = await mapOf({ pool: twice }, [node('n', [GPU])]);
    expect(shown.rows[0]?.cells).toBe('kk');
  });
});

it('has a column for each taint of each policy, and a row for each node that one selects', async () => {
  const { shown } = await mapOf({ pool: { ...PRESENT, taints: [...PRESENT.taints, { key: 'other' }] } }, [
    node('b', [GPU], { ready: false }),
    node('a', []),
    node('c', [], { labels: {} }),
  ]);
  expect(shown).toMatchObject({
    columns: [
      {
        policy: 'pool',
        field: 'spec.taints[0]',
        mode: 'Restore',
        taint: 'dedicated=gpu:NoSchedule',
      },
      { policy: 'pool', field: 'spec.taints[1]', mode: 'Restore', taint: 'other' },
    ],
    columnsLeftOut: 0,
    rows: [
      { name: 'a', ready: true, cells: 'ma' },
      { name: 'b', ready: false, cells: 'ka' },
    ],
    unselected: 1,
  });
});

it('names the nodes that wait with a startup taint, also those that no policy of the map selects', async () => {
  const since = Date.parse('2026-01-02T03:04:05Z');
  const nodes = [node('b', [], { taintedSince: since }), node('a', [], { labels: {} }), node('c', [])];
  const startupOn = (name: string) => (name === 'c' ? undefined : `${name} waits`);
  const { shown } = await mapOf({ pool: PRESENT }, nodes, () => false, { startupOn });
  expect(shown.waiting).toEqual([
    { name: 'a', what: 'a waits' },
    { name: 'b', what: 'b waits', since: '2026-01-02T03:04:05.000Z' },
  ]);
});

it('counts the nodes that wait and are not named', async () => {
  const nodes = Array.from({ length: 5_000 }, (_, index) => node(`n${index}`, []));
  const startupOn = (name: string) => (name === 'n1' ? undefined : 'waits');
  const { shown } = await mapOf({ pool: PRESENT }, nodes, () => false, { startupOn });
  expect([shown.waiting.length, shown.waitingLeftOut]).toEqual([200, 4_799]);
});

it('says once what is to be said of many nodes', async () => {
  const { shown, losses } = await mapOf({ pool: PRESENT }, [node('a', []), node('b', [CPU]), node('c', [])]);
  expect(shown.rows.map((row) => row.losses)).toEqual([[[0, 0]], [[0, 1]], [[0, 0]]]);
  expect(shown.notes).toHaveLength(2);
  expect(losses[2]?.note).toBe(losses[0]?.note);
});

it('bounds the columns', async () => {
  const taints = Array.from({ length: 60 }, (_, index) => ({ key: `t${index}` }));
  const specs = Object.fromEntries(['p', 'q', 'r', 's'].map((name) => [name, { mode: 'Deny' as const, taints }]));
  const { shown } = await mapOf(specs, [node('n', [])]);
  expect([shown.columns.length, shown.columnsLeftOut, shown.rows[0]?.cells.length]).toEqual([200, 40, 200]);
});

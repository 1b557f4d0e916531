import { describe, expect, it } from 'vitest';
import { idleNotes, idleWarnings } from '../../../../src/judge/policy/idle-policy.ts';
import { misspelledKeys, unseenKeys } from '../../../../src/judge/policy/misspelled-keys.ts';
import { keysOf } from '../../../../src/judge/policy/node-keys.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import { compileTaintPolicy } from '../../../../src/policy/compiled-taint-policy.ts';
import type { ReadyWhen } from '../../../../src/policy/ready-when.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../../src/policy/taint-rule.ts';

const NOW = new Date(1_000_000);
const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';

const node = (labels: Record<string, string>, ...taints: string[]) => ({
  name: 'n1',
  labels,
  taints: taints.map((key): Taint => ({ key, effect: 'NoSchedule' })),
});
const NODES = [node({ [CONTROL_PLANE]: '', pool: 'gpu' }, CONTROL_PLANE, 'example.com/pool-a'), node({ pool: 'web' })];

const policy = (spec: Omit<TaintPolicySpec, 'mode'> & Partial<TaintPolicySpec>) =>
  compileTaintPolicy({ kind: 'TaintPolicy', name: 'p', spec: { mode: 'Deny', ...spec } }, { startupKeys: [] });
const doubts = (spec: Omit<TaintPolicySpec, 'mode'>) =>
  misspelledKeys(policy(spec), keysOf(NODES as never), NODES, NOW);
const keys = (...all: string[]) => doubts({ taints: all.map((key) => ({ key })) });

describe('a key that no node has', () => {
  it.each([
    ['without its hyphen', 'node-role.kubernetes.io/controlplane'],
    ['in capitals', 'node-role.kubernetes.io/Control-Plane'],
    ['with a letter too few', 'node-role.kubernetes.io/control-plan'],
    ['with a letter too many', 'node-role.kubernetes.io/control-planes'],
    ['with two letters swapped', 'node-role.kubernetes.io/contorl-plane'],
    ['with a letter too few in front', 'ode-role.kubernetes.io/control-plane'],
  ])('%s is doubted', (_why, key) => {
    expect(keys('dedicated', key)).toEqual([
      `spec.taints[1].key: no node carries a taint ${key}; did you mean ${CONTROL_PLANE}?`,
    ]);
  });

  it.each([
    ['that a node has', CONTROL_PLANE],
    ['of its own', 'dedicated'],
    ['of a neighbour', 'example.com/pool-b'],
    ['with a number more', 'example.com/pool-a1'],
    ['of the older name', 'node-role.kubernetes.io/master'],
    ['that is a pattern', 'node-role.kubernetes.io/controlplane*'],
  ])('%s is not', (_why, key) => {
    expect(keys(key)).toEqual([]);
  });

  it('is compared with the first similar key by name, in any order of the nodes', () => {
    const doubted = (...carried: string[]) =>
      misspelledKeys(policy({ taints: [{ key: 'gpupool' }] }), keysOf([node({}, ...carried)] as never), [], NOW);
    const expected = ['spec.taints[0].key: no node carries a taint gpupool; did you mean gpu-pool?'];
    expect(doubted('gpu_pool', 'gpu-pool')).toEqual(expected);
    expect(doubted('gpu-pool', 'gpu_pool')).toEqual(expected);
  });

  it('is not reported if nodes have more keys than are compared', () => {
    const among = (others: number, nodes = 1) => {
      const labels = Object.fromEntries(Array.from({ length: others }, (_, index) => [`example.com/l-${index}`, '']));
      const nodeSelector = { matchLabels: { gpupool: 'x' } };
      const same = Array.from({ length: nodes }, () => node({ 'gpu-pool': '', ...labels }));
      return misspelledKeys(policy({ nodeSelector, taints: [] }), keysOf(same as never), same, NOW);
    };
    const doubted = ['spec.nodeSelector: no node has label gpupool; did you mean gpu-pool?'];
    expect(among(1_999)).toEqual(doubted);
    expect(among(1_999, 2)).toEqual(doubted);
    expect(among(2_000)).toEqual([]);
  });

  it('is not reported after 32 other keys', () => {
    const others = Array.from({ length: 32 }, (_, index) => `example.com/own-${index}`);
    expect(keys(...others.slice(1), 'node-role.kubernetes.io/controlplane')).toHaveLength(1);
    expect(keys(...others, 'node-role.kubernetes.io/controlplane')).toEqual([]);
  });

  it('is not reported if the policy sets the taint', () => {
    const present = { key: 'node-role.kubernetes.io/controlplane', effect: 'NoSchedule', ensure: 'Always' } as const;
    expect(doubts({ taints: [present] })).toEqual([]);
  });

  it('is reported in a selector that requires the label', () => {
    const taints = [{ key: 'a' }];
    expect(doubts({ taints, nodeSelector: { matchLabels: { pool: 'gpu' } } })).toEqual([]);
    const doubted = ['spec.nodeSelector: no node has label Pool; did you mean pool?'];
    expect(doubts({ taints, nodeSelector: { matchLabels: { Pool: 'gpu' } } })).toEqual(doubted);
    const expression = (operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist') => ({
      matchExpressions: [{ key: 'Pool', operator, ...(operator.endsWith('In') ? { values: ['gpu'] } : {}) }],
    });
    expect(doubts({ taints, nodeSelector: expression('In') })).toEqual(doubted);
    expect(doubts({ taints, nodeSelector: expression('Exists') })).toEqual(doubted);
    expect(doubts({ taints, nodeSelector: expression('NotIn') })).toEqual([]);
    expect(doubts({ taints, nodeSelector: expression('DoesNotExist') })).toEqual([]);
  });
});

describe('a name of readyWhen that no node has', () => {
  const status = { conditions: { Ready: 'True', 'example.com/NetworkReady': 'False' }, resources: ['nvidia.com/gpu'] };
  const known = keysOf([{ ...node({}), ...status }] as never);
  const waiting = (readyWhen: ReadyWhen, mode: TaintPolicySpec['mode'] = 'Restore') =>
    policy({
      mode,
      taints: [{ key: 'dedicated' }, { key: 'a', effect: 'NoSchedule', ensure: 'UntilReady', readyWhen }],
    });

  it.each<{ name: string; readyWhen: ReadyWhen; doubted: string[]; unseen: string[] }>([
    {
      name: 'is doubted in conditions',
      readyWhen: { conditions: [{ type: 'Ready' }, { type: 'example.com/Network-ready' }] },
      doubted: [
        'spec.taints[1].readyWhen.conditions[1].type: no node has condition example.com/Network-ready; did you mean example.com/NetworkReady?',
      ],
      unseen: [],
    },
    {
      name: 'is doubted in allocatable',
      readyWhen: { allocatable: [{ resource: 'nvidia.com/gpus' }, { resource: 'nvidia.com/gpu' }] },
      doubted: [
        'spec.taints[1].readyWhen.allocatable[0].resource: no node has resource nvidia.com/gpus; did you mean nvidia.com/gpu?',
      ],
      unseen: [],
    },
    {
      name: 'is not doubted, but told on apply, if it is like no other',
      readyWhen: { conditions: [{ type: 'Warm' }], allocatable: [{ resource: 'amd.com/gpu' }] },
      doubted: [],
      unseen: [
        'no node has condition Warm yet, for which spec.taints[1] waits',
        'no node has resource amd.com/gpu yet, for which spec.taints[1] waits',
      ],
    },
  ])('$name', ({ readyWhen, doubted, unseen }) => {
    expect(misspelledKeys(waiting(readyWhen), known, [node({})], NOW)).toEqual(doubted);
    expect(unseenKeys(waiting(readyWhen), known)).toEqual(unseen);
    expect(unseenKeys(waiting(readyWhen, 'Audit'), known)).toEqual([]);
    expect(idleWarnings(waiting(readyWhen), known, { selected: 1, all: 1 })).toEqual([
      ...doubted.map((text) => text.replace(/^[^ ]+: /, '')),
      ...unseen,
    ]);
  });

  it.each<{ why: string; nodes: readonly object[]; doubted: boolean }>([
    { why: 'the policy has no node yet', nodes: [], doubted: false },
    { why: 'each node of the policy waits', nodes: [node({}, 'a')], doubted: false },
    { why: 'a node without the taint is young', nodes: [{ ...node({}), createdAt: 400_000 }], doubted: false },
    {
      why: 'a node without the taint is old',
      nodes: [node({}, 'a'), { ...node({}), createdAt: 399_999 }],
      doubted: true,
    },
  ])('is a problem if $why: $doubted', ({ nodes, doubted }) => {
    const found = misspelledKeys(waiting({ conditions: [{ type: 'ready' }] }), known, nodes as never, NOW);
    expect(found).toHaveLength(doubted ? 1 : 0);
  });

  it('is not told while there are no nodes', () => {
    const one = waiting({ conditions: [{ type: 'Warm' }] });
    expect(idleWarnings(one, keysOf([]), { selected: 0, all: 0 })).toEqual([]);
  });

  it('is not told after 32 other names', () => {
    const rule = (types: readonly string[], index: number): TaintRule => ({
      ...{ key: `key-${index}`, effect: 'NoSchedule', ensure: 'UntilReady' },
      readyWhen: { conditions: types.map((type) => ({ type })) },
    });
    const unseen = (count: number) => {
      const types = Array.from({ length: count }, (_, index) => ['Ready', `Other${index}`]);
      return unseenKeys(policy({ mode: 'Restore', taints: types.map(rule) }), known);
    };
    expect(unseen(16)).toHaveLength(16);
    expect(unseen(17)).toHaveLength(16);
  });

  it('is not told if nodes have more names than are compared', () => {
    const conditions = Object.fromEntries(Array.from({ length: 2_001 }, (_, index) => [`Other${index}`, 'True']));
    const all = keysOf([{ ...node({}), conditions }] as never);
    expect(unseenKeys(waiting({ conditions: [{ type: 'Warm' }] }), all)).toEqual([]);
  });
});

describe('a policy that has no effect at present has a note', () => {
  it.each<[string, Omit<TaintPolicySpec, 'mode'>, string[]]>([
    [
      'no node',
      { taints: [{ key: 'a' }], nodeSelector: { matchLabels: { pool: 'db' } } },
      ['spec.nodeSelector selects none of 2 nodes'],
    ],
    ['no taint', { taints: [{ key: 'a' }] }, ['no selected node carries a taint that the policy protects']],
    [
      'one of its taints',
      {
        taints: [{ key: 'a' }, { key: CONTROL_PLANE }],
      },
      [],
    ],
    ['a taint that it sets', { taints: [{ key: 'a', effect: 'NoSchedule', ensure: 'Always' }] }, []],
    [
      'a taint that it sets at registration',
      { taints: [{ key: 'a', effect: 'NoSchedule', ensure: 'AtRegistration' }] },
      [],
    ],
  ])('%s', (_what, spec, notes) => {
    const found = policy(spec);
    const selected = NODES.filter(({ labels }) => found.selectsNode(labels));
    expect(idleNotes(found, selected as never, NODES.length)).toEqual(notes);
  });

  it('except in a cluster without nodes', () => {
    expect(idleNotes(policy({ taints: [{ key: 'a' }], nodeSelector: {} }), [], 0)).toEqual([]);
  });
});

describe('a policy that is applied gets a warning', () => {
  const taints: TaintPolicySpec['taints'] = [{ key: CONTROL_PLANE }];
  const pool = (value: string) => ({ nodeSelector: { matchLabels: { pool: value } } });

  it.each<[string, Omit<TaintPolicySpec, 'mode'>, string[]]>([
    [
      'about each key that looks misspelled, and then not that it selects no node',
      {
        taints: [...taints, { key: 'node-role.kubernetes.io/controlplane' }],
        nodeSelector: { matchLabels: { Pool: 'gpu' } },
      },
      [
        'no node has label Pool; did you mean pool?',
        `no node carries node-role.kubernetes.io/controlplane; did you mean ${CONTROL_PLANE}?`,
      ],
    ],
    [
      'about a taint that looks misspelled, and also that it selects no node',
      { taints: [{ key: 'node-role.kubernetes.io/controlplane' }], ...pool('db') },
      [
        `no node carries node-role.kubernetes.io/controlplane; did you mean ${CONTROL_PLANE}?`,
        'spec.nodeSelector selects none of 2 nodes',
      ],
    ],
    ['if it selects no node', { taints, ...pool('db') }, ['spec.nodeSelector selects none of 2 nodes']],
    ['and none if it selects a node', { taints, ...pool('gpu') }, []],
    ['and none if it selects every node', { taints }, []],
  ])('%s', (_what, spec, warnings) => {
    const found = policy(spec);
    const selected = NODES.filter(({ labels }) => found.selectsNode(labels)).length;
    expect(idleWarnings(found, keysOf(NODES as never), { selected, all: NODES.length })).toEqual(warnings);
  });

  it('except while there are no nodes', () => {
    expect(idleWarnings(policy({ taints, ...pool('gpu') }), keysOf([]), { selected: 0, all: 0 })).toEqual([]);
  });
});

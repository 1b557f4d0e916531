import { describe, expect, it } from 'vitest';
import { MAX_COMPARED, MAX_JUDGED } from '../../../src/judge/node-changes.ts';
import type { NodeUpdate } from '../../../src/judge/node-view.ts';
import { formatTaint, type Taint } from '../../../src/kubernetes/taint.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import { policySet } from '../policy/policies.ts';
import { withRecorded } from './established.ts';
import { judgeNode } from './judge-node.ts';

const PROTECTED: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const others = (count: number): Taint[] =>
  Array.from({ length: count }, (_, n) => ({ key: `example.com/${n}`, effect: 'NoSchedule' }));
const node = (taints: readonly Taint[], labels = {}) =>
  withRecorded({ name: 'n', labels, taints, allowRemoval: undefined }, undefined);

const judged = (
  spec: Partial<TaintPolicySpec>,
  before: readonly Taint[],
  after: readonly Taint[],
  request: Partial<NodeUpdate> = {},
) => {
  const taints = [{ key: 'dedicated', restrict: ['Removal', 'Addition'] as const }];
  const requester = { username: 'dev', groups: [] };
  const update = {
    phase: 'validate',
    requester,
    node: node(after),
    oldNode: node(before),
  } as const;
  return judgeNode({ ...update, ...request }, policySet({ taint: { p: { mode: 'Deny', taints, ...spec } } }));
};

it.each(['Deny', 'Restore'] as const)('a protected taint is not lost among many that are removed: %s', (mode) => {
  const before = [...others(MAX_JUDGED), PROTECTED];
  const decision = judged({ mode }, before, []);

  expect(decision).toMatchObject({
    action: 'deny',
    violations: [
      {
        ...{ policyKind: 'TaintPolicy', policy: 'p', field: 'spec.taints', mode },
        ...{ outcome: 'denied', subject: `${MAX_JUDGED + 1} taints` },
      },
    ],
    message:
      `node n: ${MAX_JUDGED + 1} taints are removed and 0 added in one update, ` +
      `and at most ${MAX_JUDGED} of each are judged where a TaintPolicy restricts changes of taints: "p". ` +
      'Change fewer taints in one update, or delete the node and register it again.',
  });
  expect(judged({ mode }, before, [], { phase: 'mutate' })).toMatchObject({ action: 'allow', violations: [] });
});

it('each policy that may restrict one of many changes is named, and named once', () => {
  const spec = (restrict: ('Removal' | 'Addition')[]): TaintPolicySpec => ({
    mode: 'Deny',
    taints: [{ key: 'dedicated', restrict }],
  });
  const policies = policySet({
    taint: { a: spec(['Removal', 'Addition']), b: spec(['Removal']), c: spec(['Addition']) },
  });
  const update = {
    phase: 'validate',
    requester: { username: 'dev', groups: [] },
    node: node([PROTECTED]),
    oldNode: node(others(MAX_JUDGED + 1)),
  } as const;
  expect(judgeNode(update, policies)).toMatchObject({
    message: expect.stringContaining('restricts changes of taints: "a", "b", "c". '),
  });
});

it('a restricted taint is not added among many that are added', () => {
  const decision = judged({}, [], [...others(MAX_JUDGED), PROTECTED]);
  expect(decision).toMatchObject({ action: 'deny', violations: [{ outcome: 'addition-denied' }] });
});

describe('beside more changes than are judged,', () => {
  const many = others(MAX_JUDGED + 1);
  const REMOVAL = { taints: [{ key: 'dedicated', restrict: ['Removal'] as const }] };
  const ADDITION = { taints: [{ key: 'dedicated', restrict: ['Addition'] as const }] };

  it.each(['Deny', 'Restore'] as const)('one protected taint is not removed: %s', (mode) => {
    expect(judged({ mode, ...REMOVAL }, [PROTECTED], many)).toMatchObject({
      action: 'deny',
      violations: [{ outcome: 'denied', subject: '1 taint' }],
    });
    expect(judged({ mode, ...REMOVAL }, [], many)).toMatchObject({ action: 'allow' });
  });

  it('one restricted taint is not added', () => {
    expect(judged(ADDITION, many, [PROTECTED])).toMatchObject({
      action: 'deny',
      violations: [{ outcome: 'addition-denied', subject: '1 taint' }],
    });
    expect(judged(ADDITION, many, [])).toMatchObject({ action: 'allow' });
  });

  it('the labels are judged as always', () => {
    const spec = {
      taints: [{ key: 'dedicated', restrict: ['Unselection'] as const }],
      nodeSelector: { matchLabels: { pool: 'gpu' } },
    };
    const relabelled = (mode: 'Deny' | 'Audit') =>
      judged({ ...spec, mode }, [], [], {
        oldNode: node([PROTECTED], { pool: 'gpu' }),
        node: node([PROTECTED, ...many]),
      });
    const outcome = { subject: 'dedicated=gpu:NoSchedule', outcome: 'unselection-denied' };
    const denied = relabelled('Deny');
    expect(denied.action).toBe('deny');
    expect(denied.violations).toContainEqual(expect.objectContaining(outcome));
    const audited = relabelled('Audit');
    expect(audited.action).toBe('allow');
    expect(audited.violations).toContainEqual(expect.objectContaining({ ...outcome, outcome: 'unselection-audited' }));
    expect(audited.warnings.at(-1)).toContain('129 added in one update');
  });
});

it('as many as are judged are judged one by one', () => {
  const decision = judged({}, [...others(MAX_JUDGED - 1), PROTECTED], []);
  expect(decision).toMatchObject({ action: 'deny', violations: [{ subject: 'dedicated=gpu:NoSchedule' }] });
  expect(judged({}, others(MAX_JUDGED), [])).toMatchObject({ action: 'allow', violations: [], warnings: [] });
});

it.each([
  { who: 'in mode Audit', spec: { mode: 'Audit' as const } },
  { who: 'that exempts the user', spec: { exempt: { users: ['dev'] } } },
  { who: 'that selects other nodes', spec: { nodeSelector: { matchLabels: { pool: 'other' } } } },
])('more of them pass a policy $who, and a warning says that they were not judged', ({ spec }) => {
  const decision = judged(spec, others(MAX_JUDGED + 1), []);
  expect(decision).toMatchObject({ action: 'allow', violations: [] });
  expect(decision.warnings).toEqual([expect.stringContaining(`at most ${MAX_JUDGED} of each are judged`)]);
});

it('one change of a node with thousands of taints is judged as any other', () => {
  const many = others(5_000);
  expect(judged({}, [...many, PROTECTED], many)).toMatchObject({ action: 'deny' });
  expect(judged({}, [PROTECTED, ...many], many)).toMatchObject({ action: 'deny' });
  expect(judged({}, many, [...many.slice(0, 9), PROTECTED, ...many.slice(9)])).toMatchObject({ action: 'deny' });
  expect(judged({}, [...many, PROTECTED], [PROTECTED, ...many.slice(1)])).toMatchObject({ action: 'allow' });
});

describe('where more taints than are compared stand between the first difference and the last,', () => {
  const many = others(MAX_COMPARED);

  it('a protected taint is not lost, wherever it stands', () => {
    const decision = judged({}, [...many, PROTECTED], [{ key: 'first', effect: 'NoSchedule' }, ...many]);
    expect(decision).toMatchObject({
      action: 'deny',
      violations: [{ outcome: 'denied', subject: '8193 taints' }, { outcome: 'addition-denied' }],
      message: expect.stringContaining(
        'node n: 8193 taints in a row are replaced by 8193 in one update, and at most 8192',
      ),
    });
  });

  it.each(['Deny', 'Restore'] as const)('another order is denied, as the taints are not compared: %s', (mode) => {
    const before = [...many, PROTECTED];
    expect(judged({ mode }, before, before.toReversed())).toMatchObject({ action: 'deny' });
    expect(judged({ mode }, before, before.toReversed(), { phase: 'mutate' })).toMatchObject({ action: 'allow' });
    expect(judged({ mode }, before.slice(1), before.slice(1).toReversed())).toMatchObject({ action: 'allow' });
  });

  it('only a policy that restricts additions denies additions', () => {
    const added = [...many, PROTECTED];
    expect(judged({}, [], added)).toMatchObject({
      action: 'deny',
      violations: [{ outcome: 'addition-denied', subject: '8193 taints' }],
      message: expect.stringContaining('0 taints in a row are replaced by 8193 in one update, and at most 8192'),
    });
    expect(judged({ taints: [{ key: 'dedicated', restrict: ['Removal'] }] }, [], added)).toMatchObject({
      action: 'allow',
      violations: [],
    });
  });
});

describe('what ends the protection of a taint is recorded,', () => {
  const REMOVAL = { taints: [{ key: 'dedicated', restrict: ['Removal'] as const }] };
  const many = others(MAX_JUDGED + 1);
  const POOL = { ...REMOVAL, nodeSelector: { matchLabels: { pool: 'gpu' } } };
  const unselected = { outcome: 'unselected', subject: 'dedicated=gpu:NoSchedule' };

  it('beside more changes than are judged: labels', () => {
    const request = {
      phase: 'mutate',
      oldNode: node([PROTECTED], { pool: 'gpu' }),
      node: node([PROTECTED, ...many]),
    } as const;
    const { violations } = judged(POOL, [], [], request);
    expect(violations).toContainEqual(expect.objectContaining(unselected));
    // What validation denies, it reports itself.
    expect(judged(POOL, [], [], { ...request, node: node(many) }).violations).toEqual([]);
    const bothWays = { nodeSelector: POOL.nodeSelector };
    expect(judged(bothWays, [], [], { ...request, node: node(many) }).violations).toEqual([]);
  });

  it('beside more changes than are judged: announcements', () => {
    const announcing = { ...node([PROTECTED, ...many]), allowRemoval: 'dedicated=gpu:NoSchedule' };
    const request = { phase: 'mutate', oldNode: node([PROTECTED]), node: announcing } as const;
    expect(judged(REMOVAL, [], [], request).violations).toMatchObject([
      { outcome: 'announced', subject: 'dedicated=gpu:NoSchedule' },
    ]);
  });

  it('where more taints than are judged come first: labels', () => {
    const taints = [...many, PROTECTED];
    const request = { phase: 'mutate', oldNode: node(taints, { pool: 'gpu' }), node: node(taints) } as const;
    expect(judged(POOL, [], [], request)).toMatchObject({ action: 'allow', violations: [{ outcome: 'unselected' }] });
  });

  it('where more taints than are judged come first: announcements', () => {
    const taints = [...many, PROTECTED];
    const allowRemoval = taints.map(formatTaint).join(',');
    const request = { phase: 'mutate', oldNode: node(taints), node: { ...node(taints), allowRemoval } } as const;
    expect(judged(REMOVAL, [], [], request).violations).toMatchObject([{ outcome: 'announced' }]);
  });
});

it('a node with more taints than are judged does not leave a policy that restricts Unselection', () => {
  const spec = {
    taints: [{ key: 'dedicated', restrict: ['Unselection'] as const }],
    nodeSelector: { matchLabels: { pool: 'gpu' } },
  };
  const taints = [...others(MAX_JUDGED), PROTECTED];
  const request = { oldNode: node(taints, { pool: 'gpu' }), node: node(taints) };

  const denied = { action: 'deny', violations: [{ outcome: 'unselection-denied' }] };
  expect(judged(spec, [], [], request)).toMatchObject(denied);
  // An announcement of one of the taints beyond the limit does not mean the others.
  const announced = { ...request.oldNode, allowRemoval: formatTaint(PROTECTED) };
  expect(judged(spec, [], [], { ...request, oldNode: announced })).toMatchObject(denied);
});

it('a node with more taints than are judged leaves a policy that restricts only additions', () => {
  const spec = {
    taints: [{ key: 'dedicated', restrict: ['Addition'] as const }],
    nodeSelector: { matchLabels: { pool: 'gpu' } },
  };
  const taints = [...others(MAX_JUDGED), PROTECTED];
  for (const phase of ['mutate', 'validate'] as const) {
    const request = { phase, oldNode: node(taints, { pool: 'gpu' }), node: node(taints) };
    expect(judged(spec, [], [], request)).toMatchObject({ action: 'allow', violations: [], warnings: [] });
  }
});

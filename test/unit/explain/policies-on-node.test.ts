import { describe, expect, it } from 'vitest';
import type { Cell } from '../../../src/explain/display.ts';
import { formatNode } from '../../../src/explain/explain-node.ts';
import { policiesOnNode } from '../../../src/explain/policies-on-node.ts';
import type { NodeView } from '../../../src/judge/node-view.ts';
import { formatTaint } from '../../../src/kubernetes/taint.ts';
import type { TaintPolicy } from '../../../src/policy/policy.ts';
import { compilePolicies } from '../../../src/policy/policy-set.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../src/policy/taint-rule.ts';
import { nodeOf, rule } from '../judge/node-drifts.ts';

const GPU = { key: 'gpu', value: 'true', effect: 'NoSchedule' } as const;
const EDGE = { key: 'edge', effect: 'NoExecute' } as const;
const PRESENT = { ...GPU, ensure: 'Always' } as const;

function explain(node: NodeView, specs: Record<string, TaintPolicySpec>, options?: { audit: boolean }) {
  const policies = Object.entries(specs).map(([name, spec]): TaintPolicy => ({ kind: 'TaintPolicy', name, spec }));
  return policiesOnNode(node, compilePolicies(policies, options).taintPolicies, options);
}

/** One line a taint: what it is, how it stands, the policies, and in brackets what blocks its restoration. */
const lines = (node: NodeView, specs: Record<string, TaintPolicySpec>) =>
  explain(node, specs).taints.map(({ taint, state, by, blockedBy }) =>
    [formatTaint(taint), state, ...by.map(({ policy }) => policy), ...(blockedBy ? [`(${blockedBy})`] : [])].join(' '),
  );

const nextFor = (node: NodeView, specs: Record<string, TaintPolicySpec>) =>
  formatNode({
    ...explain(node, specs),
    name: 'n1',
    writtenBy: undefined,
    problems: [],
    events: [],
    notes: [],
  }).next;

describe('a command that sets a taint which evicts pods', () => {
  const evicts = 'evicts the pods there that do not tolerate it';
  const present = { ...EDGE, ensure: 'Always' } as const;

  it('names the effect if mode Audit does not restore the taint', () => {
    const mode = 'Audit';
    expect(nextFor(nodeOf([]), { a: rule(mode, present) })).toEqual({
      command: 'kubectl taint node n1 edge:NoExecute',
      note: evicts,
    });
    expect(nextFor(nodeOf([]), { a: rule(mode, PRESENT) })).toEqual({
      command: 'kubectl taint node n1 gpu=true:NoSchedule',
    });
  });

  it('names the effect if an entry keeps the taint off', () => {
    expect(nextFor(nodeOf([], { allowRemoval: 'edge:NoExecute' }), { a: rule('Restore', present) })).toEqual({
      command: 'kubectl taint node n1 edge:NoExecute',
      note: `${evicts}; sets it again, and ends the entry of the annotation`,
    });
  });
});

/** What is said of the taint {@link GPU} of a node. */
function rowOfGpu(specs: Record<string, TaintPolicySpec>, options?: { audit: boolean }): readonly Cell[] | undefined {
  const explained = { ...explain(nodeOf([GPU]), specs, options), name: 'n1', problems: [], events: [] };
  const { sections } = formatNode({ ...explained, writtenBy: undefined, notes: [] });
  return sections.flatMap((section) => ('rows' in section ? section.rows : [])).at(0);
}

describe('each taint of a node', () => {
  it('is protected by the policies that match it, or free', () => {
    expect(
      lines(nodeOf([GPU, EDGE]), {
        a: rule('Deny', { key: 'gpu' }),
        b: rule('Audit', { key: 'gpu' }),
      }),
    ).toEqual(['gpu=true:NoSchedule protected a b', 'edge:NoExecute free']);
  });

  describe('that a policy in mode Audit names', () => {
    const audited = 'not protected; its removal is only reported, by b (Audit, spec.taints[0])';

    it.each<{
      why: string;
      specs: Record<string, TaintPolicySpec>;
      options?: { audit: boolean };
      state: object;
      reason: string;
    }>([
      {
        why: 'not protected by it',
        specs: { b: rule('Audit', PRESENT) },
        state: { text: 'audited', level: 'attention' },
        reason: audited,
      },
      {
        why: 'not protected by a policy in another mode with --audit',
        specs: { b: rule('Deny', PRESENT) },
        options: { audit: true },
        state: { text: 'audited', level: 'attention' },
        reason: audited,
      },
      {
        why: 'protected by another policy',
        specs: { a: rule('Deny', { key: 'gpu' }), b: rule('Audit', PRESENT) },
        state: { text: 'protected', level: 'ok' },
        reason: 'protected by a (Deny, spec.taints[0]); its removal is only reported, by b (Audit, spec.taints[0])',
      },
    ])('is $why', ({ specs, options, state, reason }) => {
      expect(rowOfGpu(specs, options)).toEqual(['gpu=true:NoSchedule', state, reason]);
    });
  });

  describe('that the node carries only until it is ready', () => {
    const { key, value, effect } = GPU;
    const AT_REGISTRATION = { key, value, effect, ensure: 'AtRegistration' } as const;
    const UNTIL_READY: TaintRule = {
      ...AT_REGISTRATION,
      ensure: 'UntilReady',
      readyWhen: { daemonSets: [{ namespace: 'gpu', name: 'driver' }] },
    };
    const { value: _, ...ANY_VALUE } = UNTIL_READY;

    it.each<{
      why: string;
      specs: Record<string, TaintPolicySpec>;
      options?: { audit: boolean };
      state: string;
      reason: string;
    }>([
      {
        why: 'removed by the leader',
        specs: { a: rule('Restore', UNTIL_READY) },
        state: 'startup',
        reason: 'startup taint of a (Restore, spec.taints[0]), which stays until readyWhen holds',
      },
      {
        why: 'removed by an agent',
        specs: { a: rule('Restore', AT_REGISTRATION) },
        state: 'startup',
        reason: 'startup taint of a (Restore, spec.taints[0]), which taintkeeper does not remove',
      },
      {
        why: 'of two policies, one of which lets the leader remove it',
        specs: { a: rule('Restore', AT_REGISTRATION), b: rule('Deny', UNTIL_READY) },
        state: 'startup',
        reason:
          'startup taint of b (Deny, spec.taints[0]), a (Restore, spec.taints[0]), which stays until readyWhen holds',
      },
      {
        why: 'of a policy that only reports, and so set by another writer',
        specs: { a: rule('Audit', AT_REGISTRATION) },
        state: 'free',
        reason: 'no policy covers it',
      },
      {
        why: 'that another policy protects',
        specs: { a: rule('Restore', AT_REGISTRATION), b: rule('Deny', { key: 'gpu' }) },
        state: 'protected',
        reason: 'protected by b (Deny, spec.taints[0])',
      },
      {
        why: 'that a policy in mode Audit names, too',
        specs: { a: rule('Restore', UNTIL_READY), b: rule('Audit', { key: 'gpu' }) },
        state: 'startup',
        reason: 'startup taint of a (Restore, spec.taints[0]), which stays until readyWhen holds',
      },
      {
        why: 'that the leader removes with --audit, too',
        specs: { a: rule('Restore', UNTIL_READY) },
        options: { audit: true },
        state: 'startup',
        reason: 'startup taint of a (Restore, spec.taints[0]), which stays until readyWhen holds',
      },
      {
        why: 'that the leader does not remove, because another policy would protect it without --audit',
        specs: { a: rule('Restore', UNTIL_READY), b: rule('Deny', { key: 'gpu' }) },
        options: { audit: true },
        state: 'audited',
        reason: 'not protected; its removal is only reported, by b (Audit, spec.taints[0])',
      },
      {
        why: 'with another value than that of one policy, which another policy sets',
        specs: { a: rule('Restore', { ...AT_REGISTRATION, value: 'ready' }), b: rule('Restore', UNTIL_READY) },
        state: 'startup',
        reason: 'startup taint of b (Restore, spec.taints[0]), which stays until readyWhen holds',
      },
      {
        why: 'with any value, because one of the policies names none',
        specs: {
          a: rule('Restore', { ...UNTIL_READY, value: 'ready' }),
          b: rule('Restore', ANY_VALUE),
        },
        state: 'startup',
        reason:
          'startup taint of a (Restore, spec.taints[0]), b (Restore, spec.taints[0]), which stays until readyWhen holds',
      },
      {
        why: 'with another value, which the leader does not remove',
        specs: { a: rule('Restore', { ...UNTIL_READY, value: 'ready' }) },
        state: 'free',
        reason: 'carries another value than a (Restore, spec.taints[0]) sets: taintkeeper does not remove it',
      },
      {
        why: 'with another value than two policies set',
        specs: {
          a: rule('Restore', { ...UNTIL_READY, value: 'ready' }),
          b: rule('Restore', { ...AT_REGISTRATION, value: 'set' }),
        },
        state: 'free',
        reason:
          'carries another value than a (Restore, spec.taints[0]), b (Restore, spec.taints[0]) set: taintkeeper does not remove it',
      },
      {
        why: 'with another value, which a policy in mode Audit names',
        specs: { a: rule('Restore', { ...UNTIL_READY, value: 'ready' }), b: rule('Audit', { key: 'gpu' }) },
        state: 'audited',
        reason: 'not protected; its removal is only reported, by b (Audit, spec.taints[0])',
      },
    ])('is a startup taint, unless a policy protects it: $why', ({ specs, options, state, reason }) => {
      expect(rowOfGpu(specs, options)).toMatchObject(['gpu=true:NoSchedule', { text: state }, reason]);
    });
  });

  it('that is missing is restored, or has a reason why not', () => {
    expect(lines(nodeOf([]), { a: rule('Restore', PRESENT) })).toEqual(['gpu=true:NoSchedule missing a']);
    expect(lines(nodeOf([]), { a: rule('Deny', PRESENT) })).toEqual(['gpu=true:NoSchedule missing a']);
    expect(lines(nodeOf([]), { a: rule('Audit', PRESENT) })).toEqual([
      'gpu=true:NoSchedule missing a (ModeDoesNotRestore)',
    ]);
    expect(lines(nodeOf([]), { a: rule('Restore', { ...EDGE, ensure: 'Always' }) })).toEqual([
      'edge:NoExecute missing a (WouldEvictPods)',
    ]);
  });

  it('that one policy restores is restored, even if another policy requires it in mode Deny', () => {
    expect(lines(nodeOf([]), { a: rule('Restore', PRESENT), b: rule('Deny', PRESENT) })).toEqual([
      'gpu=true:NoSchedule missing b a',
    ]);
  });

  it('that an entry of the annotation keeps off is not missing', () => {
    const policies = { a: rule('Restore', PRESENT) };
    const node = nodeOf([], { allowRemoval: 'gpu=true:NoSchedule' });
    expect(lines(node, policies)).toEqual(['gpu=true:NoSchedule kept-off a']);
    const explained = { ...explain(node, policies), name: 'n1', problems: [], events: [] };
    expect(formatNode({ ...explained, writtenBy: undefined, notes: [] })).toMatchObject({
      isOk: true,
      sections: [
        {
          rows: [
            [
              'gpu=true:NoSchedule',
              { text: 'kept-off', level: 'attention' },
              'required by a (Restore, spec.taints[0]); an entry of annotation taintkeeper.dev/allow-removal keeps it off',
            ],
          ],
        },
        {},
        {},
      ],
      next: {
        command: 'kubectl taint node n1 gpu=true:NoSchedule',
        note: 'sets it again, and ends the entry of the annotation',
      },
    });
  });
});

it('is in mode Audit where taintkeeper runs with --audit, and nothing is restored', () => {
  const { audit, taints } = explain(nodeOf([]), { a: rule('Restore', PRESENT) }, { audit: true });
  expect({ audit, taints }).toMatchObject({
    audit: true,
    taints: [{ by: [{ mode: 'Audit' }], blockedBy: 'ModeDoesNotRestore', onTrial: true }],
  });
});

it('distinguishes a missing taint from one with another value', () => {
  const otherValue = (node: NodeView) =>
    explain(node, { a: rule('Audit', PRESENT) }).taints.find(({ state }) => state === 'missing')?.otherValue;
  expect(otherValue(nodeOf([]))).toBe(false);
  expect(otherValue(nodeOf([{ ...GPU, value: 'other' }]))).toBe(true);
});

it('lists the unmet requirements of a policy that does not select the node', () => {
  const node = nodeOf([], { labels: { pool: 'cpu' } });
  const nodeSelector = {
    matchLabels: { pool: 'gpu' },
    matchExpressions: [
      { key: 'pool', operator: 'Exists' as const },
      { key: 'zone', operator: 'In' as const, values: ['a', 'b'] },
    ],
  };
  expect(explain(node, { a: rule('Deny', GPU, { nodeSelector }), b: rule('Audit', GPU) }).policies).toEqual([
    { policy: 'a', mode: 'Deny', unmet: ['pool=gpu', 'zone in (a, b)'] },
    { policy: 'b', mode: 'Audit', unmet: [] },
  ]);
});

describe('a taint that the node carries with another value', () => {
  const changed = nodeOf([{ ...GPU, value: 'other' }]);
  const reasonFor = (node: NodeView, specs: Record<string, TaintPolicySpec>) => {
    const words = formatNode({
      ...explain(node, specs),
      ...{ name: 'n1', writtenBy: undefined, problems: [], events: [], notes: [] },
    });
    const [table] = words.sections;
    const isMissing = (cell: Cell | undefined) =>
      typeof cell === 'object' && 'level' in cell && cell.text === 'another value';
    return table && 'rows' in table ? table.rows.flatMap(([, state, why]) => (isMissing(state) ? [why] : [])) : [];
  };

  it('is about to be changed if only the same policy protects it', () => {
    expect(lines(changed, { a: rule('Deny', PRESENT) })).toContain('gpu=true:NoSchedule missing a');
  });

  it('is left to a user if another policy protects it', () => {
    const policies = { a: rule('Deny', PRESENT), b: rule('Deny', { key: 'gpu' }) };
    expect(reasonFor(changed, policies)).toEqual([
      'required by a (Deny, spec.taints[0]); the node carries gpu=other:NoSchedule, which b (Deny, spec.taints[0]) protects',
    ]);
    expect(nextFor(changed, policies)).toEqual({
      command: 'kubectl taint --overwrite node n1 gpu=true:NoSchedule',
    });
  });

  const ELSEWHERE = { nodeSelector: { matchLabels: { pool: 'elsewhere' } } };

  it.each<{ why: string; b: TaintPolicySpec; how: string }>([
    {
      why: 'requires it',
      b: rule('Restore', { ...PRESENT, value: 'other' }, ELSEWHERE),
      how: 'b (Restore, spec.taints[0]) sets on other nodes',
    },
    {
      why: 'sets it at registration',
      b: rule('Restore', { ...GPU, value: 'other', ensure: 'AtRegistration' }, ELSEWHERE),
      how: 'b (Restore, spec.taints[0]) sets on other nodes',
    },
    {
      why: 'protects it',
      b: rule('Deny', { key: 'gpu' }, ELSEWHERE),
      how: 'b (Deny, spec.taints[0]) protects on other nodes',
    },
    {
      why: 'requires any value',
      b: rule('Restore', { key: 'gpu', effect: 'NoSchedule', ensure: 'Always' }, ELSEWHERE),
      how: 'b (Restore, spec.taints[0]) protects on other nodes',
    },
  ])('names the policy that keeps it on other nodes, not the one that requires another value: $why', ({ b, how }) => {
    const requiring = rule('Restore', PRESENT, { taints: [PRESENT, { key: 'gpu' }] });
    expect(reasonFor(changed, { a: requiring, b })).toEqual([
      `required by a (Restore, spec.taints[0]); the node carries gpu=other:NoSchedule, which ${how}`,
    ]);
    expect(reasonFor(changed, { a: requiring, b, c: rule('Restore', { key: 'gpu' }) })).toEqual([
      `required by a (Restore, spec.taints[0]); the node carries gpu=other:NoSchedule, which ${how}, and c (Restore, spec.taints[0]) protects`,
    ]);
  });

  it('that two policies require differently: the policy that wins, and why', () => {
    const policies = {
      ml: rule('Restore', { ...PRESENT, value: 'ml' }),
      gpu: rule('Restore', PRESENT),
    };
    const node = nodeOf([{ ...GPU, value: 'ml' }]);
    expect(reasonFor(node, policies)).toEqual([
      'required by gpu (Restore, spec.taints[0]); policies require different values of it; ' +
        'a node that registers gets gpu=true:NoSchedule: both are in mode Restore, and gpu comes first by name',
    ]);
    expect(nextFor(node, policies)).toEqual({
      command: 'kubectl edit taintpolicy ml',
      note: 'gpu and ml require different values: choose one, or let one of the policies leave out this node',
    });
  });
});

describe('the entries of the annotation allow-removal', () => {
  const linesOf = (allowRemoval: string, spec: TaintPolicySpec, taints: NodeView['taints'] = [GPU, EDGE]) => {
    const { sections } = formatNode({
      ...explain(nodeOf(taints, { allowRemoval }), { a: spec }),
      ...{ name: 'n1', writtenBy: undefined, problems: [], events: [], notes: [] },
    });
    const lines = sections.flatMap((section) => ('lines' in section ? section.lines : []));
    return lines.filter((line) => typeof line !== 'string' || line.startsWith('annotation'));
  };

  it('are listed with what each does', () => {
    expect(linesOf('gpu=true:NoSchedule, edge:NoExecute, rubbish', rule('Deny', { key: 'gpu' }))).toEqual([
      'annotation taintkeeper.dev/allow-removal: gpu=true:NoSchedule may be removed; the leader deletes the entry once both have stood together for 1 hour, ' +
        'edge:NoExecute names no taint that a policy protects or requires on this node, rubbish cannot be read',
    ]);
    expect(linesOf('gpu=true:NoSchedule', rule('Deny', PRESENT), [])).toEqual([
      'annotation taintkeeper.dev/allow-removal: gpu=true:NoSchedule is not set again while the entry stands',
    ]);
  });

  const UNTIL_READY: TaintRule = {
    ...GPU,
    ensure: 'UntilReady',
    readyWhen: { daemonSets: [{ namespace: 'a', name: 'b' }] },
  };
  const DELETED = 'may be removed; the leader deletes the entry once both have stood together for 1 hour';
  const KEPT_OFF = 'is not set again while the entry stands';

  it.each<{ why: string; rules: TaintRule; taints: NodeView['taints']; text: string }>([
    { why: 'the node waits with it', rules: UNTIL_READY, taints: [GPU], text: DELETED },
    { why: 'the entry keeps it off', rules: UNTIL_READY, taints: [], text: KEPT_OFF },
    {
      why: 'an agent removes it',
      rules: { ...GPU, ensure: 'AtRegistration' },
      taints: [GPU],
      text: DELETED,
    },
    {
      why: 'it is set at registration only',
      rules: { ...GPU, ensure: 'AtRegistration' },
      taints: [],
      text: 'names no taint that a policy protects or requires on this node',
    },
  ])('also of startup taints: $why', ({ rules, taints, text }) => {
    expect(linesOf('gpu=true:NoSchedule', rule('Restore', rules), taints)).toEqual([
      `annotation taintkeeper.dev/allow-removal: gpu=true:NoSchedule ${text}`,
    ]);
  });

  it('have no effect where a policy allows no removal', () => {
    const removalByAnnotation = 'Forbidden';
    expect(linesOf('gpu=true:NoSchedule', rule('Deny', { key: 'gpu' }, { removalByAnnotation }))).toEqual([
      'annotation taintkeeper.dev/allow-removal: gpu=true:NoSchedule has no effect: a policy does not allow removal by annotation (spec.removalByAnnotation: Forbidden)',
    ]);
    expect(linesOf('gpu=true:NoSchedule', rule('Deny', UNTIL_READY, { removalByAnnotation }), [])).toEqual([
      'annotation taintkeeper.dev/allow-removal: gpu=true:NoSchedule has no effect: a policy does not allow removal by annotation (spec.removalByAnnotation: Forbidden)',
    ]);
  });
});

import { describe, expect, it } from 'vitest';
import { explanationText } from '../../../src/cli/explain.ts';
import { formatNode } from '../../../src/explain/explain-node.ts';
import { policiesOnNode } from '../../../src/explain/policies-on-node.ts';
import type { Cell } from '../../../src/explain/sections.ts';
import type { NodeView } from '../../../src/judge/node-view.ts';
import { formatTaint } from '../../../src/kubernetes/taint.ts';
import type { TaintPolicy } from '../../../src/policy/policy.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../src/policy/taint-rule.ts';
import { withRecorded } from '../judge/established.ts';
import { nodeOf, rule } from '../judge/node-drifts.ts';

const GPU = { key: 'gpu', value: 'true', effect: 'NoSchedule' } as const;
const EDGE = { key: 'edge', effect: 'NoExecute' } as const;
const PRESENT = { ...GPU, ensure: 'Always' } as const;

interface Recorded {
  /** What the record of the node lists. */
  readonly recorded?: string;
  /** What it lists as removed with permission. */
  readonly removed?: string;
}

function explain(node: NodeView, specs: Record<string, TaintPolicySpec>, { recorded, removed }: Recorded = {}) {
  const policies = Object.entries(specs).map(([name, spec]): TaintPolicy => ({ kind: 'TaintPolicy', name, spec }));
  return policiesOnNode(withRecorded(node, recorded, removed), policies);
}

/** One line a taint: what it is, how it stands, the policies, and in brackets what blocks its restoration. */
const lines = (node: NodeView, specs: Record<string, TaintPolicySpec>, recorded?: Recorded) =>
  explain(node, specs, recorded).taints.map(({ taint, state, by, blockedBy }) =>
    [formatTaint(taint), state, ...by.map(({ policy }) => policy), ...(blockedBy ? [`(${blockedBy})`] : [])].join(' '),
  );

const nextFor = (node: NodeView, specs: Record<string, TaintPolicySpec>, recorded?: Recorded) =>
  formatNode({
    ...explain(node, specs, recorded),
    name: 'n1',
    writtenBy: undefined,
    problems: [],
    events: [],
    notes: [],
  }).next;

describe('a command that sets a taint which evicts pods', () => {
  const evicts = 'evicts the pods there that do not tolerate it';
  const present = { ...EDGE, ensure: 'Always' } as const;

  it('says so where mode Audit does not restore it', () => {
    const mode = 'Audit';
    expect(nextFor(nodeOf([]), { a: rule(mode, present) })).toEqual({
      command: 'kubectl taint node n1 edge:NoExecute',
      note: evicts,
    });
    expect(nextFor(nodeOf([]), { a: rule(mode, PRESENT) })).toEqual({
      command: 'kubectl taint node n1 gpu=true:NoSchedule',
    });
  });

  it('says so where it was removed with permission', () => {
    expect(nextFor(nodeOf([]), { a: rule('Restore', present) }, { removed: 'edge:NoExecute' })).toEqual({
      command: 'kubectl taint node n1 edge:NoExecute',
      note: `${evicts}; sets it again; it stays off until a user sets it`,
    });
  });
});

describe('each taint of a node', () => {
  it('is protected by whichever policies mean it, or free', () => {
    expect(
      lines(nodeOf([GPU, EDGE]), {
        a: rule('Deny', { key: 'gpu', restrict: ['Removal'] }),
        b: rule('Audit', { key: 'gpu', restrict: ['Removal'] }),
      }),
    ).toEqual(['gpu=true:NoSchedule protected a b', 'edge:NoExecute free']);
  });

  it('that a pattern matches is protected once it is established', () => {
    const policies = { a: rule('Deny', { key: 'g*', restrict: ['Removal'] }) };
    expect(lines(nodeOf([GPU]), policies)).toEqual(['gpu=true:NoSchedule not-established a']);
    expect(lines(nodeOf([GPU]), policies, { recorded: 'gpu=true:NoSchedule' })).toEqual([
      'gpu=true:NoSchedule protected a',
    ]);
  });

  it('whose addition is restricted is shown as such, whether its removal is restricted or not', () => {
    const guard = { key: 'gpu', restrict: ['Removal', 'Addition'] } as const;
    const text = (spec: TaintPolicySpec) => {
      const explained = { ...explain(nodeOf([GPU]), { a: spec }), name: 'n1', problems: [], events: [] };
      const words = formatNode({ ...explained, writtenBy: undefined, notes: [] });
      return explanationText(words, { wide: false, colors: false, width: undefined });
    };
    expect(text(rule('Deny', { ...guard, restrict: ['Addition'] }))).toContain(
      'addition-restricted  every user may remove it; only users that a (Deny, spec.taints[0]) exempts may add it\n',
    );
    expect(text(rule('Deny', guard))).toContain(
      'protected  protected by a (Deny, spec.taints[0]); additions restricted by a (Deny, spec.taints[0])\n',
    );
  });

  describe('that is there only until the node is ready', () => {
    const { key, value, effect } = GPU;
    const AT_REGISTRATION = { key, value, effect, ensure: 'AtRegistration' } as const;
    const UNTIL_READY: TaintRule = {
      ...AT_REGISTRATION,
      ensure: 'UntilReady',
      readyWhen: { daemonSets: [{ namespace: 'gpu', name: 'driver' }] },
    };
    const reasons = (specs: Record<string, TaintPolicySpec>) => {
      const explained = { ...explain(nodeOf([GPU]), specs), name: 'n1', problems: [], events: [] };
      const { sections } = formatNode({ ...explained, writtenBy: undefined, notes: [] });
      return sections.flatMap((section) => ('rows' in section ? section.rows : [])).at(0);
    };

    it.each<{ why: string; specs: Record<string, TaintPolicySpec>; state: string; reason: string }>([
      {
        why: 'removed by the leader',
        specs: { a: rule('Restore', UNTIL_READY) },
        state: 'startup',
        reason: 'startup taint of a (Restore, spec.taints[0]), which waits for DaemonSets',
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
        reason: 'startup taint of b (Deny, spec.taints[0]), a (Restore, spec.taints[0]), which waits for DaemonSets',
      },
      {
        why: 'of a policy that only reports, and so set by another writer',
        specs: { a: rule('Audit', AT_REGISTRATION) },
        state: 'free',
        reason: 'no policy covers it',
      },
      {
        why: 'that another policy protects',
        specs: { a: rule('Restore', AT_REGISTRATION), b: rule('Deny', { key: 'gpu', restrict: ['Removal'] }) },
        state: 'protected',
        reason: 'protected by b (Deny, spec.taints[0])',
      },
      {
        why: 'whose addition is restricted',
        specs: { a: rule('Restore', { ...AT_REGISTRATION, restrict: ['Addition'] }) },
        state: 'startup',
        reason:
          'startup taint of a (Restore, spec.taints[0]), which taintkeeper does not remove; additions restricted by a (Restore, spec.taints[0])',
      },
    ])('is a startup taint, unless a policy protects it: $why', ({ specs, state, reason }) => {
      expect(reasons(specs)).toMatchObject(['gpu=true:NoSchedule', { text: state }, reason]);
    });
  });

  it('that is missing is put back, or there is a reason why not', () => {
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

  it('that was removed with permission is not missing', () => {
    const policies = { a: rule('Restore', PRESENT) };
    const removed = { removed: 'gpu=true:NoSchedule' };
    expect(lines(nodeOf([]), policies, removed)).toEqual(['gpu=true:NoSchedule removed a']);
    const explained = { ...explain(nodeOf([]), policies, removed), name: 'n1', problems: [], events: [] };
    expect(formatNode({ ...explained, writtenBy: undefined, notes: [] })).toMatchObject({
      isWell: true,
      sections: [
        {
          rows: [
            [
              'gpu=true:NoSchedule',
              { text: 'removed', level: 'attention' },
              'removed with permission, by a user that a exempts, or by annotation, as its NodeTaintRecord says',
            ],
          ],
        },
        {},
      ],
      next: {
        command: 'kubectl taint node n1 gpu=true:NoSchedule',
        note: 'sets it again; it stays off until a user sets it',
      },
    });
  });
});

it('is in mode Audit where taintkeeper runs with --audit, and nothing is restored', () => {
  const policies: TaintPolicy[] = [{ kind: 'TaintPolicy', name: 'a', spec: rule('Restore', PRESENT) }];
  const { audit, taints } = policiesOnNode(withRecorded(nodeOf([]), undefined), policies, { audit: true });
  expect({ audit, taints }).toMatchObject({
    audit: true,
    taints: [{ by: [{ mode: 'Audit' }], blockedBy: 'ModeDoesNotRestore' }],
  });
});

it('tells a missing taint from one that is there with another value', () => {
  const policies: TaintPolicy[] = [{ kind: 'TaintPolicy', name: 'a', spec: rule('Audit', PRESENT) }];
  const otherValue = (node: NodeView) =>
    policiesOnNode(withRecorded(node, undefined), policies).taints.find(({ state }) => state === 'missing')?.otherValue;
  expect(otherValue(nodeOf([]))).toBe(false);
  expect(otherValue(nodeOf([{ ...GPU, value: 'other' }]))).toBe(true);
});

it('says which policy the node may not leave', () => {
  const nodeSelector = { matchLabels: { pool: 'gpu' } };
  const found = explain(nodeOf([], { labels: { pool: 'gpu' } }), {
    a: rule('Deny', { key: 'gpu', restrict: ['Unselection'] }, { nodeSelector }),
    b: rule('Audit', { key: 'gpu', restrict: ['Unselection'] }, { nodeSelector }),
  });
  expect(found.policies.map(({ policy, refusesLeaving = false }) => [policy, refusesLeaving])).toEqual([
    ['a', true],
    ['b', false],
  ]);
});

it('says what of its selector keeps a policy from a node', () => {
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
  const RESTRICTED = { key: 'gpu', restrict: ['Removal', 'Addition'] } as const;
  const OLD = 'gpu=true:NoSchedule';
  const changed = nodeOf([{ ...GPU, value: 'other' }]);
  const reasonFor = (node: NodeView, specs: Record<string, TaintPolicySpec>, recorded?: Recorded) => {
    const words = formatNode({
      ...explain(node, specs, recorded),
      ...{ name: 'n1', writtenBy: undefined, problems: [], events: [], notes: [] },
    });
    const [table] = words.sections;
    const isMissing = (cell: Cell | undefined) =>
      typeof cell === 'object' && 'level' in cell && cell.text === 'missing';
    return table && 'rows' in table ? table.rows.flatMap(([, state, why]) => (isMissing(state) ? [why] : [])) : [];
  };

  it.each(['Restore', 'Deny'] as const)('can be changed back in mode %s once its removal is announced', (mode) => {
    expect(nextFor(changed, { a: rule(mode, RESTRICTED) }, { recorded: OLD })).toEqual({
      command:
        'kubectl annotate --overwrite node n1 taintkeeper.dev/allow-removal=gpu=other:NoSchedule && ' +
        'kubectl taint --overwrite node n1 gpu=true:NoSchedule',
      note: 'changes it back, in this order; to keep gpu=other:NoSchedule instead: kubectl delete nodetaintrecord n1',
    });
    expect(reasonFor(changed, { a: rule(mode, RESTRICTED) }, { recorded: OLD })).toEqual([
      `required by a (${mode}, spec.taints[0]); the node carries gpu=other:NoSchedule, which a (${mode}, spec.taints[0]) protects as well`,
    ]);
  });

  it.each([
    { allowRemoval: 'gpu=other:NoSchedule', announces: false },
    { allowRemoval: 'edge:NoExecute, gpu=other:NoSchedule', announces: false },
    { allowRemoval: 'edge:NoExecute', announces: true },
  ])('is announced once: $allowRemoval', ({ allowRemoval, announces }) => {
    const { command, note } = nextFor({ ...changed, allowRemoval }, { a: rule('Deny', RESTRICTED) }, { recorded: OLD });
    const taint = 'kubectl taint --overwrite node n1 gpu=true:NoSchedule';
    expect(command?.startsWith('kubectl annotate ')).toBe(announces);
    if (!announces) expect(command).toBe(taint);
    expect(note?.startsWith(announces ? 'changes it back, in this order; ' : 'changes it back; ')).toBe(true);
  });

  it('cannot be changed back where a policy allows no removal', () => {
    expect(
      nextFor(changed, { a: rule('Restore', RESTRICTED, { removalByAnnotation: 'Forbidden' }) }, { recorded: OLD }),
    ).toEqual({
      command: 'kubectl edit taintpolicy a',
      note: 'it protects gpu=other:NoSchedule and allows no removal (spec.removalByAnnotation: Forbidden)',
    });
  });

  it('can simply be overwritten where no policy protects the other value', () => {
    expect(nextFor(changed, { a: rule('Deny', { ...RESTRICTED, value: 'true' }) }, { recorded: OLD })).toEqual({
      command: 'kubectl taint --overwrite node n1 gpu=true:NoSchedule',
    });
  });

  it('as two policies require, which one wins and why', () => {
    const policies = {
      ml: rule('Restore', { ...PRESENT, value: 'ml' }),
      gpu: rule('Restore', PRESENT),
    };
    const node = nodeOf([{ ...GPU, value: 'ml' }]);
    expect(reasonFor(node, policies)).toEqual([
      'required by gpu (Restore, spec.taints[0]); the node carries gpu=ml:NoSchedule, which ml (Restore, spec.taints[0]) protects as well; ' +
        'a node that carries neither gets gpu=true:NoSchedule: both are in mode Restore, and gpu comes first by name',
    ]);
    expect(nextFor(node, policies)).toEqual({
      command: 'kubectl edit taintpolicy ml',
      note: 'gpu and ml require different values: choose one, or let one of the policies leave out this node',
    });
  });
});

describe('removals that are announced', () => {
  const linesOf = (allowRemoval: string, spec: TaintPolicySpec, announcedAt?: string) => {
    const { sections } = formatNode({
      ...explain(nodeOf([GPU, EDGE], { allowRemoval }), { a: spec }),
      ...{ name: 'n1', writtenBy: undefined, problems: [], events: [], notes: [] },
      ...(announcedAt === undefined ? {} : { announcedAt }),
    });
    return sections.flatMap((section) => ('lines' in section ? section.lines : []));
  };

  it('are listed with what each does, and until when', () => {
    const since = '2026-11-22T14:23:06Z';
    expect(
      linesOf(
        'gpu=true:NoSchedule, edge:NoExecute, rubbish',
        rule('Deny', { key: 'gpu', restrict: ['Removal'] }),
        since,
      ),
    ).toEqual([
      'annotation taintkeeper.dev/allow-removal, not used yet: gpu=true:NoSchedule may be removed once, ' +
        'edge:NoExecute names no taint of this node that a policy protects, rubbish cannot be read; ' +
        'written at 2026-11-22T14:23:06Z, the leader removes it at 2026-11-23T14:23:06Z',
    ]);
  });

  it('have no effect where a policy allows no removal', () => {
    expect(
      linesOf(
        'gpu:NoSchedule',
        rule('Deny', { key: 'gpu', restrict: ['Removal'] }, { removalByAnnotation: 'Forbidden' }),
      ),
    ).toEqual([
      'annotation taintkeeper.dev/allow-removal, not used yet: gpu:NoSchedule may not be removed: a policy allows no removal (spec.removalByAnnotation: Forbidden); ' +
        'the leader removes it 24 hours after it has first seen it',
    ]);
  });
});

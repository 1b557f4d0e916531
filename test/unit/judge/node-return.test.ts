import { describe, expect, it } from 'vitest';
import type { Phase } from '../../../src/judge/decision.ts';
import { judgeNode } from '../../../src/judge/node.ts';
import {
  MAX_RECORDED_POLICIES,
  type NodeRecord,
  owedTaints,
  type RecordedNode,
  recordOf,
  rememberOwed,
} from '../../../src/judge/node-return.ts';
import { STARTUP_STATES } from '../../../src/judge/startup-progress.ts';
import { type Machine, UNKNOWN_MACHINE } from '../../../src/kubernetes/machine.ts';
import { formatTaint, type Taint } from '../../../src/kubernetes/taint.ts';
import type { PolicySet } from '../../../src/policy/policy-set.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import { policySet } from '../policy/policies.ts';
import { withEstablished } from './established.ts';

const HOUR = 3_600_000;
const START = Date.parse('2026-11-22T12:00:00Z');
const DEDICATED: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const OTHER: Taint = { key: 'example.com/other', effect: 'NoExecute' };
const FREE: Taint = { key: 'free', effect: 'NoSchedule' };
const MACHINE = { systemUUID: 'EC2A6B1E-0001', providerID: 'aws:///a/i-1' };

const surviving = (more: Partial<TaintPolicySpec> = {}): TaintPolicySpec => ({
  mode: 'Restore',
  taints: [{ key: 'dedicated', restrict: ['Removal'] }],
  deletedNodeRetentionSeconds: 86_400,
  ...more,
});
const policies = (more: Partial<TaintPolicySpec> = {}) => policySet({ taint: { p: surviving(more) } });

interface Node {
  readonly uid?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  readonly remembered?: string;
  readonly allowRemoval?: string;
  readonly machine?: Machine;
}

function nodeOf({
  uid = 'first',
  labels = {},
  taints = [],
  remembered,
  allowRemoval,
  machine = MACHINE,
}: Node): RecordedNode {
  return withEstablished({ name: 'n1', uid, labels, taints, allowRemoval, remembered, machine });
}

const at = ({ taintPolicies }: PolicySet, now = START, forgets = true) => ({ policies: taintPolicies, now, forgets });
const texts = (taints: readonly Taint[] = []) => taints.map(formatTaint);
const owedTo = (record: NodeRecord | undefined, node: Node, set: PolicySet, now = START) =>
  record ? owedTaints(record, nodeOf(node), set.taintPolicies, now).map(({ taint }) => formatTaint(taint)) : [];

/** The record of a node that is deleted at {@link START}. */
function deleted(set: PolicySet, node: Node = { taints: [DEDICATED, FREE] }): NodeRecord | undefined {
  return recordOf(recordOf(undefined, nodeOf(node), at(set)), undefined, at(set));
}

function registers(set: PolicySet, record: NodeRecord | undefined, node: Node = {}, phase: Phase = 'mutate') {
  const view = nodeOf({ uid: 'second', ...node });
  const owed = record ? owedTaints(record, view, set.taintPolicies, START + 1_000) : [];
  const requester = { username: 'system:node:n1', groups: ['system:nodes'] };
  return judgeNode({ operation: 'CREATE', phase, requester, node: view, owed }, set);
}

describe('what is recorded of a node', () => {
  it.each<{ why: string; set?: PolicySet; before?: Node; node: Node; taints: string[] | undefined }>([
    {
      why: 'what a policy protects that says so',
      node: { taints: [FREE, DEDICATED] },
      taints: ['dedicated=gpu:NoSchedule'],
    },
    { why: 'nothing where nothing is protected', node: { taints: [FREE] }, taints: undefined },
    {
      why: 'what a policy without retention protects',
      set: policySet({ taint: { p: { mode: 'Deny', taints: [{ key: 'dedicated', restrict: ['Removal'] }] } } }),
      node: { taints: [FREE, DEDICATED] },
      taints: ['dedicated=gpu:NoSchedule'],
    },
    {
      why: 'nothing in mode Audit without retention',
      set: policySet({ taint: { p: { mode: 'Audit', taints: [{ key: 'dedicated', restrict: ['Removal'] }] } } }),
      node: { taints: [DEDICATED] },
      taints: undefined,
    },
    {
      why: 'nothing that a policy without retention requires itself',
      set: policySet({
        taint: {
          p: {
            mode: 'Restore',
            taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' }],
          },
        },
      }),
      node: { taints: [DEDICATED] },
      taints: undefined,
    },
    {
      why: 'only what a policy restricts, beside what it requires with a value',
      set: policySet({
        taint: {
          p: {
            mode: 'Restore',
            taints: [
              { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' },
              { key: 'free', restrict: ['Removal'] },
            ],
          },
        },
      }),
      node: { taints: [DEDICATED, FREE] },
      taints: ['free:NoSchedule'],
    },
    {
      why: 'nothing for a policy in mode Audit beside one that enforces',
      set: policySet({
        taint: {
          p: { mode: 'Audit', taints: [{ key: 'dedicated', restrict: ['Removal'] }] },
          q: { mode: 'Deny', taints: [{ key: 'free', restrict: ['Removal'] }] },
        },
      }),
      node: { taints: [DEDICATED, FREE] },
      taints: ['free:NoSchedule'],
    },
    {
      why: 'taints in the order of their keys and effects, as the node may list them in another order',
      set: policies({
        taints: [
          { key: 'dedicated', restrict: ['Removal'] },
          { key: OTHER.key, restrict: ['Removal'] },
        ],
      }),
      node: { taints: [OTHER, DEDICATED, { ...DEDICATED, effect: 'NoExecute' }] },
      taints: ['dedicated=gpu:NoExecute', 'dedicated=gpu:NoSchedule', 'example.com/other:NoExecute'],
    },
    {
      why: 'another value of a required taint without one',
      set: policySet({
        taint: { p: { mode: 'Restore', taints: [{ key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' }] } },
      }),
      node: { taints: [DEDICATED] },
      taints: ['dedicated=gpu:NoSchedule'],
    },
    {
      why: 'nothing of nodes that the policy is not for',
      set: policies({ nodeSelector: { matchLabels: { a: 'b' } } }),
      node: { taints: [DEDICATED] },
      taints: undefined,
    },
    {
      why: 'also what it was recorded to carry and lost without leave',
      before: { taints: [DEDICATED] },
      node: { remembered: 'dedicated=gpu:NoSchedule' },
      taints: ['dedicated=gpu:NoSchedule'],
    },
    {
      why: 'the value that it was recorded to carry, where it was changed without leave',
      before: { taints: [DEDICATED] },
      node: { taints: [{ ...DEDICATED, value: 'cpu' }], remembered: 'dedicated=gpu:NoSchedule' },
      taints: ['dedicated=gpu:NoSchedule'],
    },
    {
      why: 'the new value, where it was changed with leave',
      before: { taints: [DEDICATED] },
      node: { taints: [{ ...DEDICATED, value: 'cpu' }], remembered: 'dedicated=cpu:NoSchedule' },
      taints: ['dedicated=cpu:NoSchedule'],
    },
    {
      why: 'nothing that the annotation alone lists',
      node: { remembered: 'dedicated=gpu:NoSchedule' },
      taints: undefined,
    },
    {
      why: 'not what goes with leave',
      before: { taints: [DEDICATED] },
      node: { remembered: 'dedicated=gpu:NoSchedule', allowRemoval: 'dedicated:NoSchedule' },
      taints: undefined,
    },
    {
      why: 'by a wildcard only what has settled',
      set: policies({ taints: [{ key: '*', restrict: ['Removal'] }] }),
      node: { taints: [DEDICATED, FREE], remembered: 'free:NoSchedule' },
      taints: ['free:NoSchedule'],
    },
    {
      why: 'also in mode Audit',
      set: policies({ mode: 'Audit' }),
      node: { taints: [DEDICATED] },
      taints: ['dedicated=gpu:NoSchedule'],
    },
    {
      why: 'nothing that comes and goes by itself',
      set: policies({ taints: [{ key: 'node.kubernetes.io/unreachable', restrict: ['Removal'] }] }),
      node: { taints: [{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }] },
      taints: undefined,
    },
  ])('$why', ({ set = policies(), before, node, taints }) => {
    const known = before && recordOf(undefined, nodeOf(before), at(set));
    const record = recordOf(known, nodeOf(node), at(set));
    expect(record && texts(record.taints)).toEqual(taints);
  });

  it('changes with the node, and goes with its last taint', () => {
    const set = policies({
      taints: [
        { key: 'dedicated', restrict: ['Removal'] },
        { key: OTHER.key, restrict: ['Removal'] },
      ],
    });
    const first = recordOf(undefined, nodeOf({ taints: [DEDICATED] }), at(set));
    const more = recordOf(first, nodeOf({ taints: [DEDICATED, OTHER] }), at(set));
    expect(texts(more?.taints)).toEqual(['dedicated=gpu:NoSchedule', 'example.com/other:NoExecute']);
    expect(recordOf(more, nodeOf({}), at(set))).toBeUndefined();
  });

  it('says when the node was deleted: when that was seen first', () => {
    const record = deleted(policies());
    expect(record?.deletedAt).toBe(START);
    expect(recordOf(record, undefined, at(policies(), START + HOUR))?.deletedAt).toBe(START);
  });

  it('names the policies by which a taint was recorded, also once the node is deleted and they are replaced', () => {
    const selecting = (label: string) => surviving({ nodeSelector: { matchLabels: { [label]: 'x' } } });
    const set = policySet({ taint: { p: selecting('p'), q: selecting('q') } });
    const record = deleted(set, { labels: { p: 'x' }, taints: [DEDICATED] });
    expect(record?.taints).toEqual([{ ...DEDICATED, policies: ['p'] }]);
    const renamed = policySet({ taint: { q: selecting('q'), r: selecting('p') } });
    expect(recordOf(record, undefined, at(renamed))?.taints).toEqual([{ ...DEDICATED, policies: ['q', 'r'] }]);
  });

  it('names the policies in alphabetical order, and as many as the record may have', () => {
    const names = Array.from({ length: MAX_RECORDED_POLICIES + 1 }, (_, index) => `p${String(index).padStart(2, '0')}`);
    const set = policySet({ taint: Object.fromEntries(names.toReversed().map((name) => [name, surviving()])) });
    const { taintPolicies } = set;
    const record = recordOf(undefined, nodeOf({ taints: [DEDICATED] }), {
      ...at(set),
      policies: taintPolicies.toReversed(),
    });
    expect(record?.taints).toEqual([{ ...DEDICATED, policies: names.slice(0, MAX_RECORDED_POLICIES) }]);
  });

  it.each<{ why: string; aheadMs: number; deletedAt: number }>([
    { why: 'as far ahead as clocks may be', aheadMs: 300_000, deletedAt: START + 300_000 },
    { why: 'farther ahead', aheadMs: 300_001, deletedAt: START },
  ])('takes the time of a deletion from the record, or the present if that is too far ahead: $why', (one) => {
    const record = { ...(deleted(policies()) as NodeRecord), deletedAt: START + one.aheadMs };
    expect(recordOf(record, undefined, at(policies()))?.deletedAt).toBe(one.deletedAt);
  });

  it('drops a taint that no policy protects once its value changes, or once policies are known to be complete', () => {
    const living = recordOf(undefined, nodeOf({ taints: [DEDICATED] }), at(policies()));
    const changed = nodeOf({ taints: [{ ...DEDICATED, value: 'cpu' }] });
    expect(recordOf(living, changed, at(policySet({}), START, false))).toBeUndefined();
    expect(recordOf(living, nodeOf({ taints: [DEDICATED] }), at(policySet({})))).toBeUndefined();
  });

  it('forgets completed startup taints that no policy requires, and only once policies are known to be complete', () => {
    const startup = STARTUP_STATES.map((state) => ({
      ...{ key: `start.example.com/${state.toLowerCase()}`, effect: 'NoSchedule', state },
      ...{ policies: ['p'], since: START },
    }));
    const before: NodeRecord = { uid: 'first', machine: MACHINE, taints: [], startup };
    expect(recordOf(before, nodeOf({}), at(policySet({}), START, false))).toEqual(before);
    const after = recordOf(before, nodeOf({}), at(policySet({})));
    expect(after?.startup?.map(({ state }) => state)).toEqual(['Waiting', 'Ready']);
  });

  it('counts a deletion in the future from now', () => {
    const record = { ...(deleted(policies()) as NodeRecord), deletedAt: START + HOUR };
    expect(recordOf(record, undefined, at(policies()))?.deletedAt).toBe(START);
  });

  it('is forgotten when the retention is over, or the policy says it no more', () => {
    const record = deleted(policies());
    expect(recordOf(record, undefined, at(policies(), START + 24 * HOUR - 1))).toEqual(record);
    expect(recordOf(record, undefined, at(policies(), START + 24 * HOUR))).toBeUndefined();
    expect(recordOf(record, undefined, at(policySet({})))).toBeUndefined();
    expect(recordOf(record, undefined, at(policySet({}), START, false))).toEqual(record);
    // A policy that is replaced is no reason to write the records of all nodes twice.
    const living = recordOf(undefined, nodeOf({ taints: [DEDICATED] }), at(policies()));
    expect(recordOf(living, nodeOf({ taints: [DEDICATED] }), at(policySet({}), START, false))).toEqual(living);
    expect(recordOf(living, nodeOf({}), at(policySet({}), START, false))).toBeUndefined();
  });
});

describe('a node that registers anew', () => {
  it.each<{ why: string; after: number; taints: string[] }>([
    { why: 'a second later', after: 1_000, taints: ['dedicated=gpu:NoSchedule'] },
    { why: 'an hour later', after: HOUR, taints: ['dedicated=gpu:NoSchedule'] },
    { why: 'just within the retention', after: 24 * HOUR - 1, taints: ['dedicated=gpu:NoSchedule'] },
    { why: 'when the retention is over', after: 24 * HOUR, taints: [] },
  ])('is owed what it carried, $why: $taints', ({ after, taints }) => {
    expect(owedTo(deleted(policies()), { uid: 'second' }, policies(), START + after)).toEqual(taints);
  });

  it('is owed it before anybody has seen that it was deleted', () => {
    const living = recordOf(undefined, nodeOf({ taints: [DEDICATED] }), at(policies()));
    expect(owedTo(living, { uid: 'second' }, policies(), START + 100 * HOUR)).toEqual(['dedicated=gpu:NoSchedule']);
    // Then a kubelet may as well have started again beside its Node: there is nothing to report.
    expect(owedTo(living, { uid: 'second' }, policies({ mode: 'Audit' }))).toEqual([]);
  });

  it.each<{ why: string; machine: Machine; same: boolean }>([
    { why: 'the same in other letters', machine: { systemUUID: 'ec2a6b1e-0001', providerID: '' }, same: true },
    { why: 'another systemUUID', machine: { systemUUID: 'EC2A6B1E-0002', providerID: 'aws:///a/i-1' }, same: false },
    { why: 'another providerID', machine: { ...MACHINE, providerID: 'aws:///a/i-2' }, same: false },
    { why: 'no providerID yet', machine: { systemUUID: MACHINE.systemUUID, providerID: '' }, same: true },
    { why: 'nothing known: the name counts', machine: UNKNOWN_MACHINE, same: true },
  ])('on a machine with $why', ({ machine, same }) => {
    const node: Node = { uid: 'second', machine };
    const taints = ['dedicated=gpu:NoSchedule'];
    expect(owedTo(deleted(policies()), node, policies())).toEqual(same ? taints : []);
  });

  it('gets it, and remembers it, whatever stands before it in its list', () => {
    const decision = registers(policies(), deleted(policies()), { taints: [FREE] });
    expect(decision).toMatchObject({
      verdict: 'patch',
      desired: { taints: [FREE, { ...DEDICATED }], remembered: 'dedicated=gpu:NoSchedule' },
      violations: [{ policy: 'p', field: 'spec.taints[0]', outcome: 'returned', subject: 'dedicated=gpu:NoSchedule' }],
      warnings: ['TaintPolicy p gave back taint dedicated=gpu:NoSchedule'],
      auditAnnotations: { returned: 'p: dedicated=gpu:NoSchedule' },
    });
    expect(registers(policies(), deleted(policies()), { taints: [DEDICATED] }, 'validate').violations).toEqual([]);
    expect(registers(policies(), deleted(policies()), {}, 'validate').violations).toMatchObject([
      { outcome: 'missing' },
    ]);
  });

  it('keeps another value that it brings itself', () => {
    const decision = registers(policies(), deleted(policies()), { taints: [{ ...DEDICATED, value: 'cpu' }] });
    expect(decision).toMatchObject({ desired: { remembered: 'dedicated=cpu:NoSchedule' }, violations: [] });
  });

  it('gets by a wildcard what had settled, which counts as settled at once', () => {
    const wild = policies({ taints: [{ key: '*', restrict: ['Removal'] }] });
    const record = deleted(wild, { taints: [DEDICATED, FREE], remembered: 'dedicated=gpu:NoSchedule' });
    expect(registers(wild, record, { taints: [FREE] })).toMatchObject({
      desired: { taints: [FREE, DEDICATED], remembered: 'dedicated=gpu:NoSchedule' },
    });
  });

  it.each<{ why: string; value?: string; carries: string; outcome: string }>([
    { why: 'its value where the policy names none', carries: 'gpu', outcome: 'added' },
    { why: "the policy's value", value: 'cpu', carries: 'cpu', outcome: 'added' },
  ])('gets a required taint with $why, and it is said once', ({ value, carries, outcome }) => {
    const rule = { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always', ...(value ? { value } : {}) } as const;
    const set = policies({ taints: [rule, { key: 'dedicated', restrict: ['Removal'] }] });
    const decision = registers(set, deleted(policies()));
    expect(decision).toMatchObject({ desired: { taints: [{ ...DEDICATED, value: carries }] } });
    expect(decision.violations.map((violation) => violation.outcome)).toEqual([outcome]);
  });

  it('in mode Audit is only reported', () => {
    const audit = policies({ mode: 'Audit' });
    expect(registers(audit, deleted(audit))).toMatchObject({ verdict: 'allow', violations: [] });
    expect(registers(audit, deleted(audit), {}, 'validate')).toMatchObject({
      verdict: 'allow',
      violations: [{ policy: 'p', mode: 'Audit', outcome: 'audited' }],
      warnings: ['TaintPolicy p, Audit: the node lacks taint dedicated=gpu:NoSchedule'],
    });
  });
});

describe('a node that came back while nobody was asked', () => {
  const labelled = policies({ nodeSelector: { matchLabels: { pool: 'gpu' } } });
  const gpu = { pool: 'gpu' };

  it('is owed what it lacks, also where the label comes later, until it has it', () => {
    const record = deleted(labelled, { labels: gpu, taints: [DEDICATED] });
    const back = recordOf(record, nodeOf({ uid: 'second' }), at(labelled, START + HOUR));
    expect(back?.taints).toMatchObject([{ ...DEDICATED, policies: ['p'], missingSince: START }]);
    expect(owedTo(back, { uid: 'second' }, labelled)).toEqual([]);
    expect(owedTo(back, { uid: 'second', labels: gpu }, labelled, START + HOUR)).toEqual(['dedicated=gpu:NoSchedule']);
    const carrying = nodeOf({ uid: 'second', labels: gpu, taints: [DEDICATED] });
    const paid = recordOf(back, carrying, at(labelled, START + HOUR));
    expect(texts(paid?.taints)).toEqual(['dedicated=gpu:NoSchedule']);
    expect(paid?.taints.map(({ missingSince }) => missingSince)).toEqual([undefined]);
    expect(paid?.deletedAt).toBeUndefined();
  });

  it('is owed nothing more when the retention is over, nor on another machine', () => {
    const record = deleted(policies());
    const back = recordOf(record, nodeOf({ uid: 'second' }), at(policies(), START + HOUR));
    expect(recordOf(back, nodeOf({ uid: 'second' }), at(policies(), START + 24 * HOUR))).toBeUndefined();
    const other = nodeOf({ uid: 'second', machine: { systemUUID: 'other', providerID: '' } });
    expect(recordOf(record, other, at(policies(), START + HOUR))).toBeUndefined();
  });

  it('that is deleted once more is owed both: what it was owed and what it carried', () => {
    const set = policies({
      taints: [
        { key: 'dedicated', restrict: ['Removal'] },
        { key: OTHER.key, restrict: ['Removal'] },
      ],
    });
    const back = recordOf(deleted(set), nodeOf({ uid: 'second', taints: [OTHER] }), at(set, START + HOUR));
    const again = recordOf(back, undefined, at(set, START + 2 * HOUR));
    expect(texts(again?.taints).sort()).toEqual(['dedicated=gpu:NoSchedule', 'example.com/other:NoExecute']);
    expect(again?.taints.map(({ missingSince }) => missingSince)).toEqual([undefined, undefined]);
    expect(again?.deletedAt).toBe(START + 2 * HOUR);
  });

  it('remembers what it is owed, but by policies that only watch', () => {
    const node = nodeOf({ uid: 'second', remembered: 'free:NoSchedule' });
    const owed = owedTaints(deleted(policies()) as NodeRecord, node, policies().taintPolicies, START);
    expect(rememberOwed(node, owed)).toBe('free:NoSchedule, dedicated=gpu:NoSchedule');
    const audit = policies({ mode: 'Audit' });
    expect(rememberOwed(node, owedTaints(deleted(audit) as NodeRecord, node, audit.taintPolicies, START))).toBe(
      'free:NoSchedule',
    );
  });
});

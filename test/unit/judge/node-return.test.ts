import { describe, expect, it } from 'vitest';
import type { Phase } from '../../../src/judge/decision.ts';
import type { NodeRecord } from '../../../src/judge/node-record.ts';
import { retainedTaints } from '../../../src/judge/node-return.ts';
import { nextRecord } from '../../../src/judge/record-keeping.ts';
import { type Machine, UNKNOWN_MACHINE } from '../../../src/kubernetes/machine.ts';
import { formatTaint } from '../../../src/kubernetes/taint.ts';
import type { PolicySet } from '../../../src/policy/policy-set.ts';
import type { TaintMode, TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import { policySet } from '../policy/policies.ts';
import { judgeNode } from './judge-node.ts';
import {
  at,
  DEDICATED,
  deleted,
  FREE,
  HOUR,
  MACHINE,
  type Node,
  nodeOf,
  OTHER,
  policies,
  START,
  surviving,
  texts,
} from './recorded-nodes.ts';

const retainedFor = (record: NodeRecord | undefined, node: Node, set: PolicySet, now = START) =>
  record ? retainedTaints(record, nodeOf(node), set.taintPolicies, now).map(({ taint }) => formatTaint(taint)) : [];

const WITHOUT: TaintPolicySpec = { mode: 'Restore', taints: [{ key: 'dedicated', restrict: ['Removal'] }] };

function registers(set: PolicySet, record: NodeRecord | undefined, node: Node = {}, phase: Phase = 'mutate') {
  const view = nodeOf({ uid: 'second', ...node });
  const retained = record ? retainedTaints(record, view, set.taintPolicies, START + 1_000) : [];
  const requester = { username: 'system:node:n1', groups: ['system:nodes'] };
  return judgeNode({ phase, requester, node: view, retained }, set);
}

describe('a node that registers anew', () => {
  it.each<{ why: string; after: number; taints: string[] }>([
    { why: 'a second later', after: 1_000, taints: ['dedicated=gpu:NoSchedule'] },
    { why: 'an hour later', after: HOUR, taints: ['dedicated=gpu:NoSchedule'] },
    { why: 'just within the retention', after: 24 * HOUR - 1, taints: ['dedicated=gpu:NoSchedule'] },
    { why: 'when the retention is over', after: 24 * HOUR, taints: [] },
  ])('gets what it carried, $why: $taints', ({ after, taints }) => {
    expect(retainedFor(deleted(policies()), { uid: 'second' }, policies(), START + after)).toEqual(taints);
  });

  it('gets it before the leader has recorded that the node was deleted', () => {
    const living = nextRecord(undefined, nodeOf({ taints: [DEDICATED] }), at(policies()));
    expect(retainedFor(living, { uid: 'second' }, policies(), START + 100 * HOUR)).toEqual([
      'dedicated=gpu:NoSchedule',
    ]);
    // Then a kubelet may as well have started again beside its Node: there is nothing to report.
    expect(retainedFor(living, { uid: 'second' }, policies({ mode: 'Audit' }))).toEqual([]);
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
    expect(retainedFor(deleted(policies()), node, policies())).toEqual(same ? taints : []);
  });

  it('gets it, whatever stands before it in its list', () => {
    const decision = registers(policies(), deleted(policies()), { taints: [FREE] });
    expect(decision).toMatchObject({
      action: 'patch',
      desired: { taints: [FREE, DEDICATED] },
      violations: [{ policy: 'p', field: 'spec.taints[0]', outcome: 'returned', subject: 'dedicated=gpu:NoSchedule' }],
      warnings: ['TaintPolicy p restored taint dedicated=gpu:NoSchedule of the deleted node'],
      auditAnnotations: { returned: 'p: dedicated=gpu:NoSchedule' },
    });
    expect(registers(policies(), deleted(policies()), { taints: [DEDICATED] }, 'validate').violations).toEqual([]);
    expect(registers(policies(), deleted(policies()), {}, 'validate').violations).toMatchObject([
      { outcome: 'missing' },
    ]);
  });

  it('keeps another value that it brings itself', () => {
    const decision = registers(policies(), deleted(policies()), { taints: [{ ...DEDICATED, value: 'cpu' }] });
    expect(decision).toMatchObject({ action: 'allow', violations: [] });
  });

  it('gets by a pattern what was established, which counts as established at once', () => {
    const wild = policies({ taints: [{ key: '*', restrict: ['Removal'] }] });
    const record = deleted(wild, { taints: [DEDICATED, FREE], established: 'dedicated=gpu:NoSchedule' });
    expect(registers(wild, record, { taints: [FREE] })).toMatchObject({
      desired: { taints: [FREE, DEDICATED] },
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

  it('gets it beside a required taint', () => {
    const set = policies({
      taints: [
        { key: 'dedicated', restrict: ['Removal'] },
        { key: OTHER.key, effect: 'NoExecute', ensure: 'Always' },
      ],
    });
    const decision = registers(set, deleted(policies()));
    expect(decision).toMatchObject({ desired: { taints: [OTHER, DEDICATED] } });
    expect(decision.violations.map(({ outcome }) => outcome)).toEqual(['added', 'returned']);
  });

  describe('beside another policy that requires the taint, with any value,', () => {
    const requiring = { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' } as const;
    const both = (retains: TaintMode, requires: TaintMode) =>
      policySet({
        taint: { retains: surviving({ mode: retains }), requires: { mode: requires, taints: [requiring] } },
      });
    const reported = ({ violations }: ReturnType<typeof registers>) =>
      violations.map(({ policy, outcome, subject }) => `${policy} ${outcome} ${subject}`);

    it('gets the value that it carried, and it is said once', () => {
      const set = both('Restore', 'Restore');
      const decision = registers(set, deleted(set));
      expect(decision).toMatchObject({ desired: { taints: [DEDICATED] } });
      expect(reported(decision)).toEqual(['requires added dedicated=gpu:NoSchedule']);
    });

    it('gets it back where that policy only audits', () => {
      const set = both('Restore', 'Audit');
      const decision = registers(set, deleted(set));
      expect(decision).toMatchObject({ desired: { taints: [DEDICATED] } });
      expect(reported(decision)).toEqual(['retains returned dedicated=gpu:NoSchedule']);
    });

    it('gets no value from a policy that only audits', () => {
      const set = both('Audit', 'Restore');
      expect(registers(set, deleted(set))).toMatchObject({
        desired: { taints: [{ key: 'dedicated', effect: 'NoSchedule' }] },
        warnings: ['TaintPolicy requires added taint dedicated:NoSchedule'],
      });
    });
  });

  it('in mode Audit is reported once where the policy requires the taint as well', () => {
    const set = policies({
      mode: 'Audit',
      taints: [
        { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' },
        { key: 'dedicated', restrict: ['Removal'] },
      ],
    });
    expect(registers(set, deleted(set), {}, 'validate').warnings).toEqual([
      'TaintPolicy p, Audit: the node lacks taint dedicated:NoSchedule',
    ]);
  });

  it('in mode Audit is only reported', () => {
    const audit = policies({ mode: 'Audit' });
    expect(registers(audit, deleted(audit))).toMatchObject({ action: 'allow', violations: [] });
    expect(registers(audit, deleted(audit), {}, 'validate')).toMatchObject({
      action: 'allow',
      violations: [{ policy: 'p', mode: 'Audit', outcome: 'audited' }],
      warnings: ['TaintPolicy p, Audit: the node lacks taint dedicated=gpu:NoSchedule'],
    });
  });
});

describe('a node that came back while the webhook was not called', () => {
  const labelled = policies({ nodeSelector: { matchLabels: { pool: 'gpu' } } });
  const gpu = { pool: 'gpu' };

  it('gets what it lacks, also where the label comes later, until it has it', () => {
    const record = deleted(labelled, { labels: gpu, taints: [DEDICATED] });
    const back = nextRecord(record, nodeOf({ uid: 'second' }), at(labelled, START + HOUR));
    expect(back?.taints).toMatchObject([{ ...DEDICATED, policies: ['p'], earlierDeletedAt: START }]);
    expect(retainedFor(back, { uid: 'second' }, labelled)).toEqual([]);
    expect(retainedFor(back, { uid: 'second', labels: gpu }, labelled, START + HOUR)).toEqual([
      'dedicated=gpu:NoSchedule',
    ]);
    const carrying = nodeOf({ uid: 'second', labels: gpu, taints: [DEDICATED] });
    const paid = nextRecord(back, carrying, at(labelled, START + HOUR));
    expect(texts(paid?.taints)).toEqual(['dedicated=gpu:NoSchedule']);
    expect(paid?.taints.map(({ earlierDeletedAt }) => earlierDeletedAt)).toEqual([undefined]);
    expect(paid?.deletedAt).toBeUndefined();
  });

  it('gets nothing more when the retention is over, nor on another machine', () => {
    const record = deleted(policies());
    const back = nextRecord(record, nodeOf({ uid: 'second' }), at(policies(), START + HOUR));
    expect(nextRecord(back, nodeOf({ uid: 'second' }), at(policies(), START + 24 * HOUR))).toBeUndefined();
    const other = nodeOf({ uid: 'second', machine: { systemUUID: 'other', providerID: '' } });
    expect(nextRecord(record, other, at(policies(), START + HOUR))).toBeUndefined();
  });

  it('gets nothing more once the removal is announced', () => {
    const again = nodeOf({ uid: 'second', allowRemoval: 'dedicated=gpu:NoSchedule' });
    const back = nextRecord(deleted(policies()), nodeOf({ uid: 'second' }), at(policies()));
    expect(texts(back?.taints)).toEqual(['dedicated=gpu:NoSchedule']);
    expect(nextRecord(back, again, at(policies()))).toBeUndefined();
    expect(nextRecord(deleted(policies()), again, at(policies()))).toBeUndefined();
  });

  it('that is deleted once more gets both: what was retained and what it carried', () => {
    const set = policies({
      taints: [
        { key: 'dedicated', restrict: ['Removal'] },
        { key: OTHER.key, restrict: ['Removal'] },
      ],
    });
    const back = nextRecord(deleted(set), nodeOf({ uid: 'second', taints: [OTHER] }), at(set, START + HOUR));
    const again = nextRecord(back, undefined, at(set, START + 2 * HOUR));
    expect(texts(again?.taints).sort()).toEqual(['dedicated=gpu:NoSchedule', 'example.com/other:NoExecute']);
    expect(again?.taints.map(({ earlierDeletedAt }) => earlierDeletedAt)).toEqual([undefined, undefined]);
    expect(again?.deletedAt).toBe(START + 2 * HOUR);
  });
});

describe('a node that registers again does not get back', () => {
  it('a taint that was removed with permission', () => {
    const record = deleted(policies());
    if (!record) throw new Error('no record');
    const removed = { ...record, taints: record.taints.map((taint) => ({ ...taint, removedAt: START })) };
    expect(retainedFor(record, { uid: 'second' }, policies())).toHaveLength(1);
    expect(retainedFor(removed, { uid: 'second' }, policies())).toEqual([]);
  });

  it('a taint that a policy without retention protects', () => {
    expect(retainedFor(deleted(policies()), { uid: 'second' }, policySet({ taint: { p: WITHOUT } }))).toEqual([]);
  });

  it('a taint that the policy with retention does not protect any more', () => {
    const another = policies({ taints: [{ key: OTHER.key, restrict: ['Removal'] }] });
    expect(retainedFor(deleted(policies()), { uid: 'second' }, another)).toEqual([]);
  });
});

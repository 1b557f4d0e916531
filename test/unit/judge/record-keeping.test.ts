import { describe, expect, it } from 'vitest';
import {
  MAX_KEPT_TAINTS,
  MAX_RECORDED_POLICIES,
  MAX_RECORDED_TAINTS,
  type NodeRecord,
  type RecordedTaint,
  STARTUP_STATES,
} from '../../../src/judge/node-record.ts';
import { FORGET_LOST_MS, nextRecord, recordsTaints } from '../../../src/judge/record-keeping.ts';
import { formatTaint, type Taint } from '../../../src/kubernetes/taint.ts';
import type { PolicySet } from '../../../src/policy/policy-set.ts';
import type { TaintMode, TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../src/policy/taint-rule.ts';
import { policySet } from '../policy/policies.ts';
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

const GPU = 'dedicated=gpu:NoSchedule';
const CPU: Taint = { ...DEDICATED, value: 'cpu' };
const PROTECTED: TaintRule = { key: 'dedicated', restrict: ['Removal'] };
const REQUIRED: TaintRule = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' };
const Forbidden = { removalByAnnotation: 'Forbidden' } as const;

const setOf = (rule: TaintRule, more: Partial<TaintPolicySpec> = {}) =>
  policySet({ taint: { p: { mode: 'Restore', taints: [rule], ...more } } });

/** What a record lists, and how. */
const listed = (record: NodeRecord | undefined) =>
  (record?.taints ?? []).map((taint) => `${formatTaint(taint)}${taint.removedAt === undefined ? '' : ' removed'}`);

/** The record after the node was seen in each of these states, one after the other. */
const recordAfter = (set: PolicySet, ...nodes: readonly Node[]) =>
  nodes.reduce<NodeRecord | undefined>((record, node) => nextRecord(record, nodeOf(node), at(set)), undefined);

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
      why: 'nothing where the node carries a required taint without a value, and the policy takes any',
      set: policySet({
        taint: { p: { mode: 'Restore', taints: [{ key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' }] } },
      }),
      node: { taints: [{ key: 'dedicated', effect: 'NoSchedule' }] },
      taints: undefined,
    },
    {
      why: 'nothing of nodes that the policy is not for',
      set: policies({ nodeSelector: { matchLabels: { a: 'b' } } }),
      node: { taints: [DEDICATED] },
      taints: undefined,
    },
    {
      why: 'also what it was recorded to carry and has lost',
      before: { taints: [DEDICATED] },
      node: {},
      taints: ['dedicated=gpu:NoSchedule'],
    },
    {
      why: 'the value that it was recorded to carry, where it was changed without permission',
      before: { taints: [DEDICATED] },
      node: { taints: [{ ...DEDICATED, value: 'cpu' }] },
      taints: ['dedicated=gpu:NoSchedule'],
    },
    {
      why: 'the new value, where it was changed with permission',
      before: { taints: [DEDICATED] },
      node: { taints: [{ ...DEDICATED, value: 'cpu' }], allowRemoval: 'dedicated=gpu:NoSchedule' },
      taints: ['dedicated=cpu:NoSchedule'],
    },
    {
      why: 'by a pattern only what is established',
      set: policies({ taints: [{ key: '*', restrict: ['Removal'] }] }),
      node: { taints: [DEDICATED, FREE], established: 'free:NoSchedule' },
      taints: ['free:NoSchedule'],
    },
    {
      why: 'by its key at once, beside a pattern that does not match it',
      set: policies({
        taints: [
          { key: 'example.com/*', restrict: ['Removal'] },
          { key: 'free', restrict: ['Removal'] },
        ],
      }),
      node: { taints: [FREE] },
      taints: ['free:NoSchedule'],
    },
    {
      why: 'with retention also what the policy declares',
      set: policies({ taints: [REQUIRED] }),
      node: { taints: [DEDICATED] },
      taints: ['dedicated=gpu:NoSchedule'],
    },
    {
      why: 'also in mode Audit',
      set: policies({ mode: 'Audit' }),
      node: { taints: [DEDICATED] },
      taints: ['dedicated=gpu:NoSchedule'],
    },
    {
      why: 'no taint that Kubernetes sets and removes, though a policy names its key',
      set: policies({ taints: [{ key: 'node.kubernetes.io/unreachable', restrict: ['Removal'] }] }),
      node: { taints: [{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }] },
      taints: undefined,
    },
  ])('$why', ({ set = policies(), before, node, taints }) => {
    const known = before && nextRecord(undefined, nodeOf(before), at(set));
    const record = nextRecord(known, nodeOf(node), at(set));
    expect(record && texts(record.taints)).toEqual(taints);
  });

  it('changes with the node, and goes with its last taint', () => {
    const set = policies({
      taints: [
        { key: 'dedicated', restrict: ['Removal'] },
        { key: OTHER.key, restrict: ['Removal'] },
      ],
    });
    const first = nextRecord(undefined, nodeOf({ taints: [DEDICATED] }), at(set));
    const more = nextRecord(first, nodeOf({ taints: [DEDICATED, OTHER] }), at(set));
    expect(texts(more?.taints)).toEqual(['dedicated=gpu:NoSchedule', 'example.com/other:NoExecute']);
    const announced = { allowRemoval: `${texts([DEDICATED, OTHER]).join(', ')}` };
    expect(nextRecord(more, nodeOf(announced), at(set))).toBeUndefined();
  });

  it('keeps the machine that the Node first had, and takes what was not known of it', () => {
    const machineOf = (systemUUID: string) => ({ systemUUID, providerID: '' });
    const set = policies();
    const before = nextRecord(undefined, nodeOf({ taints: [DEDICATED], machine: machineOf('a') }), at(set));
    const forged = nextRecord(before, nodeOf({ taints: [DEDICATED], machine: machineOf('b') }), at(set));
    expect(forged).toEqual(before);
    const more = nodeOf({ taints: [DEDICATED], machine: { ...machineOf('b'), providerID: 'cloud:///1' } });
    const provided = nextRecord(forged, more, at(set));
    expect(provided?.machine).toEqual({ systemUUID: 'a', providerID: 'cloud:///1' });
    expect(nextRecord(provided, { ...more, uid: 'next' }, at(set))?.machine).toEqual(more.machine);
  });

  it('says when the node was deleted: when that was seen first', () => {
    const record = deleted(policies());
    expect(record?.deletedAt).toBe(START);
    expect(nextRecord(record, undefined, at(policies(), START + HOUR))?.deletedAt).toBe(START);
  });

  it('names the policies by which a taint was recorded, also once the node is deleted and they are replaced', () => {
    const selecting = (label: string) => surviving({ nodeSelector: { matchLabels: { [label]: 'x' } } });
    const set = policySet({ taint: { p: selecting('p'), q: selecting('q') } });
    const record = deleted(set, { labels: { p: 'x' }, taints: [DEDICATED] });
    expect(record?.taints).toEqual([{ ...DEDICATED, policies: ['p'] }]);
    const renamed = policySet({ taint: { q: selecting('q'), r: selecting('p') } });
    expect(nextRecord(record, undefined, at(renamed))?.taints).toEqual([{ ...DEDICATED, policies: ['q', 'r'] }]);
  });

  it('names the policies in alphabetical order, and as many as the record may have', () => {
    const names = Array.from({ length: MAX_RECORDED_POLICIES + 1 }, (_, index) => `p${String(index).padStart(2, '0')}`);
    const set = policySet({ taint: Object.fromEntries(names.toReversed().map((name) => [name, surviving()])) });
    const { taintPolicies } = set;
    const record = nextRecord(undefined, nodeOf({ taints: [DEDICATED] }), {
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
    expect(nextRecord(record, undefined, at(policies()))?.deletedAt).toBe(one.deletedAt);
  });

  it('forgets completed startup taints that no policy requires, and only once policies are known to be complete', () => {
    const startup = STARTUP_STATES.map((state) => ({
      ...{ key: `start.example.com/${state.toLowerCase()}`, effect: 'NoSchedule', state },
      ...{ policies: ['p'], since: START },
    }));
    const before: NodeRecord = { uid: 'first', machine: MACHINE, taints: [], startup };
    expect(nextRecord(before, nodeOf({}), at(policySet({}), START, 0))).toEqual(before);
    const later = nextRecord(before, nodeOf({}), at(policySet({})));
    expect(later?.startup?.map(({ state }) => state)).toEqual(['Waiting', 'Ready']);
    const readyWhen = { daemonSets: [{ namespace: 'kube-system', name: 'cni' }] };
    const untilReady = (state: string): TaintRule => ({
      ...{ key: `start.example.com/${state}`, effect: 'NoSchedule', ensure: 'UntilReady', readyWhen },
    });
    const set = policySet({
      taint: { p: { mode: 'Restore', taints: ['another', 'removed'].map(untilReady) }, q: surviving() },
    });
    const required = nextRecord(before, nodeOf({}), at(set));
    expect(required?.startup?.map(({ state }) => state)).toEqual(['Waiting', 'Ready', 'Removed']);
  });

  it('stays while its policy is replaced, whichever other policy protects its taints, and for ten seconds only', () => {
    const other: TaintPolicySpec = { mode: 'Deny', taints: [{ key: 'dedicated', restrict: ['Removal'] }] };
    const record = deleted(policySet({ taint: { p: surviving(), q: other } }));
    const left = policySet({ taint: { q: other } });
    expect(nextRecord(record, undefined, at(left, START, 0))?.taints).toHaveLength(1);
    expect(nextRecord(record, undefined, at(left, START, 9_999))?.taints).toHaveLength(1);
    expect(nextRecord(record, undefined, at(left, START, 10_000))).toBeUndefined();
    // What no policy protects is kept for an hour.
    expect(nextRecord(record, undefined, at(policySet({}), START, HOUR - 1))).toEqual(record);
    // Neither another machine of the name, nor a Node that is deleted just now, has a retention that could be lost.
    const elsewhere = nodeOf({ uid: 'second', machine: { systemUUID: 'EC2A6B1E-0002', providerID: 'aws:///a/i-2' } });
    expect(nextRecord(record, elsewhere, at(left, START, 0))).toBeUndefined();
    const living = nextRecord(undefined, nodeOf({ taints: [DEDICATED] }), at(policies()));
    expect(nextRecord(living, undefined, at(left, START, 0))).toBeUndefined();
  });

  it('stays while its policy is replaced, also beside a policy with retention, and not beyond the retention', () => {
    const other: TaintPolicySpec = { mode: 'Deny', taints: [PROTECTED] };
    const retaining = (taints: TaintRule[], seconds: number) =>
      surviving({ taints, deletedNodeRetentionSeconds: seconds });
    const record = deleted(policySet({ taint: { p: surviving(), q: other } }));
    const elsewhere = policySet({
      taint: { q: other, r: retaining([{ key: 'free', restrict: ['Removal'] }], 86_400) },
    });
    expect(nextRecord(record, undefined, at(elsewhere, START, 0))?.taints).toHaveLength(1);
    const over = policySet({ taint: { q: other, r: retaining([PROTECTED], 3_600) } });
    expect(nextRecord(record, undefined, at(over, START + HOUR, 0))).toBeUndefined();
  });

  it('of a node that registered again stays while its policy is replaced, if the deletion was recorded', () => {
    const left = policySet({ taint: { q: { mode: 'Deny', taints: [PROTECTED] } } });
    const again = nodeOf({ uid: 'second' });
    const back = nextRecord(deleted(policies()), again, at(policies()));
    expect(nextRecord(back, again, at(left, START, 0))?.taints).toEqual(back?.taints);
    const living = nextRecord(undefined, nodeOf({ taints: [DEDICATED] }), at(policies()));
    expect(nextRecord(living, again, at(left, START, 0))).toBeUndefined();
  });

  it('counts a deletion in the future from now', () => {
    const record = { ...(deleted(policies()) as NodeRecord), deletedAt: START + HOUR };
    expect(nextRecord(record, undefined, at(policies()))?.deletedAt).toBe(START);
  });

  it('is forgotten when the retention is over, or the policy says it no more', () => {
    const record = deleted(policies());
    expect(nextRecord(record, undefined, at(policies(), START + 24 * HOUR - 1))).toEqual(record);
    expect(nextRecord(record, undefined, at(policies(), START + 24 * HOUR))).toBeUndefined();
    expect(nextRecord(record, undefined, at(policySet({})))).toBeUndefined();
    expect(nextRecord(record, undefined, at(policySet({}), START, 0))).toEqual(record);
    // A policy that is replaced is no reason to write the records of all nodes twice.
    const living = nextRecord(undefined, nodeOf({ taints: [DEDICATED] }), at(policies()));
    expect(nextRecord(living, nodeOf({ taints: [DEDICATED] }), at(policySet({}), START, 0))).toEqual(living);
  });
});

describe('a recorded taint that the node does not carry', () => {
  const carrying: Node = { taints: [DEDICATED] };

  it('stays listed, as often as the node is seen', () => {
    const lost = recordAfter(setOf(PROTECTED), carrying, {}, {});
    expect(listed(lost)).toEqual([GPU]);
    expect(listed(recordAfter(setOf(PROTECTED), carrying, { taints: [CPU] }, {}))).toEqual([GPU]);
    expect(listed(recordAfter(setOf(PROTECTED), carrying, {}, carrying))).toEqual([GPU]);
  });

  it.each<{ why: string; allowRemoval: string; taints?: Taint[]; left: string[] }>([
    { why: 'names it', allowRemoval: GPU, left: [] },
    { why: 'has a notice of it', allowRemoval: `${GPU}-`, left: [] },
    { why: 'names it with any value', allowRemoval: 'dedicated:NoSchedule', left: [] },
    { why: 'names it beside what cannot be read', allowRemoval: `rubbish, ${GPU}`, left: [] },
    { why: 'names another value', allowRemoval: 'dedicated=cpu:NoSchedule', left: [GPU] },
    { why: 'names another effect', allowRemoval: 'dedicated=gpu:NoExecute', left: [GPU] },
    { why: 'is too long to be read', allowRemoval: `${GPU},`.repeat(3_000), left: [GPU] },
    { why: 'names what the node still carries', allowRemoval: GPU, taints: [DEDICATED], left: [GPU] },
    { why: 'names the value that was replaced', allowRemoval: GPU, taints: [CPU], left: ['dedicated=cpu:NoSchedule'] },
  ])('is listed or not where the annotation allow-removal $why', ({ allowRemoval, taints = [], left }) => {
    expect(listed(recordAfter(setOf(PROTECTED), carrying, { allowRemoval, taints }))).toEqual(left);
  });

  it('is not listed again when the entry is deleted', () => {
    expect(recordAfter(setOf(PROTECTED), carrying, { allowRemoval: GPU }, {})).toBeUndefined();
  });

  describe('where a policy forbids removal by annotation', () => {
    const gone: Node = { allowRemoval: GPU };
    const inOneStep: Node = { allowRemoval: `${GPU}-`, inOneStep: [DEDICATED] };

    it.each<{ why: string; set: PolicySet; left: string[] }>([
      { why: 'stays listed', set: setOf(PROTECTED, Forbidden), left: [GPU] },
      {
        why: 'stays listed, also beside a policy that allows it',
        set: policySet({
          taint: {
            p: { mode: 'Restore', taints: [PROTECTED] },
            q: { mode: 'Deny', taints: [PROTECTED], ...Forbidden },
          },
        }),
        left: [GPU],
      },
      {
        why: 'is not listed where that one only watches',
        set: policySet({
          taint: {
            p: { mode: 'Restore', taints: [PROTECTED] },
            q: { mode: 'Audit', taints: [PROTECTED], ...Forbidden },
          },
        }),
        left: [],
      },
      {
        why: 'is not listed where that one protects another value',
        set: policySet({
          taint: {
            p: { mode: 'Restore', taints: [PROTECTED] },
            q: { mode: 'Deny', taints: [{ ...PROTECTED, value: 'cpu' }], ...Forbidden },
          },
        }),
        left: [],
      },
      {
        why: 'is not listed where that one selects other nodes',
        set: policySet({
          taint: {
            p: { mode: 'Restore', taints: [PROTECTED] },
            q: { mode: 'Deny', taints: [PROTECTED], ...Forbidden, nodeSelector: { matchLabels: { a: 'b' } } },
          },
        }),
        left: [],
      },
    ])('$why', ({ set, left }) => {
      expect(listed(recordAfter(set, carrying, gone))).toEqual(left);
      expect(recordAfter(set, carrying, inOneStep)).toBeUndefined();
    });

    it('stays listed where one step removed another value of it', () => {
      const set = setOf(PROTECTED, Forbidden);
      expect(listed(recordAfter(set, carrying, { ...inOneStep, inOneStep: [CPU] }))).toEqual([GPU]);
    });
  });
});

describe('a recorded value, if the node carries another value that', () => {
  const protects: TaintPolicySpec = { mode: 'Restore', taints: [PROTECTED] };
  const requires = (mode: TaintMode, rule: TaintRule = REQUIRED): TaintPolicySpec => ({ mode, taints: [rule] });

  it.each<{ what: string; spec: Record<string, TaintPolicySpec>; left: string[] }>([
    {
      what: 'the same policy requires',
      spec: { p: { mode: 'Restore', taints: [PROTECTED, REQUIRED] } },
      left: [GPU],
    },
    { what: 'another policy requires', spec: { p: protects, q: requires('Deny') }, left: [GPU] },
    {
      what: 'a policy in mode Audit requires',
      spec: { p: protects, q: requires('Audit') },
      left: ['dedicated=cpu:NoSchedule'],
    },
    {
      what: 'a policy for other nodes requires',
      spec: { p: protects, q: { ...requires('Deny'), nodeSelector: { matchLabels: { pool: 'gpu' } } } },
      left: ['dedicated=cpu:NoSchedule'],
    },
    {
      what: 'a policy accepts as any value',
      spec: { p: protects, q: requires('Deny', { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' }) },
      left: ['dedicated=cpu:NoSchedule'],
    },
    { what: 'no policy requires', spec: { p: protects }, left: ['dedicated=cpu:NoSchedule'] },
  ])('$what: $left is listed', ({ spec, left }) => {
    const set = policySet({ taint: spec });
    expect(listed(recordAfter(set, { taints: [CPU] }, { taints: [DEDICATED] }))).toEqual(left);
  });
});

describe('a required taint that was removed with permission', () => {
  const set = setOf(REQUIRED);
  const gone: Node = { allowRemoval: GPU };

  it('is listed as removed, with the policies that require it and the whole second in which that was seen', () => {
    const record = nextRecord(undefined, nodeOf(gone), at(set, START + 999));
    expect(record).toEqual({
      uid: 'first',
      machine: MACHINE,
      taints: [{ ...DEDICATED, policies: ['p'], removedAt: START }],
    });
    // Later, and without the entry, it says the same.
    expect(nextRecord(record, nodeOf(gone), at(set, START + HOUR))).toEqual(record);
    expect(nextRecord(record, nodeOf({}), at(set, START + HOUR))).toEqual(record);
  });

  it.each<{ why: string; set?: PolicySet; node: Node; expected: string[] }>([
    { why: 'not while the node carries it', node: { ...gone, taints: [DEDICATED] }, expected: [] },
    { why: 'not without an entry', node: {}, expected: [] },
    { why: 'not by an entry for another value', node: { allowRemoval: 'dedicated=cpu:NoSchedule' }, expected: [] },
    { why: 'where the node carries another value', node: { ...gone, taints: [CPU] }, expected: [`${GPU} removed`] },
    {
      why: 'with any value, where the policy takes any',
      set: setOf({ key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' }),
      node: { allowRemoval: 'dedicated=cpu:NoSchedule' },
      expected: ['dedicated:NoSchedule removed'],
    },
    { why: 'not for a policy that only watches', set: setOf(REQUIRED, { mode: 'Audit' }), node: gone, expected: [] },
    {
      why: 'not for one that selects other nodes',
      set: setOf(REQUIRED, { nodeSelector: { matchLabels: { a: 'b' } } }),
      node: gone,
      expected: [],
    },
    {
      why: 'not a taint that an agent sets and removes',
      set: setOf({ ...REQUIRED, key: 'node.cilium.io/agent-not-ready' }),
      node: { allowRemoval: 'node.cilium.io/agent-not-ready=gpu:NoSchedule' },
      expected: [],
    },
    {
      why: 'not by annotation where its policy forbids that',
      set: setOf({ ...REQUIRED, restrict: ['Removal'] }, Forbidden),
      node: gone,
      expected: [],
    },
    {
      why: 'in one step, where its policy forbids removal by annotation',
      set: setOf({ ...REQUIRED, restrict: ['Removal'] }, Forbidden),
      node: { allowRemoval: `${GPU}-`, inOneStep: [DEDICATED] },
      expected: [`${GPU} removed`],
    },
    {
      why: 'by annotation where another policy would forbid that by a pattern, and the taint is not established',
      set: policySet({
        taint: {
          p: { mode: 'Restore', taints: [REQUIRED] },
          q: { mode: 'Deny', taints: [{ key: '*', restrict: ['Removal'] }], ...Forbidden },
        },
      }),
      node: gone,
      expected: [`${GPU} removed`],
    },
    {
      why: 'for a policy in mode Deny as well',
      set: setOf(REQUIRED, { mode: 'Deny' }),
      node: gone,
      expected: [`${GPU} removed`],
    },
  ])('is listed as removed: $why', ({ set: own = set, node, expected }) => {
    expect(listed(recordAfter(own, node))).toEqual(expected);
  });

  it('is listed with the value that the node carried, where the policy takes any', () => {
    const any = (more: Partial<TaintPolicySpec> = {}) =>
      setOf({ key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' }, more);
    const carrying: Node = { taints: [CPU] };
    const allowRemoval = 'dedicated=cpu:NoSchedule';
    const cpuRemoved = ['dedicated=cpu:NoSchedule removed'];
    expect(listed(recordAfter(any(), carrying, { allowRemoval }))).toEqual(cpuRemoved);
    expect(listed(recordAfter(any(), carrying, { allowRemoval }, { allowRemoval }, {}))).toEqual(cpuRemoved);
    // It is lost where the entry names another value, or no policy lets anybody remove it by annotation.
    expect(listed(recordAfter(any(), carrying, gone))).toEqual(['dedicated=cpu:NoSchedule']);
    expect(listed(recordAfter(any(Forbidden), carrying, { allowRemoval }))).toEqual(['dedicated=cpu:NoSchedule']);
    expect(
      listed(recordAfter(any(Forbidden), carrying, { allowRemoval: `${allowRemoval}-`, inOneStep: [CPU] })),
    ).toEqual(cpuRemoved);
  });

  it('is listed with any value once the retention of the value that an earlier Node carried is over', () => {
    const any = setOf(
      { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' },
      { deletedNodeRetentionSeconds: 3_600 },
    );
    const back = nextRecord(deleted(any), nodeOf({ uid: 'second' }), at(any));
    const again = nodeOf({ uid: 'second', allowRemoval: 'dedicated=cpu:NoSchedule' });
    // As long as it is retained, an entry for another value does not permit its removal, however early the annotation comes.
    for (const before of [deleted(any), back])
      expect(listed(nextRecord(before, again, at(any, START + HOUR - 1)))).toEqual([GPU]);
    expect(listed(nextRecord(back, again, at(any, START + HOUR)))).toEqual(['dedicated:NoSchedule removed']);
  });

  it('is listed alone where the node carries another value that is protected: a record lists key and effect once', () => {
    const both = policySet({
      taint: { p: { mode: 'Restore', taints: [REQUIRED] }, q: { mode: 'Deny', taints: [PROTECTED] } },
    });
    expect(listed(recordAfter(both, { ...gone, taints: [CPU] }))).toEqual([`${GPU} removed`]);
  });

  it('is no taint that the node is to carry, also where the same policy protects it', () => {
    const any = setOf({ key: 'dedicated', effect: 'NoSchedule', ensure: 'Always', restrict: ['Removal'] });
    const record = recordAfter(any, { taints: [DEDICATED] }, gone);
    expect(listed(record)).toHaveLength(1);
    expect(record?.taints).toMatchObject([{ key: 'dedicated', removedAt: START }]);
  });

  it('ends when the node carries it again', () => {
    expect(recordAfter(set, gone, { taints: [DEDICATED] })).toBeUndefined();
    // Then it is lost like any other if it goes again.
    expect(recordAfter(set, gone, { taints: [DEDICATED] }, {})).toBeUndefined();
  });

  it.each<{ why: string; none: PolicySet }>([
    { why: 'none is left', none: policySet({}) },
    { why: 'it is required in mode Audit', none: setOf(REQUIRED, { mode: 'Audit' }) },
    { why: 'another taint is required', none: setOf({ ...REQUIRED, key: 'another' }) },
  ])('ends when no policy requires it, after the time in which policies are replaced: $why', ({ none }) => {
    const record = recordAfter(set, gone);
    const kept = nextRecord(record, nodeOf({}), at(none, START, 0));
    expect(listed(kept)).toEqual([`${GPU} removed`]);
    expect(nextRecord(record, nodeOf({}), at(none, START, FORGET_LOST_MS))).toBeUndefined();
    // Meanwhile, it ends all the same when the node carries it.
    expect(nextRecord(record, nodeOf({ taints: [DEDICATED] }), at(none, START, 0))).toBeUndefined();
  });

  it('names the policies that require it by now', () => {
    const record = recordAfter(set, gone);
    const renamed = policySet({ taint: { q: { mode: 'Deny', taints: [REQUIRED] } } });
    expect(nextRecord(record, nodeOf({}), at(renamed))?.taints).toEqual([
      { ...DEDICATED, policies: ['q'], removedAt: START },
    ]);
  });

  it('is not retained for the next Node of that name', () => {
    const retaining = setOf(REQUIRED, { deletedNodeRetentionSeconds: 86_400 });
    const record = recordAfter(retaining, { taints: [DEDICATED] }, gone);
    expect(listed(record)).toEqual([`${GPU} removed`]);
    expect(nextRecord(record, undefined, at(retaining))).toBeUndefined();
    expect(nextRecord(record, nodeOf({ uid: 'second' }), at(retaining))).toBeUndefined();
  });
});

describe('taints that no policy records any more', () => {
  const none = policySet({});
  const record = recordAfter(setOf(PROTECTED), { taints: [DEDICATED] });
  const soon = FORGET_LOST_MS;

  it.each<{ why: string; taints: Taint[]; policiesMs: number | undefined; labelsMs?: number; left: string[] }>([
    { why: 'stay while policies may be replaced', taints: [DEDICATED], policiesMs: HOUR - 1, left: [GPU] },
    { why: 'are forgotten after that', taints: [DEDICATED], policiesMs: HOUR, left: [] },
    { why: 'are forgotten then, whatever the labels', taints: [DEDICATED], policiesMs: HOUR, labelsMs: 0, left: [] },
    { why: 'stay a moment where they are lost', taints: [], policiesMs: soon - 1, left: [GPU] },
    { why: 'are soon forgotten where they are lost', taints: [], policiesMs: soon, labelsMs: soon, left: [] },
    {
      why: 'stay where they are lost and the labels changed',
      taints: [],
      policiesMs: HOUR,
      labelsMs: soon - 1,
      left: [GPU],
    },
    { why: 'stay while not all policies are known', taints: [DEDICATED], policiesMs: undefined, left: [GPU] },
    {
      why: 'stay while not all policies are known, where they are lost',
      taints: [],
      policiesMs: undefined,
      left: [GPU],
    },
    { why: 'count as lost with another value', taints: [CPU], policiesMs: soon, left: [] },
  ])('$why', ({ taints, left, policiesMs, labelsMs = HOUR }) => {
    const keeping = { ...at(none), policiesUnchangedMs: policiesMs };
    expect(listed(nextRecord(record, nodeOf({ taints, labelsUnchangedMs: labelsMs }), keeping))).toEqual(left);
  });

  it('are removed with permission meanwhile as at any time, and stay where they are only announced', () => {
    const keeping = at(none, START, 0);
    expect(nextRecord(record, nodeOf({ allowRemoval: GPU }), keeping)).toBeUndefined();
    expect(listed(nextRecord(record, nodeOf({ allowRemoval: GPU, taints: [DEDICATED] }), keeping))).toEqual([GPU]);
  });

  it.each<{ why: string; set: PolicySet }>([
    { why: 'one that only audits their removal', set: setOf(PROTECTED, { mode: 'Audit' }) },
    { why: 'one that requires them with that value', set: setOf(REQUIRED) },
  ])('are forgotten no sooner beside a policy that needs no record: $why', ({ set }) => {
    const carrying = nodeOf({ taints: [DEDICATED] });
    expect(listed(nextRecord(record, carrying, at(set, START, HOUR - 1)))).toEqual([GPU]);
    expect(nextRecord(record, carrying, at(set, START, HOUR))).toBeUndefined();
  });
});

it('new taints do not take the place of recorded ones', () => {
  const set = setOf({ key: 'example.com/*', restrict: ['Removal'] });
  const numbered = (from: number, count: number): Taint[] =>
    Array.from({ length: count }, (_, index) => ({ key: `example.com/t${100 + from + index}`, effect: 'NoSchedule' }));
  const first = numbered(50, MAX_KEPT_TAINTS);
  const full = recordAfter(set, { taints: first, established: texts(first).join() });
  const more = [...numbered(0, 9), ...first.slice(1)];
  const record = nextRecord(full, nodeOf({ taints: more, established: texts([...more, ...first]).join() }), at(set));
  expect(texts(record?.taints)).toEqual(texts(first));
  expect(record?.taints.every(({ policies }: RecordedTaint) => policies.length === 1)).toBe(true);
});

it('a record lists no more taints than its definition allows, and those that the node is to carry first', () => {
  const keys = Array.from({ length: 64 }, (_, index) => `${100 + index}`);
  const rules = (of: string, rule: Partial<TaintRule>): TaintPolicySpec => ({
    mode: 'Restore',
    taints: keys.map((key) => ({ ...rule, key: `${of}-${key}` })),
  });
  const required = { effect: 'NoSchedule', ensure: 'Always' } as const;
  const set = policySet({
    taint: {
      p: rules('kept', { restrict: ['Removal'] }),
      q: rules('one', required),
      r: rules('two', required),
    },
  });
  const taints = keys.map((key) => ({ key: `kept-${key}`, effect: 'NoSchedule' }));
  const removed = (of: string) => keys.map((key) => `${of}-${key}:NoSchedule`);
  const record = recordAfter(set, { taints, allowRemoval: [...removed('one'), ...removed('two')].join() });
  expect(record?.taints).toHaveLength(MAX_RECORDED_TAINTS);
  expect(texts(record?.taints).slice(0, MAX_KEPT_TAINTS)).toEqual(texts(taints));
});

it('a policy that requires a taint twice is named once: the API server refuses equal items', () => {
  const taint = { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' } as const;
  const set = policySet({ taint: { p: { mode: 'Restore', taints: [taint, { ...taint, value: 'gpu' }] } } });
  const record = nextRecord(undefined, nodeOf({ allowRemoval: 'dedicated=gpu:NoSchedule' }), at(set));
  expect(record?.taints).toMatchObject([{ key: 'dedicated', policies: ['p'] }]);
});

describe('whether anything is recorded for a policy', () => {
  it.each<{ why: string; spec: TaintPolicySpec; expected: boolean }>([
    { why: 'it restricts a removal', spec: { mode: 'Deny', taints: [PROTECTED] }, expected: true },
    {
      why: 'it restricts the removal of one value',
      spec: { mode: 'Deny', taints: [{ ...PROTECTED, value: 'gpu' }] },
      expected: true,
    },
    {
      why: 'it requires a taint with any value',
      spec: { mode: 'Deny', taints: [{ key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' }] },
      expected: true,
    },
    { why: 'it requires a taint', spec: { mode: 'Restore', taints: [REQUIRED] }, expected: true },
    { why: 'it only audits a required taint', spec: { mode: 'Audit', taints: [REQUIRED] }, expected: false },
    { why: 'it only audits a removal', spec: { mode: 'Audit', taints: [PROTECTED] }, expected: false },
    { why: 'it audits, with retention', spec: surviving({ mode: 'Audit' }), expected: true },
    {
      why: 'it restricts additions alone',
      spec: { mode: 'Deny', taints: [{ key: 'dedicated', restrict: ['Addition'] }] },
      expected: false,
    },
  ])('$why: $expected', ({ spec, expected }) => {
    expect(policySet({ taint: { p: spec } }).taintPolicies.map(recordsTaints)).toEqual([expected]);
  });
});

describe('a record', () => {
  it('is none of a name that no Node has and nothing is known of', () => {
    expect(nextRecord(undefined, undefined, at(policies()))).toBeUndefined();
  });

  it('keeps the taints of a deleted policy while it may be replaced, and then only those of other policies', () => {
    const both = policySet({
      taint: {
        p: { mode: 'Deny', taints: [PROTECTED] },
        q: { mode: 'Deny', taints: [{ key: OTHER.key, restrict: ['Removal'] }] },
      },
    });
    const record = recordAfter(both, { taints: [DEDICATED, OTHER] });
    const left = policySet({ taint: { q: { mode: 'Deny', taints: [{ key: OTHER.key, restrict: ['Removal'] }] } } });
    const next = (forgets: boolean) =>
      listed(nextRecord(record, nodeOf({ taints: [DEDICATED, OTHER] }), at(left, START, forgets ? HOUR : HOUR - 1)));
    expect(next(false)).toEqual([GPU, 'example.com/other:NoExecute']);
    expect(next(true)).toEqual(['example.com/other:NoExecute']);
  });

  it('lists taints that were removed with permission beside others that the node carries', () => {
    const set = policySet({
      taint: { p: { mode: 'Restore', taints: [REQUIRED, { key: OTHER.key, restrict: ['Removal'] }] } },
    });
    const node = { taints: [OTHER], allowRemoval: GPU };
    expect(listed(recordAfter(set, node, node))).toEqual([`${GPU} removed`, 'example.com/other:NoExecute']);
  });

  it('lists what the node carries, though its removal is announced', () => {
    const node = { taints: [DEDICATED], allowRemoval: GPU };
    expect(listed(recordAfter(policies(), { taints: [DEDICATED] }, node))).toEqual([GPU]);
  });

  it('stays where it lists one taint and one startup taint', () => {
    const startup = [{ key: 'boot', effect: 'NoSchedule', state: 'Waiting', policies: ['s'], since: START } as const];
    const before = { ...(recordAfter(policies(), { taints: [DEDICATED] }) as NodeRecord), startup };
    expect(nextRecord(before, nodeOf({ taints: [DEDICATED] }), at(policies()))).toMatchObject({
      taints: [{ key: 'dedicated' }],
      startup,
    });
  });
});

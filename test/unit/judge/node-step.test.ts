import { describe, expect, it, vi } from 'vitest';
import { ALLOW_REMOVAL_LIFE_MS } from '../../../src/judge/allow-removal.ts';
import {
  CONFLICT,
  historyAfter,
  historyAfterRepair,
  type NodeHistory,
  newHistory,
} from '../../../src/judge/node-history.ts';
import {
  MAX_KEPT_TAINTS,
  MISSING_AFTER_MS,
  type NodeRecord,
  type RecordedTaint,
} from '../../../src/judge/node-record.ts';
import { type KeptNode, type NodeStep, nodeStep, type StepOptions } from '../../../src/judge/node-step.ts';
import { FORGET_LOST_MS } from '../../../src/judge/record-keeping.ts';
import { ADDITION_GRACE_MS } from '../../../src/judge/unseen-additions.ts';
import { formatTaint, identity, type Taint } from '../../../src/kubernetes/taint.ts';
import { ESTABLISHED_AFTER_SECONDS, type TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import { policySet } from '../policy/policies.ts';
import { lossesOf, nodeOf, type Policies, rule } from './node-drifts.ts';

const HOUR = 3_600_000;
/** By the clock of the API server: no whole second. */
const NOW = Date.parse('2026-11-22T12:00:00.700Z');
const THIS_SECOND = Date.parse('2026-11-22T12:00:00Z');
/** By the monotonic clock: an hour after the leader has seen the node for the first time, unless said otherwise. */
const AT = HOUR;
const MACHINE = { systemUUID: 'one', providerID: '' };

const gpu: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const other: Taint = { key: 'other', value: 'x', effect: 'NoSchedule' };
const GPU: RecordedTaint = { ...gpu, value: 'gpu', policies: ['p'] };
const OTHER: RecordedTaint = { ...other, value: 'x', policies: ['p'] };

const PROTECTED = rule('Restore', { key: 'dedicated', restrict: ['Removal'] });
const DENIED = rule('Deny', { key: 'dedicated', restrict: ['Removal'] });
const BOTH: TaintPolicySpec = {
  mode: 'Deny',
  taints: ['dedicated', 'other'].map((key) => ({ key, restrict: ['Removal'] })),
};
const REQUIRED = rule('Restore', { ...gpu, effect: 'NoSchedule', value: 'gpu', ensure: 'Always' });
const ANY = rule('Restore', { key: '*', restrict: ['Removal'] });

const BLOCKED = { reason: 'ModeDoesNotRestore', message: 'mode Deny does not restore it' };

const recordOf = (...taints: readonly RecordedTaint[]): NodeRecord => ({ uid: 'u1', machine: MACHINE, taints });
const keptNode = (node: Partial<KeptNode> = {}): KeptNode => ({
  ...nodeOf([]),
  uid: 'u1',
  ready: true,
  machine: MACHINE,
  ...node,
});

interface Situation extends Partial<Omit<StepOptions, 'policies'>> {
  readonly policies: Policies;
  readonly node?: Partial<KeptNode>;
  /** As the last step left it; by default, that of a node which the leader has seen unchanged since the time 0. */
  readonly history?: NodeHistory;
  readonly record?: NodeRecord | undefined;
  /** The records have not been read. */
  readonly isUnread?: true;
  /** The policies are compiled as with --audit. */
  readonly audit?: boolean;
}

function stepOf({ policies, node: fields, history, record, isUnread, audit = false, ...options }: Situation): NodeStep {
  const node = keptNode(fields);
  return nodeStep(node, history ?? newHistory(node, 0), isUnread ? undefined : { record }, {
    policies: policySet({ taint: policies }, { audit }).taintPolicies,
    now: NOW,
    monotonicMs: AT,
    policiesUnchangedMs: Infinity,
    isSpread: () => true,
    otherWriterOf: () => undefined,
    refusal: undefined,
    ...options,
  });
}

it('a node that is as the policies declare it: nothing is to be done, and nothing changes by itself', () => {
  const node = keptNode({ taints: [gpu] });
  const history = newHistory(node, 0);
  const step = stepOf({ policies: { p: PROTECTED }, node, history, record: recordOf(GPU) });
  expect(step).toStrictEqual({
    losses: [],
    removed: [],
    expired: [],
    desired: undefined,
    record: recordOf(GPU),
    isRecordFull: false,
    returned: [],
    additions: [],
    history,
    accepted: new Map(),
    nextInMs: undefined,
  });
});

it('while the records have not been read, nothing is to be done, and nothing is accepted', () => {
  const policies = { p: REQUIRED, q: rule('Restore', { key: 'other', restrict: ['Addition'] }) };
  const history = { ...newHistory(keptNode(), 0), accepted: new Map() };
  expect(stepOf({ policies, node: { taints: [other] }, history, isUnread: true })).toStrictEqual({
    losses: [],
    removed: [],
    expired: [],
    desired: undefined,
    record: undefined,
    isRecordFull: false,
    returned: [],
    additions: [],
    history: { ...history, missingSince: [] },
    accepted: history.accepted,
    nextInMs: undefined,
  });
});

describe('a taint that was added unseen', () => {
  const policies = { p: rule('Restore', { key: 'dedicated', restrict: ['Addition'] }) };
  const before = newHistory(keptNode({ taints: [other] }), 0);
  const { accepted } = stepOf({ policies, node: { taints: [other] }, history: before, monotonicMs: 0 });
  const history: NodeHistory = { ...before, accepted };
  const added = {
    policies,
    node: { taints: [other, gpu], allowRemoval: 'a:NoSchedule' },
    history,
    monotonicMs: ADDITION_GRACE_MS,
  };
  const taintsOf = ({ additions }: NodeStep) =>
    additions.map(({ taint, blockedBy }) => `${formatTaint(taint)}${blockedBy ? ` (${blockedBy})` : ''}`);

  it('is removed, and the annotation stays as it is', () => {
    const step = stepOf({ ...added, isSpread: () => false });
    expect(taintsOf(step)).toEqual(['dedicated=gpu:NoSchedule']);
    expect(step.desired).toEqual({ taints: [other], allowRemoval: 'a:NoSchedule' });
    expect([...(step.accepted?.values() ?? [])]).toEqual([{ since: 0, taints: new Set() }]);
  });

  it('is not recorded as established, and still removed, if that failed for ten minutes', () => {
    const node = { taints: [gpu] };
    const any = { p: rule('Restore', { key: '*', restrict: ['Removal', 'Addition'] }) };
    const empty = newHistory(keptNode(), 0);
    const first = { ...empty, accepted: stepOf({ policies: any, history: empty, monotonicMs: 0 }).accepted };
    const seen = historyAfter(
      first,
      { node: keptNode(node), previous: keptNode(), isListed: false },
      policySet({ taint: any }).taintPolicies,
      ADDITION_GRACE_MS,
    );
    const late = ADDITION_GRACE_MS + 1_000 * ESTABLISHED_AFTER_SECONDS;
    const step = stepOf({ policies: any, node, history: seen, monotonicMs: late });
    expect([taintsOf(step), step.losses, step.record]).toEqual([['dedicated=gpu:NoSchedule'], [], undefined]);
    expect(step.desired?.taints).toEqual([]);
  });

  it('is not looked for with --audit, nor while the records have not been read', () => {
    const taints = [other, gpu];
    const beginning = stepOf({ policies, audit: true, node: { taints: [other] }, history: before, monotonicMs: 0 });
    const audited = { audit: true, history: { ...before, accepted: beginning.accepted } };
    for (const more of [audited, { isUnread: true } as const]) {
      const step = stepOf({ ...added, node: { taints }, ...more });
      expect([step.additions, step.desired]).toEqual([[], undefined]);
    }
    expect(stepOf({ ...added, isUnread: true }).accepted).toBe(accepted);
  });

  it('stays where another writer adds it repeatedly', () => {
    let inConflict = history;
    for (let time = 0; time < CONFLICT.limit; time++) inConflict = historyAfterRepair(inConflict, [gpu], time);
    expect(taintsOf(stepOf({ ...added, history: inConflict }))).toEqual(['dedicated=gpu:NoSchedule (Conflict)']);
  });

  it('does not count where the record lists it and the node had lost it', () => {
    const both = { p: rule('Deny', { key: 'dedicated', restrict: ['Removal', 'Addition'] }) };
    const lost = stepOf({ policies: both, history: before, record: recordOf(GPU), monotonicMs: 0 });
    const back = { ...before, accepted: lost.accepted };
    const again = { policies: both, node: { taints: [gpu] }, history: back, monotonicMs: ADDITION_GRACE_MS };
    expect(taintsOf(stepOf({ ...again, record: recordOf(GPU) }))).toEqual([]);
  });
});

describe('a taint that another writer removes repeatedly', () => {
  it('is left to that writer, and listed as a conflict until it may be restored again', () => {
    const node = keptNode();
    let history = newHistory(node, 0);
    for (const at of [AT - 300_000, AT - 200_000, AT - 100_000]) history = historyAfterRepair(history, [gpu], at);
    const step = stepOf({ policies: { p: REQUIRED }, node, history });
    expect(lossesOf(step)).toEqual(['p dedicated=gpu:NoSchedule (Conflict)']);
    expect(step.desired).toBeUndefined();
    expect([...step.history.conflicts]).toEqual([[identity(gpu), { taint: gpu, policies: ['p'] }]]);
    expect(step.nextInMs).toBe(CONFLICT.windowMs - 300_000);
  });

  it('is no conflict where it is not restored for another reason', () => {
    const step = stepOf({ policies: { p: DENIED }, record: recordOf(GPU) });
    expect(lossesOf(step)).toEqual(['p dedicated=gpu:NoSchedule (ModeDoesNotRestore)']);
    expect(step.history.conflicts.size).toBe(0);
  });

  it('is listed in a map of the Node alone: Nodes without conflicts share an empty one', () => {
    const [one, two] = ['u1', 'u2'].map((uid) => stepOf({ policies: { p: REQUIRED }, node: { uid, taints: [gpu] } }));
    expect(one?.history.conflicts).toBe(two?.history.conflicts);
  });
});

describe('the annotation allow-removal', () => {
  const unused = { taints: [gpu], allowRemoval: 'dedicated=gpu:NoSchedule' };
  const seen = (at: number) => ({ policies: { p: PROTECTED }, node: unused, record: recordOf(GPU), monotonicMs: at });

  it('expires if no removal uses it within a day', () => {
    const early = stepOf(seen(ALLOW_REMOVAL_LIFE_MS - 1));
    expect([early.desired, early.expired, early.nextInMs]).toEqual([undefined, [], 1]);
    const late = stepOf(seen(ALLOW_REMOVAL_LIFE_MS));
    expect(late.desired).toEqual({ taints: [gpu], allowRemoval: undefined });
    expect([late.expired, late.nextInMs]).toEqual([['dedicated=gpu:NoSchedule'], undefined]);
  });

  it('expires by the time that the API server noted', () => {
    const node = { ...unused, announcedAt: NOW - ALLOW_REMOVAL_LIFE_MS + 5_000 };
    expect(stepOf({ ...seen(0), node }).nextInMs).toBe(5_000);
  });

  it('loses a used entry only once the record, as it is, has been written', () => {
    const node = { allowRemoval: 'dedicated=gpu:NoSchedule, other:NoSchedule', taints: [{ ...other, value: 'y' }] };
    const isSpread = vi.fn(() => false);
    const used = { policies: { p: PROTECTED }, node, record: recordOf(GPU), isSpread };
    expect(stepOf(used).desired).toBeUndefined();
    expect(isSpread).toHaveBeenLastCalledWith(undefined);
    isSpread.mockReturnValue(true);
    expect(stepOf(used).desired).toEqual({ taints: node.taints, allowRemoval: 'other:NoSchedule' });
  });
});

describe('what the record lists and no policy records any more', () => {
  const pool = { nodeSelector: { matchLabels: { pool: 'gpu' } } };
  const policies = { p: { ...DENIED, ...pool } };
  /** Its labels were changed so long ago. */
  const left = (ms: number, more: Partial<Situation> = {}) => {
    const history = newHistory(keptNode(), AT - ms);
    return stepOf({ policies, history, record: recordOf({ ...GPU, missingSince: 0 }), ...more });
  };
  const listed = ({ record }: NodeStep) => record?.taints.map(formatTaint) ?? [];

  it('is forgotten ten seconds after the labels changed, where the node does not carry it', () => {
    const early = left(FORGET_LOST_MS - 4_000);
    expect([listed(early), early.nextInMs]).toEqual([['dedicated=gpu:NoSchedule'], 4_000]);
    const late = left(FORGET_LOST_MS);
    expect([listed(late), late.nextInMs]).toEqual([[], undefined]);
  });

  it('is not marked as missing, because no policy misses it', () => {
    expect(left(0, { record: recordOf(GPU) }).record).toStrictEqual(recordOf(GPU));
  });

  it('is not forgotten while the policies have just changed: no event tells when', () => {
    const step = left(FORGET_LOST_MS, { policiesUnchangedMs: FORGET_LOST_MS - 1 });
    expect([listed(step), step.nextInMs]).toEqual([['dedicated=gpu:NoSchedule'], undefined]);
  });

  it('is checked again where one of several taints is lost, or was removed with permission, and not where all are there', () => {
    const both = { p: { ...BOTH, ...pool } };
    const node = keptNode({ labels: { pool: 'gpu' }, taints: [other] });
    const history = newHistory(node, AT - 1_000);
    const step = (...taints: RecordedTaint[]) => stepOf({ policies: both, node, history, record: recordOf(...taints) });
    expect(step(OTHER).nextInMs).toBeUndefined();
    expect(step({ ...GPU, missingSince: 0 }, OTHER).nextInMs).toBe(FORGET_LOST_MS - 1_000);
    const removed = { ...GPU, removedAt: 0 };
    const required = { p: { ...REQUIRED, ...pool } };
    expect(stepOf({ policies: required, node, history, record: recordOf(removed) }).nextInMs).toBe(
      FORGET_LOST_MS - 1_000,
    );
  });
});

describe('a taint that a pattern matches', () => {
  const ESTABLISHED_MS = 1_000 * ESTABLISHED_AFTER_SECONDS;
  const carrying = (ms: number) => {
    const node = keptNode({ taints: [gpu] });
    return { policies: { p: ANY }, node, history: newHistory(node, AT - ms) };
  };

  it('is recorded once the node has carried it for ten minutes', () => {
    const early = stepOf(carrying(ESTABLISHED_MS - 3_000));
    expect([early.record, early.nextInMs]).toEqual([undefined, 3_000]);
    const late = stepOf(carrying(ESTABLISHED_MS));
    expect([late.record, late.nextInMs]).toEqual([recordOf(GPU), undefined]);
  });

  it('is next after the shortest of all waits, of a millisecond at least', () => {
    const node = keptNode({
      taints: [gpu],
      allowRemoval: 'dedicated=gpu:NoSchedule',
      announcedAt: NOW - ALLOW_REMOVAL_LIFE_MS + 2_000,
    });
    const history = newHistory(node, AT - ESTABLISHED_MS + 3_000);
    expect(stepOf({ policies: { p: ANY }, node, history }).nextInMs).toBe(2_000);
    expect(stepOf(carrying(ESTABLISHED_MS - 0.25)).nextInMs).toBe(1);
  });

  describe('on a node with more of them than a record lists', () => {
    const many = (count: number, key = 'k') =>
      Array.from({ length: count }, (_, index): Taint => ({ key: `${key}-${index}`, effect: 'NoSchedule' }));
    const KEYS = rule('Restore', { key: 'k-*', restrict: ['Removal'] });
    const isFull = (policies: Policies, taints: readonly Taint[], more: Partial<Situation> = {}) => {
      const node = keptNode({ taints });
      return stepOf({ policies, node, history: newHistory(node, 0), ...more }).isRecordFull;
    };

    it.each<{ why: string; policies?: Policies; taints: readonly Taint[]; expected: boolean }>([
      { why: 'as many as it lists', taints: many(MAX_KEPT_TAINTS), expected: false },
      { why: 'one more', taints: many(MAX_KEPT_TAINTS + 1), expected: true },
      { why: 'others that no pattern matches', taints: [...many(MAX_KEPT_TAINTS), gpu, other], expected: false },
      {
        why: 'one more, which another policy does not match',
        policies: { p: KEYS, q: rule('Restore', { key: 'another-*', restrict: ['Removal'] }) },
        taints: many(MAX_KEPT_TAINTS + 1),
        expected: true,
      },
      {
        why: 'one more that an exact key protects',
        policies: { p: KEYS, q: PROTECTED },
        taints: [...many(MAX_KEPT_TAINTS), gpu],
        expected: false,
      },
      {
        why: 'as many as it lists, and one that the policy requires with its value: that needs no record',
        policies: { p: { mode: 'Restore', taints: [...KEYS.taints, ...REQUIRED.taints] } },
        taints: [...many(MAX_KEPT_TAINTS), gpu],
        expected: false,
      },
      {
        why: 'one more, which the policy protects by its exact key as well',
        policies: { p: { mode: 'Restore', taints: [...KEYS.taints, { key: 'k-64', restrict: ['Removal'] }] } },
        taints: many(MAX_KEPT_TAINTS + 1),
        expected: false,
      },
      {
        why: 'one more, which another policy protects by its exact key',
        policies: { p: KEYS, q: rule('Deny', { key: 'k-64', restrict: ['Removal'] }) },
        taints: many(MAX_KEPT_TAINTS + 1),
        expected: false,
      },
      {
        why: 'one more, which a policy in mode Audit names by its exact key',
        policies: { p: KEYS, q: rule('Audit', { key: 'k-64', restrict: ['Removal'] }) },
        taints: many(MAX_KEPT_TAINTS + 1),
        expected: true,
      },
      {
        why: 'few, of a policy in mode Audit that records nothing',
        policies: { p: rule('Audit', { key: 'k-*', restrict: ['Removal'] }), q: PROTECTED },
        taints: [...many(3), gpu],
        expected: false,
      },
    ])('$why: $expected', ({ policies = { p: KEYS }, taints, expected }) => {
      expect(isFull(policies, taints)).toBe(expected);
    });

    it('is not said of one that is listed no more, because no policy protects it', () => {
      const [last, ...first] = many(MAX_KEPT_TAINTS);
      if (!last) throw new Error('none');
      const listed = first.map((taint): RecordedTaint => ({ ...taint, value: '', policies: ['p'] }));
      const taints = [...first, last, gpu];
      expect(isFull({ p: KEYS, q: PROTECTED }, taints, { record: recordOf(...listed, GPU) })).toBe(true);
      expect(isFull({ p: KEYS }, taints, { record: recordOf(...listed, GPU) })).toBe(false);
    });

    it('is not said of another value of a taint that was removed with permission', () => {
      const policies = { p: rule('Restore', { key: 'ded*', restrict: ['Removal'] }), q: REQUIRED };
      const record = recordOf({ ...GPU, removedAt: 0 });
      expect(isFull(policies, [{ ...gpu, value: 'cpu' }], { record })).toBe(false);
    });

    it('is said only of those that are established', () => {
      const node = keptNode({ taints: many(MAX_KEPT_TAINTS) });
      const more = { ...node, taints: many(MAX_KEPT_TAINTS + 1) };
      const event = { node: more, previous: node, isListed: false };
      const history = historyAfter(newHistory(node, 0), event, [], AT - 1);
      expect(isFull({ p: KEYS }, more.taints, { node: more, history })).toBe(false);
    });
  });
});

describe('a node that registers again', () => {
  const policies = { p: { ...PROTECTED, deletedNodeRetentionSeconds: 86_400 } };
  const both = { p: { ...BOTH, deletedNodeRetentionSeconds: 86_400 } };
  const deleted = (...taints: RecordedTaint[]): NodeRecord => ({ ...recordOf(...taints), deletedAt: NOW - HOUR });
  const returned = (situation: Situation) => stepOf(situation).returned.map(({ taint }) => formatTaint(taint));

  it('has returned with the taints that it carries with the recorded value, which is said once', () => {
    const node = { uid: 'u2', taints: [gpu, { ...other, value: 'y' }] };
    expect(returned({ policies: both, node, record: deleted(GPU, OTHER) })).toEqual(['dedicated=gpu:NoSchedule']);
    expect(returned({ policies, node, record: { ...recordOf(GPU), uid: 'u2' } })).toEqual([]);
    expect(returned({ policies, node })).toEqual([]);
  });

  it('is recorded to lack the others, with the reason at once, and not since when', () => {
    const first = stepOf({ policies: both, node: { uid: 'u2' }, record: deleted(GPU) });
    const missing = { ...GPU, earlierDeletedAt: NOW - HOUR };
    expect(first.record?.taints).toStrictEqual([missing]);
    const record = { ...recordOf({ ...missing, blocked: { ...BLOCKED, message: 'earlier' } }), uid: 'u2' };
    const next = stepOf({ policies: both, node: { uid: 'u2' }, record });
    expect(next.record?.taints).toStrictEqual([{ ...missing, blocked: BLOCKED }]);
  });

  it('is recorded to lack a taint that it has lacked for long before its record was read', () => {
    const node = keptNode({ uid: 'u2' });
    const history = { ...newHistory(node, 0), missingSince: [{ taint: gpu, at: 0 }] };
    const { record } = stepOf({ policies: both, node, history, record: deleted(GPU) });
    expect(record?.taints).toStrictEqual([{ ...GPU, earlierDeletedAt: NOW - HOUR, blocked: BLOCKED }]);
  });
});

describe('a recorded taint that the node lost', () => {
  const lost = (more: Partial<Situation> = {}) => stepOf({ policies: { p: DENIED }, record: recordOf(GPU), ...more });
  /** Since when policies miss it. */
  const missed = (since: number) => ({ ...newHistory(keptNode(), 0), missingSince: [{ taint: gpu, at: since }] });

  it('is not recorded as missing for five seconds, in which it may be restored', () => {
    const first = lost();
    expect([first.record, first.nextInMs]).toStrictEqual([recordOf(GPU), MISSING_AFTER_MS]);
    expect(first.history.missingSince).toEqual([{ taint: GPU, at: AT }]);
    const early = lost({ history: missed(AT - MISSING_AFTER_MS + 1) });
    expect([early.record, early.nextInMs]).toStrictEqual([recordOf(GPU), 1]);
  });

  it('is recorded as missing then, by the clock of the API server in whole seconds, with the reason', () => {
    const late = lost({ history: missed(AT - MISSING_AFTER_MS) });
    const missingSince = THIS_SECOND - MISSING_AFTER_MS;
    expect([late.record, late.nextInMs]).toStrictEqual([
      recordOf({ ...GPU, missingSince, blocked: BLOCKED }),
      undefined,
    ]);
    expect(late.history.missingSince).toEqual([{ taint: GPU, at: AT - MISSING_AFTER_MS }]);
    const unexplained = lost({ policies: { p: PROTECTED }, history: missed(AT - MISSING_AFTER_MS) });
    expect(unexplained.record).toStrictEqual(recordOf({ ...GPU, missingSince }));
  });

  it('stays recorded as missing where an earlier leader had recorded it, with the reason of now', () => {
    const step = lost({
      record: recordOf({ ...GPU, missingSince: 7_000, blocked: { ...BLOCKED, message: 'earlier' } }),
    });
    expect([step.record, step.nextInMs]).toStrictEqual([
      recordOf({ ...GPU, missingSince: 7_000, blocked: BLOCKED }),
      undefined,
    ]);
    const unexplained = lost({
      policies: { p: PROTECTED },
      record: recordOf({ ...GPU, missingSince: 7_000, blocked: BLOCKED }),
    });
    expect(unexplained.record).toStrictEqual(recordOf({ ...GPU, missingSince: 7_000 }));
  });

  it('is not missing any more once the node carries it', () => {
    const step = lost({
      node: { taints: [gpu] },
      history: missed(0),
      record: recordOf({ ...GPU, missingSince: 0, blocked: BLOCKED }),
    });
    expect(step.record).toStrictEqual(recordOf(GPU));
    expect(step.history.missingSince).toEqual([]);
  });

  it('has a time and a reason of its own', () => {
    const history = missed(AT - MISSING_AFTER_MS - 1_000);
    const step = stepOf({
      policies: { p: BOTH },
      history,
      record: recordOf(GPU, OTHER, { ...OTHER, key: 'third', missingSince: 0 }),
    });
    const missingSince = THIS_SECOND - MISSING_AFTER_MS - 1_000;
    expect(step.record?.taints).toStrictEqual([{ ...GPU, missingSince, blocked: BLOCKED }, OTHER]);
    expect(step.nextInMs).toBe(MISSING_AFTER_MS);
    const two = [
      { taint: gpu, at: AT - 2_000 },
      { taint: other, at: AT - 3_000 },
    ];
    const both = { policies: { p: BOTH }, record: recordOf(GPU, OTHER), history: { ...history, missingSince: two } };
    expect(stepOf(both).nextInMs).toBe(MISSING_AFTER_MS - 3_000);
    const explained = stepOf({
      policies: { p: DENIED, q: rule('Restore', { key: 'other', restrict: ['Removal'] }) },
      record: recordOf({ ...GPU, missingSince: 0 }, { ...OTHER, missingSince: 1_000 }),
      refusal: 'a webhook objects',
    });
    expect(explained.record?.taints.map(({ blocked }) => blocked)).toEqual([
      BLOCKED,
      { reason: 'UpdateRefused', message: 'a webhook objects' },
    ]);
  });

  it('is in conflict with the writer that removes it', () => {
    let history: NodeHistory = missed(0);
    for (let time = AT - CONFLICT.limit; time < AT; time++) history = historyAfterRepair(history, [gpu], time);
    const step = lost({ policies: { p: PROTECTED }, history, otherWriterOf: ({ key }) => `the writer of ${key}` });
    const message = 'another writer removes it repeatedly, last by the writer of dedicated';
    expect(step.record?.taints[0]?.blocked).toEqual({ reason: 'Conflict', message });
  });

  it('is no loss while another taint is one', () => {
    const step = stepOf({
      policies: { p: BOTH },
      node: { taints: [other] },
      record: recordOf(GPU, OTHER),
      history: missed(0),
    });
    expect(step.record?.taints.map(({ missingSince }) => missingSince !== undefined)).toEqual([true, false]);
  });

  it('and that evicts pods has the reason for which it is not set', () => {
    const evicting = rule('Restore', { key: 'evict', effect: 'NoExecute', ensure: 'Always', restrict: ['Removal'] });
    const step = stepOf({
      policies: { p: evicting },
      record: recordOf({ key: 'evict', value: 'x', effect: 'NoExecute', policies: ['p'], missingSince: 0 }),
    });
    expect(step.desired).toBeUndefined();
    expect(step.record?.taints[0]?.blocked?.reason).toBe('WouldEvictPods');
  });
});

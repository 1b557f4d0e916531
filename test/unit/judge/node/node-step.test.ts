import { describe, expect, it } from 'vitest';
import { ALLOW_REMOVAL_LIFE_MS, MAX_ALLOW_REMOVAL_ENTRIES } from '../../../../src/judge/allow-removal.ts';
import { POLICY_GONE_MS } from '../../../../src/judge/ended-startup-taints.ts';
import { isBlank, type NodeMemory } from '../../../../src/judge/node/node-memory.ts';
import { nodeStep, type StepFacts } from '../../../../src/judge/node/node-step.ts';
import { UNDO_BUDGET } from '../../../../src/judge/node/undone-changes.ts';
import type { StoredNode } from '../../../../src/judge/node-view.ts';
import { unmet } from '../../../../src/judge/startup/blocker.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../../src/policy/taint-rule.ts';
import { policySet } from '../../policy/policies.ts';
import { cpu, gpu, other } from '../request/node-updates.ts';
import { memoryAfterChanges, memoryAfterStep } from './memories.ts';
import { withDesired } from './model-cluster.ts';

const GPU = 'dedicated=gpu:NoSchedule';
const ALWAYS = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' } as const;
/** As a policy names it that names no value. */
const ANY_VALUE = { key: 'dedicated', effect: 'NoSchedule' } as const;
const NETWORK = { key: 'example.com/network', effect: 'NoSchedule' } as const;
const SET_GPU = [{ taint: gpu, change: 'set', wasAsWritten: false }] as const;
const READY_WHEN = { daemonSets: [{ namespace: 'a', name: 'b' }] };
const STARTUP: TaintRule = { ...NETWORK, ensure: 'UntilReady', readyWhen: READY_WHEN };
const REQUIRED: Record<string, TaintPolicySpec> = { p: { mode: 'Restore', taints: [ALWAYS] } };
const PROTECTED: Record<string, TaintPolicySpec> = { p: { mode: 'Restore', taints: [{ key: 'dedicated' }] } };

const node = (taints: readonly Taint[], more: Partial<StoredNode> = {}): StoredNode => ({
  name: 'n1',
  uid: 'u1',
  labels: {},
  taints,
  allowRemoval: undefined,
  createdAt: 0,
  ...more,
});

const step = (
  of: StoredNode,
  policies: Record<string, TaintPolicySpec>,
  { before, ...facts }: Partial<StepFacts> & { readonly before?: NodeMemory } = {},
) =>
  nodeStep(of, before, {
    policies: policySet({ taint: policies }).taintPolicies,
    blockers: () => [unmet('it waits')],
    isComplete: true,
    now: 0,
    apiTime: 0,
    ...facts,
  });

it('a node that carries what it should needs nothing, and leaves no memory', () => {
  const { desired, memoryIfUnwritten: memory, nextInMs } = step(node([gpu]), REQUIRED);
  expect({ desired, nextInMs, isBlank: isBlank(memory) }).toEqual({
    desired: undefined,
    nextInMs: undefined,
    isBlank: true,
  });
});

it('required taints, startup taints and entries are one write', () => {
  const policies: Record<string, TaintPolicySpec> = {
    p: { mode: 'Restore', taints: [ALWAYS, STARTUP, { key: 'other' }] },
  };
  const one = node([NETWORK, other], { allowRemoval: 'other:NoSchedule' });
  const { memoryIfUnwritten: memory } = step(one, policies);
  const { desired, expired } = step(one, policies, {
    before: memory,
    blockers: () => [],
    now: ALLOW_REMOVAL_LIFE_MS,
  });
  expect({ desired, expired }).toEqual({
    desired: { taints: [other, gpu], allowRemoval: undefined },
    expired: [other],
  });
});

describe('an entry and its taint that stand together', () => {
  const both = node([gpu], { allowRemoval: `a:NoExecute, ${GPU}` });

  it('end after an hour: the leader deletes the entry, and keeps the others', () => {
    const first = step(both, PROTECTED, { now: 1_000 });
    expect(first).toMatchObject({ desired: undefined, nextInMs: ALLOW_REMOVAL_LIFE_MS });
    const before = first.memoryIfUnwritten;
    expect(step(both, PROTECTED, { before, now: 1_000 + ALLOW_REMOVAL_LIFE_MS - 1 })).toMatchObject({
      desired: undefined,
      nextInMs: 1,
    });
    expect(step(both, PROTECTED, { before, now: 1_000 + ALLOW_REMOVAL_LIFE_MS })).toMatchObject({
      desired: { taints: [gpu], allowRemoval: 'a:NoExecute' },
      expired: [gpu],
    });
  });

  it.each<{ why: string; rule: TaintRule }>([
    { why: 'ensure: UntilReady', rule: STARTUP },
    { why: 'ensure: AtRegistration', rule: { ...NETWORK, ensure: 'AtRegistration' } },
  ])('end after an hour also for a startup taint: $why', ({ rule }) => {
    const waiting = node([NETWORK], { allowRemoval: 'a:NoExecute, example.com/network:NoSchedule' });
    const policies: Record<string, TaintPolicySpec> = { p: { mode: 'Restore', taints: [rule] } };
    const before = step(waiting, policies).memoryIfUnwritten;
    expect(step(waiting, policies, { before, now: ALLOW_REMOVAL_LIFE_MS - 1 }).desired).toBeUndefined();
    expect(step(waiting, policies, { before, now: ALLOW_REMOVAL_LIFE_MS })).toMatchObject({
      desired: { taints: [NETWORK], allowRemoval: 'a:NoExecute' },
      expired: [NETWORK],
    });
  });

  it.each<{ why: string; rule: TaintRule; entries: string; carried: Taint; ended: Taint[] }>([
    { why: 'a required taint', rule: { ...ANY_VALUE, ensure: 'Always' }, entries: GPU, carried: cpu, ended: [gpu] },
    {
      why: 'a startup taint',
      rule: { ...ANY_VALUE, ensure: 'UntilReady', readyWhen: READY_WHEN },
      entries: GPU,
      carried: cpu,
      ended: [gpu],
    },
    {
      why: 'a required taint with several entries',
      rule: { ...ANY_VALUE, ensure: 'Always' },
      entries: `${GPU}, dedicated=cpu:NoSchedule, dedicated:NoSchedule, a:NoExecute, ?`,
      carried: gpu,
      ended: [gpu, cpu, { key: 'dedicated', effect: 'NoSchedule' }],
    },
  ])('end after an hour with any value, if the policy names none: $why', ({ rule, entries, carried, ended }) => {
    const policies: Record<string, TaintPolicySpec> = { p: { mode: 'Restore', taints: [rule, { key: 'a' }] } };
    const of = node([other, carried], { allowRemoval: entries });
    const { memoryIfUnwritten: memory } = step(of, policies);
    expect(step(of, policies, { before: memory, now: ALLOW_REMOVAL_LIFE_MS }).expired).toEqual(ended);
  });

  it('count from the first time that this leader has seen both: another one begins anew', () => {
    const { memoryIfUnwritten: memory } = step(both, PROTECTED, { now: 0 });
    const apart = step(node([], { allowRemoval: GPU }), PROTECTED, { before: memory, now: 1_000 });
    const again = step(both, PROTECTED, { before: apart.memoryIfUnwritten, now: 2_000 });
    expect(again.nextInMs).toBe(ALLOW_REMOVAL_LIFE_MS);
    expect(step(both, PROTECTED, { now: ALLOW_REMOVAL_LIFE_MS }).desired).toBeUndefined();
  });

  it('end an hour after they began, also if another entry has ended meanwhile', () => {
    const policies: Record<string, TaintPolicySpec> = {
      p: { mode: 'Restore', taints: [{ key: 'dedicated' }, { key: 'other' }] },
    };
    const one = step(node([gpu], { allowRemoval: GPU }), policies, { now: 0 });
    const two = node([gpu, other], { allowRemoval: `${GPU},other:NoSchedule` });
    const begun = step(two, policies, { before: one.memoryIfUnwritten, now: 60_000 });
    const first = step(two, policies, { before: begun.memoryIfUnwritten, now: ALLOW_REMOVAL_LIFE_MS });
    expect(first.expired).toEqual([gpu]);
    const left = node([gpu, other], { allowRemoval: first.desired?.allowRemoval });
    const before = memoryAfterStep(first, ALLOW_REMOVAL_LIFE_MS);
    expect(step(left, policies, { before, now: ALLOW_REMOVAL_LIFE_MS })).toMatchObject({
      desired: undefined,
      nextInMs: 60_000,
    });
    expect(step(left, policies, { before, now: ALLOW_REMOVAL_LIFE_MS + 60_000 }).expired).toEqual([other]);
  });

  it('end at most once in an hour: a GitOps tool may put the entry back', () => {
    const endedAt = 5_000;
    const before: NodeMemory = {
      ...step(both, PROTECTED, { now: endedAt - ALLOW_REMOVAL_LIFE_MS }).memoryIfUnwritten,
      expired: [{ taint: gpu, at: endedAt }],
    };
    expect(step(both, PROTECTED, { before, now: endedAt + ALLOW_REMOVAL_LIFE_MS - 1 })).toMatchObject({
      desired: undefined,
      nextInMs: 1,
    });
    expect(step(both, PROTECTED, { before, now: endedAt + ALLOW_REMOVAL_LIFE_MS }).expired).toEqual([gpu]);
  });

  it.each<{ why: string; of: StoredNode; policies?: Record<string, TaintPolicySpec> }>([
    { why: 'the node does not carry the taint', of: node([], { allowRemoval: GPU }) },
    { why: 'the node carries another value', of: node([cpu], { allowRemoval: GPU }) },
    { why: 'no policy protects the taint', of: both, policies: { p: { mode: 'Restore', taints: [{ key: 'other' }] } } },
    { why: 'the policy only reports', of: both, policies: { p: { mode: 'Audit', taints: [{ key: 'dedicated' }] } } },
    {
      why: 'the policy of a startup taint only reports',
      of: node([NETWORK], { allowRemoval: 'example.com/network:NoSchedule' }),
      policies: { p: { mode: 'Audit', taints: [STARTUP] } },
    },
    {
      why: 'a startup taint has another value than its policy sets',
      of: node([{ ...NETWORK, value: 'x' }], { allowRemoval: 'example.com/network=x:NoSchedule' }),
      policies: { p: { mode: 'Restore', taints: [{ ...STARTUP, value: 'y' }] } },
    },
  ])('never end where $why', ({ of, policies = PROTECTED }) => {
    const { memoryIfUnwritten: memory, nextInMs } = step(of, policies);
    expect(nextInMs).toBeUndefined();
    expect(step(of, policies, { before: memory, now: 10 * ALLOW_REMOVAL_LIFE_MS }).desired).toBeUndefined();
  });
});

describe('a taint that another writer removes again and again', () => {
  const conflicting = (times: number, everyMs = 1_000) => {
    let memory = step(node([]), REQUIRED).memoryIfUnwritten;
    for (let n = 0; n < times; n++) memory = memoryAfterChanges(memory, SET_GPU, n * everyMs);
    return memory;
  };

  it(`is set ${UNDO_BUDGET.limit} times within the window, and then left alone and reported`, () => {
    for (let times = 0; times < UNDO_BUDGET.limit; times++) {
      const { desired, memoryIfUnwritten: memory } = step(node([]), REQUIRED, {
        before: conflicting(times),
        now: 5_000,
      });
      expect({ taints: desired?.taints, conflicts: memory.conflicts.size }).toEqual({ taints: [gpu], conflicts: 0 });
    }
    const found = step(node([]), REQUIRED, { before: conflicting(UNDO_BUDGET.limit), now: 5_000 });
    expect(found).toMatchObject({ desired: undefined, drift: { missing: [{ blockedBy: 'Conflict' }] } });
    expect([...found.memoryIfUnwritten.conflicts.values()]).toEqual([{ taint: gpu, policyNames: ['p'] }]);
  });

  it('is set again once the first time is past the window, and the conflict ends when the last one is', () => {
    const before = step(node([]), REQUIRED, { before: conflicting(UNDO_BUDGET.limit), now: 5_000 }).memoryIfUnwritten;
    const waits = step(node([]), REQUIRED, { before, now: 6_000 });
    expect(waits.nextInMs).toBe(UNDO_BUDGET.windowMs - 6_000);
    const again = step(node([]), REQUIRED, { before, now: UNDO_BUDGET.windowMs });
    expect(again.desired?.taints).toEqual([gpu]);
    expect(again.memoryIfUnwritten.conflicts.size).toBe(1);
    const last = (UNDO_BUDGET.limit - 1) * 1_000;
    expect(
      step(node([gpu]), REQUIRED, { before, now: UNDO_BUDGET.windowMs + last }).memoryIfUnwritten.conflicts.size,
    ).toBe(0);
  });
});

describe('a startup taint that another writer does not leave as it is', () => {
  const notReady: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
  const policies: Record<string, TaintPolicySpec> = { p: { mode: 'Restore', taints: [STARTUP] } };

  it.each([
    { change: 'set', before: [notReady], after: [notReady, NETWORK], isReady: false },
    { change: 'remove', before: [notReady, NETWORK], after: [notReady], isReady: true },
  ])('is left alone after three times, and changed again later: $change', ({ change, before, after, isReady }) => {
    const blockers = () => (isReady ? [] : [unmet('it waits')]);
    let { memoryIfUnwritten: memory } = step(node([]), {});
    for (let times = 0; times < UNDO_BUDGET.limit; times++) {
      const found = step(node(before), policies, { before: memory, blockers, now: times });
      expect(found).toMatchObject({ desired: { taints: after }, leftAlone: [] });
      memory = memoryAfterStep(found, times);
    }
    const left = step(node(before), policies, { before: memory, blockers, now: 5_000 });
    expect(left).toMatchObject({
      desired: undefined,
      leftAlone: [{ taint: NETWORK, change, policyNames: ['p'] }],
      nextInMs: UNDO_BUDGET.windowMs - 5_000,
    });
    expect([...left.memoryIfUnwritten.conflicts.values()]).toEqual([{ taint: NETWORK, policyNames: ['p'] }]);
    const again = { before: left.memoryIfUnwritten, blockers, now: UNDO_BUDGET.windowMs };
    expect(step(node(before), policies, again).desired?.taints).toEqual(after);
  });
});

describe('what the leader undoes itself is no conflict', () => {
  const notReady: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
  const network: Record<string, TaintPolicySpec> = { network: { mode: 'Restore', taints: [STARTUP] } };
  const all: TaintPolicySpec = { mode: 'Deny', taints: [{ key: 'example.com/*' }] };
  interface Move {
    readonly isReady?: boolean;
    readonly policies?: Record<string, TaintPolicySpec>;
    readonly waitMs?: number;
    /** Whether the node carries the startup taint afterwards. */
    readonly has: boolean;
  }
  const flaps = (times: number): Move[] =>
    Array.from({ length: times }).flatMap(() => [
      { isReady: false, has: true },
      { isReady: true, has: false },
    ]);

  it.each<{ why: string; moves: Move[] }>([
    { why: 'a node that registers without the taint, and becomes ready twice', moves: flaps(2) },
    { why: 'a daemon that restarts again and again while the node registers', moves: flaps(10) },
    {
      why: 'a policy that ends while another one protects the domain, and comes back',
      moves: [
        { isReady: false, has: true },
        { policies: { all }, waitMs: 0, has: true },
        { waitMs: POLICY_GONE_MS, has: false },
        { policies: { all, ...network }, has: true },
        { isReady: true, has: false },
      ],
    },
  ])('$why', ({ moves }) => {
    let of = node([notReady]);
    let before: NodeMemory | undefined;
    let now = 0;
    let policies = network;
    let isReady = false;
    const conflicts: unknown[] = [];
    const has: boolean[] = [];
    for (const move of moves) {
      now += move.waitMs ?? 1_000;
      policies = move.policies ?? policies;
      isReady = move.isReady ?? isReady;
      for (let isQuiet = false; !isQuiet; ) {
        const blockers = () => (isReady ? [] : [unmet('it waits')]);
        const one = step(of, policies, { ...(before ? { before } : {}), blockers, now, apiTime: now });
        conflicts.push(...one.leftAlone, ...one.memoryIfUnwritten.conflicts.values());
        isQuiet = one.desired === undefined;
        before = isQuiet ? one.memoryIfUnwritten : memoryAfterStep(one, now);
        of = withDesired(of, one.desired ?? {});
      }
      has.push(of.taints.some(({ key }) => key === NETWORK.key));
    }
    expect({ has, conflicts }).toEqual({ has: moves.map((move) => move.has), conflicts: [] });
  });
});

it('what another writer undoes is a conflict, also where the leader removes a value and sets another one', () => {
  const policies: Record<string, TaintPolicySpec> = {
    required: { mode: 'Restore', taints: [ALWAYS] },
    startup: {
      mode: 'Restore',
      taints: [{ key: 'dedicated', effect: 'NoSchedule', ensure: 'UntilReady', readyWhen: READY_WHEN }],
    },
  };
  const theirs = { key: 'dedicated', effect: 'NoSchedule' };
  let before: NodeMemory | undefined;
  let writes = 0;
  for (let now = 0; now < 20; now++) {
    // The leader writes twice, and then the other writer sets its value again.
    const of = node(now % 2 === 0 ? [theirs] : []);
    const one = step(of, policies, { ...(before ? { before } : {}), blockers: () => [], now });
    if (one.desired) writes++;
    before = one.desired ? memoryAfterStep(one, now) : one.memoryIfUnwritten;
  }
  expect(writes).toBeLessThanOrEqual(2 * UNDO_BUDGET.limit);
  expect([...(before?.conflicts.values() ?? [])]).toMatchObject([{ taint: { key: 'dedicated' } }]);
});

describe('a startup taint whose policy ended, and which the domain of another policy protects from then on', () => {
  const ALL: TaintPolicySpec = { mode: 'Deny', taints: [{ key: 'example.com/*' }] };
  const NETWORK_TEXT = 'example.com/network:NoSchedule';
  const waiting = step(node([NETWORK]), { all: ALL, network: { mode: 'Restore', taints: [STARTUP] } });
  /** What the leader does ten seconds after the policy has ended. */
  const later = (
    of: StoredNode,
    {
      all = ALL,
      more = {},
      before,
    }: {
      readonly all?: TaintPolicySpec;
      readonly more?: Record<string, TaintPolicySpec>;
      readonly before?: NodeMemory | undefined;
    } = {},
  ) => {
    const policies = { all, ...more };
    const first = step(of, policies, { before: waiting.memoryIfUnwritten, now: 0 });
    expect(first.desired).toBeUndefined();
    return step(of, policies, { before: before ?? first.memoryIfUnwritten, now: POLICY_GONE_MS });
  };

  it('is removed in two writes: an entry of allow-removal permits it, and ends with it', () => {
    const first = later(node([NETWORK, other], { allowRemoval: 'other:NoSchedule' }));
    expect(first.desired).toEqual({
      taints: [NETWORK, other],
      allowRemoval: `other:NoSchedule,${NETWORK_TEXT}`,
    });
    const before = memoryAfterStep(first, POLICY_GONE_MS);
    const second = later(node([NETWORK, other], { allowRemoval: first.desired?.allowRemoval }), { before });
    expect(second).toMatchObject({
      desired: { taints: [other], allowRemoval: 'other:NoSchedule' },
      startup: { removable: [{ taint: NETWORK, reason: 'no policy has it on the node any more' }] },
      expired: [],
    });
  });

  it.each<{ why: string; all: TaintPolicySpec }>([
    { why: 'the policy with the domain only reports', all: { ...ALL, mode: 'Audit' } },
    { why: 'the policy with the domain has other taints', all: { ...ALL, taints: [{ key: 'other' }] } },
  ])('is removed with its entry also where $why by the second write', ({ all }) => {
    const first = later(node([NETWORK]));
    const before = memoryAfterStep(first, POLICY_GONE_MS);
    const carrying = node([NETWORK], { allowRemoval: first.desired?.allowRemoval });
    expect(step(carrying, { all }, { before, now: POLICY_GONE_MS }).desired).toEqual({
      taints: [],
      allowRemoval: undefined,
    });
  });

  describe('has an entry of the leader, which ends once the leader does not need it', () => {
    const network: TaintPolicySpec = { mode: 'Restore', taints: [STARTUP] };
    const now = POLICY_GONE_MS + 1_000;
    /** What the leader does with the node after it has written the entry, or another leader. */
    const afterEntry = (
      more: Record<string, TaintPolicySpec>,
      { taints = [NETWORK], ...facts }: Partial<StepFacts> & { taints?: readonly Taint[] } = {},
    ) => {
      const first = later(node([NETWORK], { allowRemoval: 'other:NoSchedule' }));
      const before = memoryAfterStep(first, POLICY_GONE_MS);
      const of = node(taints, { allowRemoval: first.desired?.allowRemoval });
      const policies = { all: ALL, ...more };
      return {
        byThisLeader: step(of, policies, { before, now, ...facts }),
        byAnother: step(of, policies, { now, ...facts }),
      };
    };

    it.each<{
      why: string;
      more: Record<string, TaintPolicySpec>;
      facts?: Parameters<typeof afterEntry>[1];
      left: readonly Taint[];
    }>([
      { why: 'its policy has come back, and the node waits', more: { network }, left: [NETWORK] },
      {
        why: 'its policy has come back, and the node is ready',
        more: { network },
        facts: { blockers: () => [] },
        left: [],
      },
      {
        why: 'another policy sets it at registration',
        more: { a: { ...network, taints: [{ ...NETWORK, ensure: 'AtRegistration' }] } },
        left: [NETWORK],
      },
      {
        why: 'another policy protects its key',
        more: { a: { mode: 'Restore', taints: [{ key: NETWORK.key }] } },
        left: [NETWORK],
      },
      { why: 'another writer was first to remove the taint', more: {}, facts: { taints: [] }, left: [] },
    ])('$why', ({ more, facts, left }) => {
      const { byThisLeader, byAnother } = afterEntry(more, facts);
      expect(byThisLeader).toMatchObject({
        desired: { taints: left, allowRemoval: 'other:NoSchedule' },
        expired: [],
      });
      // It cannot know that no user wrote the entry.
      if (byAnother.desired) expect(byAnother.desired.allowRemoval).toBe(`other:NoSchedule,${NETWORK_TEXT}`);
    });

    it('stays while the taint is still to be removed', () => {
      expect(afterEntry({}, { isComplete: false }).byThisLeader.desired).toBeUndefined();
    });

    it('and one that a user writes afterwards stays', () => {
      const { byThisLeader: ending } = afterEntry({ network });
      const before = memoryAfterStep(ending, now);
      const annotated = node([NETWORK], { allowRemoval: NETWORK_TEXT });
      expect(step(annotated, { all: ALL, network }, { before, now }).desired).toBeUndefined();
      const ready = step(annotated, { all: ALL, network }, { before, now, blockers: () => [] });
      expect(ready.desired).toEqual({ taints: [], allowRemoval: NETWORK_TEXT });
    });

    it('also one that a user writes after the taint was removed', () => {
      const first = later(node([NETWORK]));
      const allowed = memoryAfterStep(first, POLICY_GONE_MS);
      const second = later(node([NETWORK], { allowRemoval: NETWORK_TEXT }), { before: allowed });
      const before = memoryAfterStep(second, POLICY_GONE_MS);
      expect(step(node([], { allowRemoval: NETWORK_TEXT }), { network }, { before, now }).desired).toBeUndefined();
    });

    it('is not the one that the leader wrote long ago', () => {
      const { byThisLeader } = afterEntry({ network }, { now: POLICY_GONE_MS + UNDO_BUDGET.windowMs });
      expect(byThisLeader.desired).toBeUndefined();
    });
  });

  it('gets no entry in an annotation that has as many as are read', () => {
    const allowRemoval = Array.from({ length: MAX_ALLOW_REMOVAL_ENTRIES }, (_, n) => `t${n}:NoSchedule`).join(', ');
    const full = later(node([NETWORK], { allowRemoval }));
    expect(full).toMatchObject({ desired: undefined, startup: { needEntry: [] } });
    // Otherwise the leader would find, after another write, that its entry was undone.
    expect(memoryAfterStep(full, POLICY_GONE_MS)).toEqual(full.memoryIfUnwritten);
  });

  it('gets no more entries once another writer has deleted some of them', () => {
    const of = node([NETWORK]);
    let { memoryIfUnwritten: memory } = later(of);
    for (let n = 0; n < UNDO_BUDGET.limit; n++) {
      const one = later(of, { before: memory });
      expect(one.desired).toMatchObject({ allowRemoval: NETWORK_TEXT });
      memory = memoryAfterStep(one, POLICY_GONE_MS);
    }
    expect(later(of, { before: memory })).toMatchObject({
      desired: undefined,
      leftAlone: [{ taint: NETWORK, change: 'remove', policyNames: ['network', 'all'] }],
    });
  });

  it('gets the entry whichever rule of the policy has the domain', () => {
    const all: TaintPolicySpec = { ...ALL, taints: [{ key: 'other' }, { key: 'example.com/*' }] };
    expect(later(node([NETWORK]), { all }).desired).toMatchObject({ allowRemoval: NETWORK_TEXT });
  });

  it.each<{ why: string; all: TaintPolicySpec; more?: Record<string, TaintPolicySpec> }>([
    { why: 'the policy reads no entries', all: { ...ALL, removalByAnnotation: 'Forbidden' } },
    {
      why: 'one of two policies reads no entries',
      all: ALL,
      more: { q: { ...ALL, removalByAnnotation: 'Forbidden' } },
    },
    { why: 'the policy names the key', all: { ...ALL, taints: [{ key: 'example.com/*' }, { key: NETWORK.key }] } },
    { why: 'the policy requires the taint', all: { ...ALL, taints: [{ ...NETWORK, ensure: 'Always' }] } },
  ])('stays where $why', ({ all, more = {} }) => {
    expect(later(node([NETWORK]), { all, more }).desired).toBeUndefined();
  });

  it.each<{ why: string; all: TaintPolicySpec }>([
    {
      why: 'the policy leaves out the key',
      all: { ...ALL, taints: [{ key: 'example.com/*', except: [NETWORK.key] }] },
    },
    { why: 'the policy only reports', all: { ...ALL, mode: 'Audit' } },
  ])('is removed at once where $why', ({ all }) => {
    expect(later(node([NETWORK]), { all }).desired).toEqual({ taints: [], allowRemoval: undefined });
  });
});

it('the memory of an earlier Node of that name does not count', () => {
  let { memoryIfUnwritten: memory } = step(node([]), REQUIRED);
  for (let n = 0; n < UNDO_BUDGET.limit; n++) memory = memoryAfterChanges(memory, SET_GPU, 0);
  const next = step(node([], { uid: 'u2' }), REQUIRED, { before: memory });
  expect(next.desired?.taints).toEqual([gpu]);
  expect(next.memoryIfUnwritten.uid).toBe('u2');
});

it('the startup taint of a deleted policy is removed after ten seconds', () => {
  const { memoryIfUnwritten: memory } = step(node([NETWORK]), { p: { mode: 'Restore', taints: [STARTUP] } });
  expect(isBlank(memory)).toBe(false);
  const waits = step(node([NETWORK]), {}, { before: memory, now: 1_000 });
  expect(waits).toMatchObject({ desired: undefined, nextInMs: POLICY_GONE_MS });
  const left = step(node([NETWORK]), {}, { before: waits.memoryIfUnwritten, now: 2_000 });
  expect(left).toMatchObject({ desired: undefined, nextInMs: POLICY_GONE_MS - 1_000 });
  const gone = step(node([NETWORK]), {}, { before: left.memoryIfUnwritten, now: 1_000 + POLICY_GONE_MS });
  expect(gone.desired).toMatchObject({ taints: [] });
});

it('an entry that a user wrote for a startup taint stays when the taint is removed', () => {
  const one = node([NETWORK], { allowRemoval: 'example.com/network:NoSchedule' });
  const policies: Record<string, TaintPolicySpec> = { p: { mode: 'Restore', taints: [STARTUP] } };
  expect(step(one, policies, { blockers: () => [] }).desired).toEqual({
    taints: [],
    allowRemoval: 'example.com/network:NoSchedule',
  });
});

it('a write is recorded: what was set, removed, and which entries were deleted', () => {
  const policies: Record<string, TaintPolicySpec> = {
    p: { mode: 'Restore', taints: [ALWAYS, STARTUP, { key: 'other' }] },
    q: { mode: 'Restore', taints: [{ ...ALWAYS, effect: 'NoExecute' }] },
  };
  const one = node([NETWORK, other], { allowRemoval: 'other:NoSchedule' });
  const { memoryIfUnwritten: memory } = step(one, policies);
  const now = ALLOW_REMOVAL_LIFE_MS;
  const written = step(one, policies, { before: memory, blockers: () => [], now });
  expect(memoryAfterStep(written, now)).toMatchObject({
    changes: [
      { taint: gpu, change: 'set', at: now },
      { taint: NETWORK, change: 'remove', at: now },
    ],
    expired: [{ taint: other, at: now }],
  });
  const first = step(node([]), REQUIRED);
  expect(memoryAfterStep(first, 1)).toMatchObject({
    changes: [{ taint: gpu, change: 'set', at: 1 }],
    expired: [],
    reboots: [],
  });
});

it('a startup taint is checked again at its deadline', () => {
  const policies: Record<string, TaintPolicySpec> = {
    p: { mode: 'Restore', taints: [{ ...STARTUP, readyWhen: { ...READY_WHEN, progressDeadlineSeconds: 60 } }] },
  };
  expect(step(node([NETWORK], { createdAt: 0 }), policies, { apiTime: 10_000 }).nextInMs).toBe(50_001);
  expect(step(node([NETWORK], { createdAt: 0 }), policies, { apiTime: 60_001 }).nextInMs).toBeUndefined();
});

it('a node that waits is checked again when it is reported, and when its taint is removed', () => {
  const until = (progressDeadlineSeconds: number): TaintRule => ({
    ...STARTUP,
    readyWhen: { ...READY_WHEN, progressDeadlineSeconds, afterDeadline: 'Remove' },
  });
  const policies: Record<string, TaintPolicySpec> = {
    p: { mode: 'Restore', taints: [until(60)] },
    q: { mode: 'Restore', taints: [until(900)] },
  };
  const at = (apiTime: number) => step(node([NETWORK]), policies, { apiTime });
  expect(at(0)).toMatchObject({ desired: undefined, nextInMs: 60_001 });
  expect(at(60_001)).toMatchObject({ desired: undefined, nextInMs: 900_001 - 60_001 });
  expect(at(900_001)).toMatchObject({ desired: { taints: [] } });
});

import { describe, expect, it } from 'vitest';
import { POLICY_GONE_MS } from '../../../../src/judge/ended-startup-taints.ts';
import { newMemory } from '../../../../src/judge/node/node-memory.ts';
import { nodeStep, type StepFacts } from '../../../../src/judge/node/node-step.ts';
import { UNDO_BUDGET } from '../../../../src/judge/node/undone-changes.ts';
import { formatStartupBoot } from '../../../../src/judge/node-boot.ts';
import type { StoredNode } from '../../../../src/judge/node-view.ts';
import { type Blocker, unmet } from '../../../../src/judge/startup/blocker.ts';
import { waitingText } from '../../../../src/judge/startup/waiting-taint.ts';
import { formatTaint } from '../../../../src/kubernetes/taint.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../../src/policy/taint-rule.ts';
import { policySet, storedTaintPolicies } from '../../policy/policies.ts';
import { judgeNode } from '../request/judge-node.ts';
import { memoryAfterChanges, memoryAfterReboot, memoryAfterStep } from './memories.ts';

const NOW = Date.parse('2026-11-28T12:00:00Z');
const DAY_MS = 86_400_000;
const TAINT = { key: 'example.com/network', effect: 'NoSchedule' } as const;
const TEXT = 'example.com/network:NoSchedule';
const NOT_READY = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' } as const;
const RULE: TaintRule = {
  ...TAINT,
  ensure: 'UntilReady',
  readyWhen: { daemonSets: [{ namespace: 'kube-system', name: 'cni' }] },
  afterReboot: 'SetAgain',
};
const spec = (more: Partial<TaintPolicySpec> = {}): TaintPolicySpec => ({ mode: 'Restore', taints: [RULE], ...more });
const policies = (specs: Record<string, TaintPolicySpec> = { p: spec() }) => policySet({ taint: specs }).taintPolicies;

const node = (more: Partial<StoredNode> = {}): StoredNode => ({
  name: 'n1',
  uid: 'u1',
  labels: {},
  taints: [],
  allowRemoval: undefined,
  createdAt: NOW - DAY_MS,
  ready: true,
  bootId: 'B',
  startupBoot: { bootId: 'A' },
  ...more,
});

const WAITS = [unmet('DaemonSet kube-system/cni: its pod is not Ready')];

function step(of: StoredNode, facts: Partial<StepFacts> = {}, before = newMemory('u1')) {
  return nodeStep(of, before, {
    policies: policies(),
    blockers: () => [],
    isComplete: true,
    now: 0,
    apiTime: NOW,
    ...facts,
  });
}

/** What a step writes: taints and boot. */
function written(...args: Parameters<typeof step>): string | undefined {
  const { desired } = step(...args);
  const boot = desired?.startupBoot && formatStartupBoot(desired.startupBoot);
  return desired && [desired.taints.map(formatTaint).join(','), ...(boot ? [boot] : [])].join(' | ');
}

const SET_AGAIN = `${TEXT} | B 2026-11-28T12:00:00Z`;
const ONLY_BOOT = ' | B 2026-11-28T12:00:00Z';

describe('a node that has rebooted', () => {
  it.each<{ why: string; node?: Partial<StoredNode>; specs?: Record<string, TaintPolicySpec>; writes?: string }>([
    { why: 'gets its taint again, in one write with the boot', writes: SET_AGAIN },
    { why: 'gets it whether or not it is Ready', node: { ready: false }, writes: SET_AGAIN },
    {
      why: 'gets it behind its own taints, once',
      node: { taints: [NOT_READY], createdAt: NOW - 1_000 },
      writes: `node.kubernetes.io/not-ready:NoSchedule,${SET_AGAIN}`,
    },
    { why: 'keeps it where it waits, with the new boot', node: { taints: [TAINT] }, writes: SET_AGAIN },
    {
      why: 'gets no value in place of that of another writer',
      node: { taints: [{ ...TAINT, value: 'x' }] },
      specs: { p: spec({ taints: [{ ...RULE, value: 'y' }] }) },
      writes: `example.com/network=x:NoSchedule | B 2026-11-28T12:00:00Z`,
    },
    {
      why: 'changes nothing where a policy ignores reboots',
      specs: { p: spec({ taints: [{ ...RULE, afterReboot: 'Ignore' }] }) },
    },
    {
      why: 'gets it where one of two policies says so',
      specs: { p: spec(), q: spec({ taints: [{ ...RULE, afterReboot: 'Ignore' }] }) },
      writes: SET_AGAIN,
    },
    { why: 'changes nothing in mode Audit', specs: { p: spec({ mode: 'Audit' }) } },
    {
      why: 'changes nothing where no policy selects it',
      specs: { p: spec({ nodeSelector: { matchLabels: { a: 'b' } } }) },
    },
    {
      why: 'gets no taint that another policy protects',
      specs: { p: spec(), q: { mode: 'Deny', taints: [{ key: TAINT.key }] } },
      writes: ONLY_BOOT,
    },
    { why: 'gets no taint that an entry keeps off', node: { allowRemoval: TEXT }, writes: ONLY_BOOT },
    { why: 'has not reported its boot', node: { bootId: undefined } as never },
    {
      why: 'has no record: whether it has rebooted is not known',
      node: { startupBoot: undefined } as never,
      writes: ' | B',
    },
    { why: 'has the record of this boot: the taint was removed in it', node: { startupBoot: { bootId: 'B' } } },
  ])('$why', ({ node: of, specs, writes }) => {
    const facts = { policies: policies(specs), blockers: () => WAITS };
    expect(written(node(of), facts)).toBe(writes);
    expect(step(node(of), facts).hasBootToWrite).toBe(writes !== undefined);
  });

  it.each([
    { why: 'one of two', readyWhen: { ...RULE.readyWhen, future: [{}] } },
    { why: 'the only one', readyWhen: { future: [{}] } },
  ])('is left to a version that knows all parts of the policy, also with the taint: $why', ({ readyWhen }) => {
    const facts = { policies: storedTaintPolicies({ p: spec({ taints: [{ ...RULE, readyWhen }] }) }) };
    expect(written(node(), facts)).toBe(undefined);
    expect(written(node({ taints: [TAINT], startupBoot: { bootId: 'B' } }), facts)).toBe(undefined);
  });

  it('waits for its turn, and its other taints do not', () => {
    const required = { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' } as const;
    const by = policies({ p: spec({ taints: [RULE, required] }) });
    const asked: string[] = [];
    const bootDueInMs = (kind: string) => asked.push(kind) * 400;
    const { desired, nextInMs, hasBootToWrite } = step(node(), { policies: by, bootDueInMs });
    expect({ desired, nextInMs, hasBootToWrite, asked }).toEqual({
      desired: { taints: [{ key: 'dedicated', effect: 'NoSchedule' }], allowRemoval: undefined },
      nextInMs: 400,
      hasBootToWrite: true,
      asked: ['SetAgain'],
    });
  });

  const rebooted = (setAtMsAgo: number) => ({ startupBoot: { bootId: 'B', setAt: NOW - setAtMsAgo }, taints: [TAINT] });

  it.each<{ why: string; node: Partial<StoredNode>; blockers?: Blocker[]; text?: string; nextInMs?: number }>([
    {
      why: 'the reboot is not recorded yet',
      node: { taints: [TAINT] },
      text: 'waits for the leader: it has not recorded the reboot of the node yet',
    },
    {
      why: '30 seconds are not over, though the DaemonSets look ready',
      node: rebooted(29_000),
      text: 'waits, since the reboot recorded at 2026-11-28T11:59:31Z, for the kubelet: 30 seconds after the reboot for replacing what it reported before',
      nextInMs: 1_000,
    },
    {
      why: 'the node is not Ready',
      node: { ...rebooted(60_000), ready: false },
      text: 'waits, since the reboot recorded at 2026-11-28T11:59:00Z, for the node: it has not been Ready since its reboot',
      nextInMs: 540_001,
    },
    {
      why: 'a DaemonSet is not ready',
      node: rebooted(60_000),
      blockers: WAITS,
      text: 'waits, since the reboot recorded at 2026-11-28T11:59:00Z, for DaemonSet kube-system/cni: its pod is not Ready',
      nextInMs: 540_001,
    },
    { why: 'nothing blocks', node: rebooted(30_000) },
  ])('keeps the taint until all holds: $why', ({ node: of, blockers = [], text, nextInMs }) => {
    // The turn of the write does not come, so that only removals are seen.
    const { startup, ...rest } = step(node(of), { blockers: () => blockers, bootDueInMs: () => 900_000 });
    expect(startup.waiting.map(waitingText)).toEqual(text === undefined ? [] : [`startup taint ${TEXT} ${text}`]);
    expect(startup.removable).toHaveLength(text === undefined ? 1 : 0);
    if (nextInMs !== undefined) expect(rest.nextInMs).toBe(nextInMs);
  });

  it('is overdue once the deadline has passed since the reboot, not since its creation', () => {
    const overdue = (msAgo: number) =>
      step(node(rebooted(msAgo)), { blockers: () => WAITS }).startup.waiting.map(({ isOverdue }) => isOverdue);
    expect([overdue(599_000), overdue(601_000)]).toEqual([[false], [true]]);
  });
});

describe('a reboot that was recorded while the clock of the API server was half an hour ahead, once the clock is right', () => {
  const recorded = node({ bootId: 'B', startupBoot: { bootId: 'B', setAt: NOW + 1_800_000 }, taints: [TAINT] });
  const memory = memoryAfterReboot(newMemory('u1'), [TAINT], 0);

  it('keeps the taint until the kubelet has reported anew', () => {
    const settling = step(recorded, { now: 5_000 }, memory);
    expect(settling.startup.waiting).toMatchObject([
      { blockers: [{ text: expect.stringContaining('the kubelet: 30 seconds') }], forMs: 5_000 },
    ]);
    expect(settling.nextInMs).toBe(25_000);
    expect(step(recorded, { now: 30_000 }, memory).startup.removable).toHaveLength(1);
  });

  it('keeps it while the node is not Ready', () => {
    expect(step({ ...recorded, ready: false }, { now: 60_000 }, memory).startup.removable).toEqual([]);
  });

  it('is none for a leader that did not record it: a user may have written the time', () => {
    expect(step(recorded).startup.removable).toHaveLength(1);
  });
});

describe('a boot ID that changes back and forth', () => {
  const times = (count: number) =>
    Array.from({ length: count }).reduce<ReturnType<typeof newMemory>>(
      (memory, _, index) => memoryAfterReboot(memory, [TAINT], index * 1_000),
      newMemory('u1'),
    );
  const now = 10_000;

  it('sets the taint as often as the limit on conflicts allows, and says so', () => {
    expect(written(node(), { now }, times(UNDO_BUDGET.limit - 1))).toBe(SET_AGAIN);
    const { desired, hasBootToWrite, leftAlone, nextInMs } = step(node(), { now }, times(UNDO_BUDGET.limit));
    expect({ desired, hasBootToWrite, leftAlone, nextInMs }).toEqual({
      desired: undefined,
      hasBootToWrite: true,
      leftAlone: [{ taint: TAINT, change: 'setAgain', policyNames: ['p'] }],
      nextInMs: UNDO_BUDGET.windowMs - now,
    });
    expect(written(node(), { now: UNDO_BUDGET.windowMs }, times(UNDO_BUDGET.limit))).toBe(SET_AGAIN);
  });

  it('is reported as well while the node still carries the taint, which stays', () => {
    const { desired, leftAlone, startup } = step(node({ taints: [TAINT] }), { now }, times(UNDO_BUDGET.limit));
    expect(desired).toBe(undefined);
    expect(leftAlone).toEqual([{ taint: TAINT, change: 'setAgain', policyNames: ['p'] }]);
    expect(startup.waiting.map(waitingText)).toEqual([
      `startup taint ${TEXT} waits for the leader: it has not recorded the reboot of the node yet`,
    ]);
  });

  it.each<{ why: string; of: Partial<StoredNode>; count: number }>([
    { why: 'the boot is set fewer times', of: {}, count: UNDO_BUDGET.limit - 1 },
    { why: 'the boot is recorded', of: { startupBoot: { bootId: 'B' }, taints: [TAINT] }, count: UNDO_BUDGET.limit },
  ])('is not reported where $why', ({ of, count }) => {
    expect(step(node(of), { now, blockers: () => WAITS }, times(count)).leftAlone).toEqual([]);
  });

  it('is recorded, without what the leader did in an earlier boot of the taints that it sets again', () => {
    const kept = { key: 'kept', effect: 'NoSchedule' } as const;
    const both = { p: spec({ taints: [RULE, { ...RULE, ...kept, afterReboot: 'Ignore' }] }) };
    const removed = [TAINT, kept].map((taint) => ({ taint, change: 'remove', wasAsWritten: false }) as const);
    const before = memoryAfterChanges(newMemory('u1'), removed, 0);
    const facts = { now, policies: policies(both), blockers: () => WAITS };
    const reboots = step(node({ taints: [kept] }), facts, before);
    expect(memoryAfterStep(reboots, now)).toMatchObject({
      changes: [
        { taint: kept, change: 'remove', at: 0 },
        { taint: TAINT, change: 'set', at: now },
      ],
      reboots: [now],
    });
  });

  it('that the leader removes the taint in each boot is no conflict', () => {
    const removedThrice = [0, 1, 2].reduce(
      (memory, at) => memoryAfterChanges(memory, [{ taint: TAINT, change: 'remove', wasAsWritten: false }], at),
      newMemory('u1'),
    );
    const settled = node({ startupBoot: { bootId: 'B', setAt: NOW - 30_000 }, taints: [TAINT] });
    expect(written(settled, { now }, removedThrice)).toBe(undefined);
    expect(written(settled, { now }, memoryAfterReboot(removedThrice, [TAINT], 3))).toBe('');
  });
});

describe('a node that registers', () => {
  const requester = { username: 'system:node:n1', groups: ['system:nodes'] };
  const created = (more: Partial<StoredNode>, specs?: Record<string, TaintPolicySpec>) => {
    const { startupBoot: _, ...bare } = node();
    const set = policySet({ taint: specs ?? { p: spec() } });
    return judgeNode({ phase: 'mutate', requester, node: { ...bare, ...more } }, set);
  };

  it.each<{ why: string; node: Partial<StoredNode>; specs?: Record<string, TaintPolicySpec>; desired?: object }>([
    { why: 'gets the taint and its boot', node: {}, desired: { taints: [TAINT], startupBoot: { bootId: 'B' } } },
    { why: 'with the taint gets its boot', node: { taints: [TAINT] }, desired: { startupBoot: { bootId: 'B' } } },
    { why: 'says so already', node: { taints: [TAINT], startupBoot: { bootId: 'B' } } },
    {
      why: 'with another boot, as from a backup, gets its own',
      node: { taints: [TAINT], startupBoot: { bootId: 'A' } },
      desired: { startupBoot: { bootId: 'B' } },
    },
    {
      why: 'with a time gets none',
      node: { taints: [TAINT], startupBoot: { bootId: 'B', setAt: NOW } },
      desired: { startupBoot: { bootId: 'B' } },
    },
    { why: 'is not selected', node: {}, specs: { p: spec({ nodeSelector: { matchLabels: { a: 'b' } } }) } },
    { why: 'is only reported', node: { taints: [TAINT] }, specs: { p: spec({ mode: 'Audit' }) } },
  ])('$why', ({ node: of, specs, desired }) => {
    const decision = created(of, specs);
    if (desired === undefined) expect(decision.action).toBe('allow');
    else expect(decision).toMatchObject({ action: 'patch', desired });
  });

  it('without a boot gets the taint alone', () => {
    const { bootId: _, startupBoot: __, ...bare } = node();
    const decision = judgeNode({ phase: 'mutate', requester, node: bare }, policySet({ taint: { p: spec() } }));
    expect(decision).toMatchObject({ action: 'patch', desired: { taints: [TAINT] } });
    expect(decision).not.toHaveProperty('desired.startupBoot');
  });
});

it('a node that gives up after the deadline does so from its reboot on, and stays without the taint in this boot', () => {
  const rule: TaintRule = {
    ...RULE,
    readyWhen: { ...RULE.readyWhen, progressDeadlineSeconds: 600, afterDeadline: 'Remove' },
  };
  const facts = { policies: policies({ p: spec({ taints: [rule] }) }), blockers: () => WAITS };
  const set = (msAgo: number) => ({ startupBoot: { bootId: 'B', setAt: NOW - msAgo } });
  expect(written(node(), facts)).toBe(SET_AGAIN);
  expect(written(node({ ...set(599_000), taints: [TAINT] }), facts)).toBe(undefined);
  expect(written(node({ ...set(601_000), taints: [TAINT] }), facts)).toBe('');
  expect(written(node(set(601_000)), facts)).toBe(undefined);
});

describe('a taint that the API server has not stored after a reboot', () => {
  const STORAGE = { key: 'example.com/storage', effect: 'NoSchedule' } as const;
  const facts: Partial<StepFacts> = {
    policies: policies({ p: spec({ taints: [RULE, { ...RULE, ...STORAGE }] }) }),
    blockers: () => WAITS,
  };
  /** The boot of the node is recorded, and the node lacks both taints. */
  const recorded = node({ startupBoot: { bootId: 'B', setAt: NOW } });
  const first = step(node(), facts);
  const unstored = memoryAfterStep(first, 0, { bootId: 'B', taints: [STORAGE] });

  it('is set again, and not the one that was stored: a user may have removed that', () => {
    const { startup, memoryIfUnwritten: memory } = step(recorded, facts, unstored);
    expect(startup.toSetAgain.map(({ taint }) => taint)).toEqual([STORAGE]);
    expect(memory.unstored).toEqual({ bootId: 'B', taints: [STORAGE] });
  });

  it('is forgotten once it is stored, or as soon as it would not have to wait', () => {
    const second = step(recorded, facts, unstored);
    const stored = memoryAfterStep(second, 0);
    expect(stored.unstored).toBe(undefined);
    const later = { ...facts, apiTime: NOW + DAY_MS };
    const ready = step(recorded, { ...later, blockers: () => [] }, unstored);
    expect(ready.memoryIfUnwritten.unstored).toBe(undefined);
    expect(step(recorded, later, ready.memoryIfUnwritten).startup.toSetAgain).toEqual([]);
  });

  /** Another writer is in conflict with the leader about it. */
  const thrice = [0, 1, 2].reduce((before) => {
    const one = step(recorded, facts, before);
    return memoryAfterStep(one, 0, { bootId: 'B', taints: [STORAGE] });
  }, unstored);

  it('stays due while another writer is in conflict with the leader about it', () => {
    const { startup, leftAlone, memoryIfUnwritten: memory } = step(recorded, facts, thrice);
    expect(startup.toSetAgain).toEqual([]);
    expect(leftAlone).toMatchObject([{ taint: STORAGE, change: 'set' }]);
    expect(memory.unstored?.taints).toEqual([STORAGE]);
  });

  it('stays due after the leader has set another taint, which was stored', () => {
    const gpu: TaintRule = { key: 'gpu', effect: 'NoSchedule', ensure: 'Always' };
    const withGpu = { ...facts, policies: policies({ p: spec({ taints: [RULE, { ...RULE, ...STORAGE }, gpu] }) }) };
    const one = step(recorded, withGpu, thrice);
    expect(one.desired?.taints).toMatchObject([{ key: 'gpu' }]);
    const stored = memoryAfterStep(one, 0);
    expect(stored.unstored).toEqual({ bootId: 'B', taints: [STORAGE] });
  });
});

describe('the record of a boot that no policy uses any more', () => {
  const NONE = { policies: policies({}) };
  const deletedAt = (now: number, facts: Partial<StepFacts>, before: ReturnType<typeof newMemory>, of = node()) => {
    const one = step(of, { ...facts, now }, before);
    return { ...one, deletes: one.desired?.startupBoot === null };
  };

  it.each<{ why: string; specs: Record<string, TaintPolicySpec>; audit?: boolean; of?: Partial<StoredNode> }>([
    { why: 'its policy was deleted', specs: {} },
    { why: 'its policy only reports', specs: { p: spec({ mode: 'Audit' }) } },
    { why: 'its policy ignores reboots', specs: { p: spec({ taints: [{ ...RULE, afterReboot: 'Ignore' }] }) } },
    { why: 'its policy selects other nodes', specs: { p: spec({ nodeSelector: { matchLabels: { a: 'b' } } }) } },
    { why: 'its policy was deleted with --audit', specs: {}, audit: true },
    { why: 'the kubelet has reported no boot ID', specs: {}, of: { bootId: undefined } as never },
    { why: 'the record has the present boot', specs: {}, of: { startupBoot: { bootId: 'B' } } },
  ])('is deleted after ten seconds: $why', ({ specs, audit = false, of }) => {
    const facts = { policies: policySet({ taint: specs }, { audit }).taintPolicies };
    const first = deletedAt(0, facts, newMemory('u1'), node(of));
    expect(first).toMatchObject({ desired: undefined, hasBootToWrite: false, nextInMs: POLICY_GONE_MS });
    const second = deletedAt(POLICY_GONE_MS - 1, facts, first.memoryIfUnwritten, node(of));
    expect(second).toMatchObject({ desired: undefined, nextInMs: 1 });
    const third = deletedAt(POLICY_GONE_MS, facts, second.memoryIfUnwritten, node(of));
    expect(third.desired).toEqual({ taints: [], allowRemoval: undefined, startupBoot: null });
  });

  it.each<{ why: string; by: StepFacts['policies'] }>([
    { why: 'another policy uses it', by: policies({ q: spec() }) },
    {
      why: 'a policy would use it without --audit',
      by: policySet({ taint: { p: spec() } }, { audit: true }).taintPolicies,
    },
    {
      why: 'another policy protects the taint of the one that uses it',
      by: policies({ p: spec(), q: { mode: 'Deny', taints: [{ key: TAINT.key }] } }),
    },
    {
      why: 'a newer version may use it',
      by: storedTaintPolicies({ p: spec({ taints: [{ ...RULE, readyWhen: { future: [{}] } as never }] }) }),
    },
  ])('stays: $why', ({ by }) => {
    const current = node({ startupBoot: { bootId: 'B' } });
    const first = deletedAt(0, { policies: by }, newMemory('u1'), current);
    expect(first.nextInMs).toBe(undefined);
    expect(deletedAt(POLICY_GONE_MS, { policies: by }, first.memoryIfUnwritten, current).desired).toBe(undefined);
  });

  it('stays until all policies are known for ten seconds: one that could not be read may use it', () => {
    const first = deletedAt(0, NONE, newMemory('u1'));
    const unknown = deletedAt(9_000, { ...NONE, isComplete: false }, first.memoryIfUnwritten);
    expect(unknown.nextInMs).toBe(undefined);
    const known = deletedAt(15_000, NONE, unknown.memoryIfUnwritten);
    expect(known.deletes).toBe(false);
    expect(deletedAt(25_000, NONE, known.memoryIfUnwritten).deletes).toBe(true);
  });

  it('stays where a policy is created again within ten seconds, which then sees the reboot', () => {
    const first = deletedAt(0, NONE, newMemory('u1'));
    expect(written(node(), { now: 9_000 }, first.memoryIfUnwritten)).toBe(SET_AGAIN);
  });

  it('is deleted when its turn comes', () => {
    const asked: string[] = [];
    const bootDueInMs = (kind: string) => asked.push(kind) * 400;
    const first = deletedAt(0, { ...NONE, bootDueInMs }, newMemory('u1'));
    const waits = deletedAt(POLICY_GONE_MS, { ...NONE, bootDueInMs }, first.memoryIfUnwritten);
    expect(waits).toMatchObject({ desired: undefined, hasBootToWrite: true, nextInMs: 400 });
    expect(asked).toEqual(['Delete']);
  });

  it('is deleted once, and again only after a policy has used it: no client is opposed that writes it back', () => {
    const first = deletedAt(0, NONE, newMemory('u1'));
    const deleted = memoryAfterStep(deletedAt(POLICY_GONE_MS, NONE, first.memoryIfUnwritten), POLICY_GONE_MS);
    const gone = step(node({ startupBoot: undefined } as never), { ...NONE, now: 15_000 }, deleted);
    const back = deletedAt(20_000, NONE, gone.memoryIfUnwritten);
    expect(back).toMatchObject({ desired: undefined, nextInMs: undefined });
    expect(deletedAt(40_000, NONE, back.memoryIfUnwritten).deletes).toBe(false);
    const current = node({ startupBoot: { bootId: 'B' } });
    const used = step(current, { now: 50_000 }, back.memoryIfUnwritten);
    const unused = deletedAt(60_000, NONE, used.memoryIfUnwritten, current);
    expect(deletedAt(70_000, NONE, unused.memoryIfUnwritten, current).deletes).toBe(true);
  });

  it('needs no step of a node without a record', () => {
    const { desired, nextInMs, memoryIfUnwritten } = step(node({ startupBoot: undefined } as never), NONE);
    expect({ desired, nextInMs, memoryIfUnwritten }).toEqual({
      desired: undefined,
      nextInMs: undefined,
      memoryIfUnwritten: newMemory('u1'),
    });
  });
});

import { describe, expect, it } from 'vitest';
import { POLICY_GONE_MS } from '../../../../src/judge/ended-startup-taints.ts';
import type { NodeBoot } from '../../../../src/judge/node-boot.ts';
import type { TrackedTaint } from '../../../../src/judge/startup/abandoned-taints.ts';
import { type Blocker, unmet } from '../../../../src/judge/startup/blocker.ts';
import { SETTLING_MS } from '../../../../src/judge/startup/reboot.ts';
import { carriedStartup } from '../../../../src/judge/startup/startup-requirement.ts';
import { REGISTRATION_MS, type StartupFacts, startupStep } from '../../../../src/judge/startup/startup-step.ts';
import { overdueAdvice, waitingText } from '../../../../src/judge/startup/waiting-taint.ts';
import { formatTaint, type Taint } from '../../../../src/kubernetes/taint.ts';
import { partsOf, type ReadyWhen } from '../../../../src/policy/ready-when.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import { policySet, storedTaintPolicies } from '../../policy/policies.ts';
import { judgeNode } from '../request/judge-node.ts';

const NOW = Date.parse('2026-11-22T12:00:00Z');
const TAINT = { key: 'example.com/network', effect: 'NoSchedule' } as const;
const NETWORK = 'example.com/network:NoSchedule';
const NOT_READY: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
const CILIUM = { namespace: 'kube-system', name: 'cilium' };
const GPU = { namespace: 'gpu', name: 'driver' };
const WAITS = [unmet('DaemonSet kube-system/cilium: its pod is not Ready')];

const rule = (daemonSets = [CILIUM], progressDeadlineSeconds = 600) =>
  ({ ...TAINT, ensure: 'UntilReady', readyWhen: { daemonSets, progressDeadlineSeconds } }) as const;
const spec = (more: Partial<TaintPolicySpec> = {}): TaintPolicySpec => ({ mode: 'Restore', taints: [rule()], ...more });
const policies = (taint: Record<string, TaintPolicySpec> = { network: spec() }) => policySet({ taint }).taintPolicies;

interface Situation extends Partial<StartupFacts> {
  readonly taints?: readonly Taint[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly allowRemoval?: string;
  readonly ageMs?: number;
  readonly by?: ReturnType<typeof policies>;
  readonly boot?: NodeBoot;
}

function step({
  taints = [TAINT],
  labels = {},
  allowRemoval,
  ageMs = 0,
  by = policies(),
  boot = {},
  ...facts
}: Situation = {}) {
  const node = { name: 'n', labels, taints, allowRemoval, createdAt: NOW - ageMs, ...boot };
  return startupStep(node, by, {
    blockers: () => WAITS,
    tracked: [],
    unusedRecord: undefined,
    unstored: [],
    isComplete: true,
    now: 0,
    apiTime: NOW,
    ...facts,
  });
}

const removed = (situation: Situation) => step(situation).removable.map(({ taint }) => formatTaint(taint));
const ready = { blockers: () => [] };

describe('a taint until DaemonSets are ready', () => {
  it('is set when the node registers, and removable by every user', () => {
    const set = policySet({ taint: { network: spec(), all: { mode: 'Deny', taints: [{ key: 'example.com/*' }] } } });
    const node = { name: 'n', labels: {}, taints: [], allowRemoval: undefined };
    const requester = { username: 'system:node:n', groups: ['system:nodes'] };
    const created = judgeNode({ phase: 'mutate', requester, node }, set);
    expect(created).toMatchObject({ action: 'patch', desired: { taints: [TAINT] } });
    const oldNode = { ...node, taints: [TAINT] };
    const update = judgeNode({ phase: 'validate', requester, oldNode, node }, set);
    expect(update).toMatchObject({ action: 'allow' });
  });

  it('waits while a DaemonSet is not ready, and while that is not known', () => {
    const waits = (blockers: StartupFacts['blockers']) => {
      const { removable, waiting } = step({ blockers });
      return { removable, texts: waiting.map(waitingText) };
    };
    const text = (blockers: string) => [`startup taint ${NETWORK} waits for ${blockers}`];
    const [cilium, gpu] = ['DaemonSet kube-system/cilium: its pod is not Ready', 'DaemonSet gpu/driver: not found'];
    expect(waits(() => [unmet(cilium), unmet(gpu)])).toEqual({ removable: [], texts: text(`${cilium}, and ${gpu}`) });
    for (const state of ['Unread', 'NotPermitted'] as const) {
      const blocker: Blocker = { text: 'DaemonSets: the pods were not read', state };
      expect(waits(() => [blocker])).toEqual({ removable: [], texts: text(blocker.text) });
    }
  });

  it.each([
    { why: 'of a new node', ageMs: 0 },
    { why: 'of a node of any age: another writer may have brought it back', ageMs: 100 * REGISTRATION_MS },
  ])('is removed when nothing blocks: $why', ({ ageMs }) => {
    expect(step({ ...ready, ageMs })).toMatchObject({
      waiting: [],
      toSetLate: [],
      removable: [{ taint: TAINT, policyNames: ['network'], reason: 'DaemonSet kube-system/cilium is ready' }],
    });
  });

  it.each<{ why: string; readyWhen: ReadyWhen; reason: string }>([
    {
      why: 'several DaemonSets',
      readyWhen: { daemonSets: [CILIUM, GPU] },
      reason: 'DaemonSets kube-system/cilium, gpu/driver are ready',
    },
    { why: 'no DaemonSet', readyWhen: { conditions: [{ type: 'A' }] }, reason: 'condition A is True' },
    {
      why: 'all DaemonSets',
      readyWhen: { allDaemonSets: {} },
      reason: 'all DaemonSets that run on the node are ready',
    },
    {
      why: 'each part',
      readyWhen: {
        daemonSets: [CILIUM],
        conditions: [{ type: 'A' }, { type: 'B', status: 'False' }],
        csiDrivers: [{ name: 'csi.example.com' }],
        allocatable: [{ resource: 'example.com/a' }],
      },
      reason:
        'DaemonSet kube-system/cilium is ready, condition A is True, condition B is False, CSI driver csi.example.com has registered, resource example.com/a is allocatable',
    },
  ])('says what holds: $why', ({ readyWhen, reason }) => {
    const by = policies({ network: spec({ taints: [{ ...rule(), readyWhen }] }) });
    expect(step({ ...ready, by }).removable).toMatchObject([{ reason }]);
  });

  describe('waits for a DaemonSet that another taint keeps off the node', () => {
    const dedicated = { key: 'example.com/dedicated', effect: 'NoSchedule' } as const;
    const keptOff = { name: 'kube-system/cilium', by: [NOT_READY, dedicated] };
    const blockers = () => [{ ...unmet('DaemonSet kube-system/cilium: it has no pod'), keptOff }];
    const protecting: TaintPolicySpec = { mode: 'Restore', taints: [{ key: 'example.com/dedicated' }] };
    const requiring: TaintPolicySpec = { mode: 'Restore', taints: [{ ...dedicated, ensure: 'Always' }] };
    const exempt = { users: ['operator'] };
    const by = (other: TaintPolicySpec) => policies({ network: spec(), other });
    const ended = policies({ ended: spec({ taints: [{ ...rule(), ...dedicated }] }) });
    const [requirement] = carriedStartup({ labels: {}, taints: [dedicated] }, ended);

    it.each<{ why: string; lasts: boolean; situation: Situation }>([
      { why: 'that a policy requires', lasts: true, situation: { by: by(requiring) } },
      {
        why: 'that a policy requires and exempt users may remove',
        lasts: false,
        situation: { by: by({ ...requiring, exempt }) },
      },
      { why: 'that a policy protects', lasts: true, situation: { by: by(protecting) } },
      { why: 'that exempt users may remove', lasts: false, situation: { by: by({ ...protecting, exempt }) } },
      {
        why: 'that a policy requires in mode Audit',
        lasts: false,
        situation: { by: by({ ...requiring, mode: 'Audit' }) },
      },
      { why: 'of no policy', lasts: false, situation: {} },
      {
        why: 'that exempt users of one policy may remove, and another policy protects',
        lasts: true,
        situation: { by: policies({ network: spec(), other: { ...protecting, exempt }, third: protecting }) },
      },
      {
        why: 'with an entry that a policy ignores',
        lasts: true,
        situation: {
          by: by({ ...protecting, removalByAnnotation: 'Forbidden' }),
          allowRemoval: formatTaint(dedicated),
        },
      },
      {
        why: 'that may be removed by an entry',
        lasts: false,
        situation: { by: by(protecting), allowRemoval: formatTaint(dedicated) },
      },
      {
        why: 'of a policy that has ended',
        lasts: false,
        situation: {
          by: by({ mode: 'Restore', taints: [{ key: 'example.com/*' }] }),
          tracked: requirement ? [{ requirement, undeclaredSince: 0 }] : [],
        },
      },
      {
        why: 'of a policy that has ended, with another one that ignores entries',
        lasts: true,
        situation: {
          by: by({ mode: 'Restore', taints: [{ key: 'example.com/*' }], removalByAnnotation: 'Forbidden' }),
          tracked: requirement ? [{ requirement, undeclaredSince: 0 }] : [],
        },
      },
    ])('a taint $why lasts: $lasts', ({ lasts, situation }) => {
      const { waiting } = step({ taints: [TAINT, NOT_READY, dedicated], blockers, ...situation });
      expect(waiting.map(({ lastingObstacles }) => lastingObstacles)).toEqual([
        lasts ? [{ name: 'kube-system/cilium', by: [dedicated] }] : [],
      ]);
    });
  });

  it('waits for its own DaemonSets, and is removed although another startup taint waits', () => {
    const other = { ...rule([GPU]), key: 'example.com/gpu' };
    const { waiting, removable } = step({
      by: policies({ network: spec({ taints: [rule(), other] }) }),
      taints: [TAINT, { ...TAINT, key: other.key }],
      blockers: ({ parts }) => (parts.daemonSets.includes(GPU) ? [unmet('DaemonSet gpu/driver: not found')] : []),
    });
    expect(removable.map(({ taint }) => taint)).toEqual([TAINT]);
    expect(waiting.map(waitingText)).toEqual([
      'startup taint example.com/gpu:NoSchedule waits for DaemonSet gpu/driver: not found',
    ]);
  });

  it('with another value is the taint of another writer', () => {
    const ours = { ...rule(), value: 'ours' };
    const withValue = (value: string, by: Record<string, TaintPolicySpec>) =>
      removed({ ...ready, by: policies(by), taints: [{ ...TAINT, value }] });
    expect(withValue('ours', { network: spec({ taints: [ours] }) })).toHaveLength(1);
    expect(withValue('theirs', { network: spec({ taints: [ours] }) })).toEqual([]);
    expect(withValue('', { network: spec({ taints: [{ ...rule(), value: '' }] }) })).toHaveLength(1);
    // A policy that names no value takes any.
    expect(withValue('theirs', { network: spec({ taints: [ours] }), other: spec() })).toEqual([
      'example.com/network=theirs:NoSchedule',
    ]);
  });

  it('waits for the DaemonSets of all policies that have it, and for the earliest deadline', () => {
    const by = policies({ network: spec({ mode: 'Deny' }), gpu: spec({ taints: [rule([GPU, CILIUM], 60)] }) });
    expect(step({ by }).waiting.map(({ requirement }) => requirement)).toEqual([
      {
        taint: TAINT,
        policyNames: ['gpu', 'network'],
        parts: partsOf({ daemonSets: [CILIUM, GPU] }),
        unknownParts: [],
        progressDeadlineMs: 60_000,
        removeAfterMs: undefined,
        setsAgain: false,
      },
    ]);
  });

  it.each([
    { ageMs: 600_000, isOverdue: false },
    { ageMs: 600_001, isOverdue: true },
  ])(
    'is overdue after the progress deadline, counted from the creation of the node: $ageMs',
    ({ ageMs, isOverdue }) => {
      expect(step({ ageMs }).waiting).toMatchObject([{ isOverdue }]);
    },
  );

  it('is neither set, removed nor reported by a policy in mode Audit, or for other nodes', () => {
    for (const by of [
      policies({ network: spec({ mode: 'Audit' }) }),
      policies({ network: spec({ nodeSelector: { matchLabels: { pool: 'a' } } }) }),
    ]) {
      expect(step({ by, taints: [NOT_READY] }).toSetLate).toEqual([]);
      expect(step({ ...ready, by })).toMatchObject({ removable: [], waiting: [] });
    }
  });
});

describe('with --audit', () => {
  const audited = (taint: Record<string, TaintPolicySpec>) => policySet({ taint }, { audit: true }).taintPolicies;
  const by = audited({ network: spec() });
  const setsAgain = audited({ network: spec({ taints: [{ ...rule(), afterReboot: 'SetAgain' }] }) });
  const rebooted: NodeBoot = { bootId: 'b', startupBoot: { bootId: 'a' } };

  it('a node that waits loses the taint once it is ready, as without', () => {
    expect(step({ by }).waiting.map(waitingText)).toEqual([
      `startup taint ${NETWORK} waits for DaemonSet kube-system/cilium: its pod is not Ready`,
    ]);
    expect(removed({ ...ready, by })).toEqual([NETWORK]);
  });

  it.each<{ why: string; policy: TaintPolicySpec; other?: TaintPolicySpec }>([
    { why: 'the policy itself only reports', policy: spec({ mode: 'Audit' }) },
    {
      why: 'another policy protects the taint',
      policy: spec(),
      other: { mode: 'Deny', taints: [{ key: TAINT.key }] },
    },
  ])('the taint stays where $why', ({ policy, other }) => {
    const { removable, waiting } = step({ ...ready, by: audited({ network: policy, ...(other ? { other } : {}) }) });
    expect({ removable, waiting }).toEqual({ removable: [], waiting: [] });
  });

  it('no taint is set, neither late nor after a reboot, and no boot is recorded for it', () => {
    expect(step({ taints: [NOT_READY] }).toSetLate).toHaveLength(1);
    const { toSetLate, toSetAgain, boot } = step({ by: setsAgain, taints: [NOT_READY], boot: rebooted });
    expect({ toSetLate, toSetAgain, boot }).toEqual({ toSetLate: [], toSetAgain: [], boot: undefined });
  });

  it('a node that reboots while it waits does not wait for ever', () => {
    const first = step({ ...ready, by: setsAgain, boot: rebooted });
    expect(first).toMatchObject({ removable: [], toSetAgain: [], boot: { startupBoot: { bootId: 'b', setAt: NOW } } });
    const recorded: NodeBoot = { bootId: 'b', startupBoot: { bootId: 'b', setAt: NOW - SETTLING_MS }, ready: true };
    expect(removed({ ...ready, by: setsAgain, boot: recorded })).toEqual([NETWORK]);
  });
});

describe('afterDeadline', () => {
  const until = (afterDeadline: 'Keep' | 'Remove' | undefined, progressDeadlineSeconds = 600) => ({
    ...rule(),
    readyWhen: { daemonSets: [CILIUM], progressDeadlineSeconds, ...(afterDeadline ? { afterDeadline } : {}) },
  });
  const of = (...rules: ReturnType<typeof until>[]) =>
    policies(Object.fromEntries(rules.map((one, index) => [`p${index}`, spec({ taints: [one] })])));
  const state = (state: Blocker['state']): Blocker => ({ text: 'CSI driver a: b', state });

  it.each<{
    why: string;
    by: ReturnType<typeof policies>;
    situation?: Situation;
    result: 'stays' | 'removed' | 'ready';
  }>([
    { why: 'Keep, which is the default', by: of(until(undefined)), result: 'stays' },
    { why: 'Keep', by: of(until('Keep')), result: 'stays' },
    { why: 'Remove', by: of(until('Remove')), result: 'removed' },
    { why: 'Remove, up to the deadline', by: of(until('Remove')), situation: { ageMs: 600_000 }, result: 'stays' },
    {
      why: 'Remove on a node of any age: another writer has brought the taint back',
      by: of(until('Remove')),
      situation: { ageMs: 100 * REGISTRATION_MS },
      result: 'removed',
    },
    {
      why: 'Remove, and the node became ready while no replica led: readiness is judged first',
      by: of(until('Remove')),
      situation: { ageMs: 100 * REGISTRATION_MS, ...ready },
      result: 'ready',
    },
    {
      why: 'Remove, and something has not been read yet, which may hold',
      by: of(until('Remove')),
      situation: { blockers: () => [...WAITS, state('Unread')] },
      result: 'stays',
    },
    {
      why: 'Remove, and a right is missing, which may stay so',
      by: of(until('Remove')),
      situation: { blockers: () => [state('NotPermitted'), state('Unreadable')] },
      result: 'removed',
    },
    { why: 'Keep beats Remove', by: of(until('Remove', 1), until('Keep', 1)), result: 'stays' },
    { why: 'the longest deadline removes', by: of(until('Remove', 1), until('Remove', 900)), result: 'stays' },
    { why: 'all deadlines have passed', by: of(until('Remove', 1), until('Remove', 599)), result: 'removed' },
    {
      why: 'another policy protects the taint',
      by: policies({ p0: spec({ taints: [until('Remove')] }), other: { mode: 'Deny', taints: [{ key: TAINT.key }] } }),
      result: 'stays',
    },
  ])('$why: the taint $result', ({ by, situation = {}, result }) => {
    const { removable } = step({ by, ageMs: 600_001, ...situation });
    expect(removable.map(({ isGivenUp }) => (isGivenUp ? 'removed' : 'ready'))).toEqual(
      result === 'stays' ? [] : [result],
    );
  });

  it('says why the taint was removed', () => {
    expect(step({ by: of(until('Remove')), ageMs: 600_001 }).removable).toMatchObject([
      {
        reason:
          'the deadline of 600 s has passed, though it waits for DaemonSet kube-system/cilium: its pod is not Ready',
      },
    ]);
  });

  it.each([
    [until('Remove'), until('Keep')],
    [until('Keep'), until('Remove')],
  ])('has no end if one policy keeps it', (...rules) => {
    expect(step({ by: of(...rules) }).waiting[0]?.requirement.removeAfterMs).toBe(undefined);
  });

  it('is reported at the shortest deadline, before the longest one removes the taint', () => {
    const by = of(until('Remove', 60), until('Remove', 900));
    expect(step({ by, ageMs: 60_000 }).waiting).toMatchObject([{ isOverdue: false }]);
    expect(step({ by, ageMs: 60_001 })).toMatchObject({ removable: [], waiting: [{ isOverdue: true }] });
    expect(step({ by, ageMs: 900_001 })).toMatchObject({ removable: [{ isGivenUp: true }], waiting: [] });
  });

  it('is not set late on a node from which it was removed', () => {
    const late = (ageMs: number) => step({ by: of(until('Remove', 60)), taints: [NOT_READY], ageMs }).toSetLate;
    expect(late(60_000)).toHaveLength(1);
    expect(late(60_001)).toEqual([]);
  });

  it('does not remove a taint with a part that this version does not know', () => {
    const readyWhen = { ...until('Remove').readyWhen, future: 1 };
    const by = storedTaintPolicies({ p: spec({ taints: [{ ...rule(), readyWhen }] }) });
    expect(by).toHaveLength(1);
    expect(step({ by, ageMs: 600_001 })).toMatchObject({ removable: [], waiting: [{ isOverdue: true }] });
  });
});

describe('a startup taint that the node registered without', () => {
  const late = (situation: Situation) =>
    step({ taints: [NOT_READY], ...situation }).toSetLate.map(({ taint }) => taint);

  it('is set late while the node is young, carries not-ready:NoSchedule, and is not ready', () => {
    expect(late({})).toEqual([TAINT]);
    expect(late({ ageMs: REGISTRATION_MS - 1 })).toEqual([TAINT]);
  });

  it.each<{ why: string; situation: Situation }>([
    { why: 'the node is not young', situation: { ageMs: REGISTRATION_MS } },
    { why: 'the node is Ready: pods may run there already', situation: { taints: [] } },
    { why: 'not-ready has another effect', situation: { taints: [{ ...NOT_READY, effect: 'NoExecute' }] } },
    { why: 'its DaemonSets are ready', situation: ready },
    { why: 'whether they are ready is not known', situation: { blockers: () => [{ text: 'x', state: 'Unread' }] } },
    { why: 'an entry of the annotation names it', situation: { allowRemoval: NETWORK } },
    {
      why: 'an entry names it with a value, and the policy names none',
      situation: { allowRemoval: 'example.com/network=x:NoSchedule' },
    },
    {
      why: 'an entry names it, beside a policy for other taints',
      situation: { by: policies({ a: spec({ taints: [{ key: 'a' }] }), network: spec() }), allowRemoval: NETWORK },
    },
  ])('is not set where $why', ({ situation }) => {
    expect(late(situation)).toEqual([]);
  });

  it('is set where the entry means nothing to the policy, or names another taint', () => {
    const by = policies({ network: spec({ removalByAnnotation: 'Forbidden' }) });
    expect(late({ by, allowRemoval: NETWORK })).toEqual([TAINT]);
    expect(late({ allowRemoval: 'example.com/other:NoSchedule' })).toEqual([TAINT]);
    const ours = policies({ network: spec({ taints: [{ ...rule(), value: 'ours' }] }) });
    expect(late({ by: ours, allowRemoval: 'example.com/network=theirs:NoSchedule' })).toHaveLength(1);
  });

  it('does not read what the node would wait for if an entry keeps the taint off: that may begin watches', () => {
    const blockers = () => {
      throw new Error('read for no reason');
    };
    expect(late({ allowRemoval: NETWORK, blockers })).toEqual([]);
  });
});

describe('a startup taint that is set late, or again after a reboot, is the one that the node gets when it registers', () => {
  const until = (more: object = {}) => spec({ taints: [{ ...rule(), afterReboot: 'SetAgain', ...more }] });
  const x = { value: 'x' };
  const rebooted: NodeBoot = { bootId: 'b', startupBoot: { bootId: 'a' } };

  it.each<{ why: string; specs: Record<string, TaintPolicySpec>; text: string }>([
    { why: 'no policy names a value', specs: { a: until(), b: until() }, text: NETWORK },
    {
      why: 'the second policy names a value',
      specs: { a: until(), b: until(x) },
      text: 'example.com/network=x:NoSchedule',
    },
    {
      why: 'the first policy names a value',
      specs: { a: until(x), b: until() },
      text: 'example.com/network=x:NoSchedule',
    },
    {
      why: 'both name one: the stronger mode counts',
      specs: { a: until(x), b: { ...until({ value: 'y' }), mode: 'Deny' } },
      text: 'example.com/network=y:NoSchedule',
    },
    {
      why: 'a policy of ensure: AtRegistration names a value',
      specs: { a: until(), b: spec({ taints: [{ ...TAINT, ...x, ensure: 'AtRegistration' }] }) },
      text: 'example.com/network=x:NoSchedule',
    },
    {
      why: 'a policy that names no value, and one that only reports',
      specs: { a: until(), b: { ...until(x), mode: 'Audit' } },
      text: NETWORK,
    },
  ])('$why', ({ specs, text }) => {
    const requester = { username: 'system:node:n', groups: ['system:nodes'] };
    const node = { name: 'n', labels: {}, taints: [], allowRemoval: undefined };
    const created = judgeNode({ phase: 'mutate', requester, node }, policySet({ taint: specs }));
    const registered = created.action === 'patch' ? created.desired.taints : [];
    const by = policies(specs);
    const { toSetLate } = step({ by, taints: [NOT_READY] });
    const { toSetAgain } = step({ by, taints: [], boot: rebooted });
    const texts = [registered, toSetLate.map(({ taint }) => taint), toSetAgain.map(({ taint }) => taint)];
    expect(texts.map((taints) => taints.map(formatTaint))).toEqual([[text], [text], [text]]);
  });

  it('so it stays while one of its policies has it', () => {
    const specs = { a: until(), b: until(x) };
    const taints = step({ by: policies(specs), taints: [NOT_READY] }).toSetLate.map(({ taint }) => taint);
    const { tracked } = step({ by: policies(specs), taints });
    const { b } = specs;
    const left = step({ by: policies({ b }), taints, tracked, now: 0 });
    expect(step({ by: policies({ b }), taints, tracked: left.tracked, now: POLICY_GONE_MS })).toMatchObject({
      removable: [],
      waiting: [{ requirement: { policyNames: ['b'] } }],
    });
  });

  it('with a value that its own policies accept', () => {
    const specs = { a: spec({ taints: [{ ...TAINT, value: 'y', ensure: 'AtRegistration' }] }), b: until(x) };
    const { toSetLate } = step({ by: policies(specs), taints: [NOT_READY] });
    expect(toSetLate.map(({ taint }) => formatTaint(taint))).toEqual(['example.com/network=x:NoSchedule']);
  });
});

describe('a startup taint that another policy keeps on the node', () => {
  const by = (other: TaintPolicySpec) => policies({ network: spec(), other });
  const exact: TaintPolicySpec = { mode: 'Deny', taints: [{ key: TAINT.key }] };

  it.each<{ why: string; other: TaintPolicySpec }>([
    { why: 'is required', other: spec({ taints: [{ ...TAINT, ensure: 'Always' }] }) },
    { why: 'is protected by its exact key', other: exact },
  ])('is not removed, set late, or waited for: it $why', ({ other }) => {
    expect(step({ ...ready, by: by(other) })).toMatchObject({ removable: [], waiting: [] });
    expect(step({ by: by(other), taints: [NOT_READY] }).toSetLate).toEqual([]);
  });

  it.each<{ why: string; other: TaintPolicySpec }>([
    { why: 'the other policy only reports', other: { ...exact, mode: 'Audit' } },
    { why: 'the other policy is for other nodes', other: { ...exact, nodeSelector: { matchLabels: { a: 'b' } } } },
    { why: 'it protects another taint', other: { ...exact, taints: [{ key: 'dedicated' }] } },
    {
      why: 'it protects the domain: the exact key of a startup taint wins',
      other: { ...exact, taints: [{ key: 'example.com/*' }] },
    },
  ])('is removed where $why', ({ other }) => {
    expect(removed({ ...ready, by: by(other) })).toEqual([NETWORK]);
  });
});

describe('a startup taint whose policy was deleted', () => {
  const waiting = step();
  const gone = (situation: Situation) => step({ by: [], tracked: waiting.tracked, ...situation });
  const since = (tracked: readonly TrackedTaint[]) => tracked.map(({ undeclaredSince }) => undeclaredSince);

  it('is removed ten seconds later by the leader that has seen the node wait', () => {
    expect(since(waiting.tracked)).toEqual([undefined]);
    const first = gone({ now: 1_000 });
    expect(first).toMatchObject({ removable: [], waiting: [] });
    expect(since(first.tracked)).toEqual([1_000]);
    expect(gone({ tracked: first.tracked, now: 1_000 + POLICY_GONE_MS - 1 }).removable).toEqual([]);
    expect(gone({ tracked: first.tracked, now: 1_000 + POLICY_GONE_MS }).removable).toEqual([
      { taint: TAINT, policyNames: ['network'], reason: 'no policy has it on the node any more', endsEntry: true },
    ]);
  });

  it.each<{ why: string; due: Situation }>([
    { why: 'the node is ready', due: ready },
    {
      why: 'the deadline has passed',
      due: {
        by: policies({
          network: spec({
            taints: [{ ...rule(), readyWhen: { daemonSets: [CILIUM], afterDeadline: 'Remove' } }],
          }),
        }),
        ageMs: 100 * REGISTRATION_MS,
      },
    },
  ])('also where its removal was due, and the API server refused it: $why', ({ due }) => {
    const refused = step(due);
    expect(refused).toMatchObject({ removable: [{ taint: TAINT }], waiting: [] });
    const first = gone({ tracked: refused.tracked, now: 0 });
    expect(gone({ tracked: first.tracked, now: POLICY_GONE_MS }).removable).toMatchObject([{ taint: TAINT }]);
  });

  it('also where the labels of the node changed', () => {
    const by = policies({ network: spec({ nodeSelector: { matchLabels: { pool: 'a' } } }) });
    const { tracked } = step({ by, labels: { pool: 'a' } });
    const left = step({ by, labels: {}, tracked, now: 0 });
    expect(step({ by, labels: {}, tracked: left.tracked, now: POLICY_GONE_MS }).removable).toHaveLength(1);
  });

  it('also where its rule has another value now: no policy sets the value that the node carries', () => {
    const by = (value: string) => policies({ network: spec({ taints: [{ ...rule(), value }] }) });
    const taints = [{ ...TAINT, value: 'a' }];
    const { tracked } = step({ by: by('a'), taints });
    const left = step({ by: by('b'), taints, tracked, now: 0 });
    expect(step({ by: by('b'), taints, tracked: left.tracked, now: POLICY_GONE_MS }).removable).toMatchObject([
      { taint: { ...TAINT, value: 'a' } },
    ]);
  });

  it('stays with a leader that has not seen that: the taint may be that of another writer', () => {
    expect(gone({ tracked: [], now: 10 * POLICY_GONE_MS })).toEqual({
      removable: [],
      needEntry: [],
      toSetLate: [],
      boot: undefined,
      toSetAgain: [],
      stillDue: [],
      waiting: [],
      tracked: [],
    });
  });

  it('waits on if the policy comes back, and is forgotten once the node does not carry it', () => {
    const { tracked } = gone({ now: 1_000 });
    expect(since(step({ tracked, now: 2_000 }).tracked)).toEqual([undefined]);
    expect(gone({ tracked, taints: [] }).tracked).toEqual([]);
    expect(
      gone({
        tracked: [
          {
            ...(tracked[0] as TrackedTaint),
            requirement: { ...(tracked[0] as TrackedTaint).requirement, values: ['ours'] },
          },
        ],
      }).tracked,
    ).toEqual([]);
  });

  it('is not removed while a policy cannot be read: that one may have it', () => {
    const { tracked } = gone({ now: 0, isComplete: false });
    const later = gone({ tracked, now: 2 * POLICY_GONE_MS, isComplete: false });
    expect(later.removable).toEqual([]);
    expect(gone({ tracked: later.tracked, now: 3 * POLICY_GONE_MS - 1 }).removable).toEqual([]);
    expect(gone({ tracked: later.tracked, now: 3 * POLICY_GONE_MS }).removable).toHaveLength(1);
  });

  it.each<{ why: string; spec: TaintPolicySpec; isRemoved: boolean }>([
    {
      why: 'another policy sets it at registration: an agent removes it',
      spec: spec({ taints: [{ ...TAINT, ensure: 'AtRegistration' }] }),
      isRemoved: false,
    },
    {
      why: 'another policy sets it with that value at registration',
      spec: spec({ taints: [{ ...TAINT, value: '', ensure: 'AtRegistration' }] }),
      isRemoved: false,
    },
    {
      why: 'another policy sets another value at registration',
      spec: spec({ taints: [{ ...TAINT, value: 'theirs', ensure: 'AtRegistration' }] }),
      isRemoved: true,
    },
    {
      why: 'a policy that sets it at registration does not select the node',
      spec: spec({
        nodeSelector: { matchLabels: { pool: 'a' } },
        taints: [{ ...TAINT, ensure: 'AtRegistration' }],
      }),
      isRemoved: true,
    },
    {
      why: 'a policy that only reports would set it at registration',
      spec: spec({ mode: 'Audit', taints: [{ ...TAINT, ensure: 'AtRegistration' }] }),
      isRemoved: true,
    },
  ])('is removed: $isRemoved, where $why', ({ spec: other, isRemoved }) => {
    const by = policies({ other });
    const { tracked } = gone({ by, now: 0 });
    expect(gone({ by, tracked, now: POLICY_GONE_MS }).removable).toHaveLength(isRemoved ? 1 : 0);
  });

  it('is not removed where another policy protects it', () => {
    const by = policies({ other: { mode: 'Deny', taints: [{ key: TAINT.key }] } });
    expect(gone({ by, tracked: gone({}).tracked, now: POLICY_GONE_MS }).removable).toEqual([]);
  });
});

it.each<{ why: string; readyWhen: ReadyWhen; advice: string[] }>([
  { why: 'named DaemonSets', readyWhen: { daemonSets: [CILIUM] }, advice: [] },
  {
    why: 'all DaemonSets',
    readyWhen: { allDaemonSets: {} },
    advice: ['a DaemonSet whose pods wait until the taint is removed belongs in allDaemonSets.except'],
  },
])('what to do about a node that waits for too long for $why', ({ readyWhen, advice }) => {
  const by = policies({ network: spec({ taints: [{ ...rule(), readyWhen }] }) });
  expect(step({ by }).waiting.map(({ requirement }) => overdueAdvice(requirement))).toEqual([advice]);
});

it('the startup taints that a node carries are those of enforced policies that select it', () => {
  const node = { name: 'n', labels: {}, taints: [TAINT], allowRemoval: undefined };
  const carriedBy = (one: TaintPolicySpec) => carriedStartup(node, policies({ one })).map(({ taint }) => taint);
  expect(carriedBy(spec())).toEqual([TAINT]);
  expect(carriedBy(spec({ mode: 'Audit' }))).toEqual([]);
  expect(carriedBy(spec({ taints: [{ ...rule(), key: 'example.com/other' }] }))).toEqual([]);
});

describe('a startup taint with a part that this version does not know', () => {
  const waitingFor = (more: object) => spec({ taints: [{ ...rule(), readyWhen: { daemonSets: [CILIUM], ...more } }] });
  const by = storedTaintPolicies({ new: waitingFor({ future: 1, next: 1 }), old: waitingFor({}) });
  const unknown = ['future', 'next'].map((part) => `TaintPolicy new (spec.taints[0].readyWhen.${part})`).join(', ');

  it('stays, also if another policy has the taint and all known parts hold', () => {
    const { removable, waiting } = step({ ...ready, by });
    expect(removable).toEqual([]);
    const text = `what this version of taintkeeper does not know: ${unknown}`;
    expect(waiting.map(({ blockers }) => blockers)).toEqual([[{ text, state: 'Unknown' }]]);
    expect(waiting.map(waitingText)).toEqual([`startup taint ${NETWORK} waits for ${text}`]);
  });

  it('is not set late', () => {
    expect(step({ by, taints: [NOT_READY] }).toSetLate).toEqual([]);
  });
});

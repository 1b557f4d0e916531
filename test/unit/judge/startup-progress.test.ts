import { describe, expect, it } from 'vitest';
import { MAX_STARTUP_TAINTS, NOTHING_RECORDED, type StartupProgress } from '../../../src/judge/node-record.ts';
import { nextRecord } from '../../../src/judge/record-keeping.ts';
import { startupFaults } from '../../../src/judge/startup-faults.ts';
import {
  POLICY_GONE_MS,
  REGISTRATION_MS,
  type StartupFacts,
  startupStep,
  waitingText,
} from '../../../src/judge/startup-progress.ts';
import { formatTaint, type Taint } from '../../../src/kubernetes/taint.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import { policySet } from '../policy/policies.ts';
import { recordListing } from './established.ts';
import { judgeNode } from './judge-node.ts';

const NOW = Date.parse('2026-11-22T12:00:00Z');
const TAINT = { key: 'example.com/network', effect: 'NoSchedule' } as const;
const NOT_READY: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
const CILIUM = { namespace: 'kube-system', name: 'cilium' };
const GPU = { namespace: 'gpu', name: 'driver' };

const rule = (daemonSets = [CILIUM], progressDeadlineSeconds = 600) =>
  ({ ...TAINT, ensure: 'UntilReady', readyWhen: { daemonSets, progressDeadlineSeconds } }) as const;
const spec = (more: Partial<TaintPolicySpec> = {}): TaintPolicySpec => ({ mode: 'Restore', taints: [rule()], ...more });
const policies = (taint: Record<string, TaintPolicySpec> = { network: spec() }) => policySet({ taint }).taintPolicies;

const recorded = (state: StartupProgress['state'], ageMs = 0): StartupProgress => ({
  ...TAINT,
  state,
  policies: ['network'],
  since: NOW - ageMs,
});

interface Situation extends Partial<StartupFacts> {
  /** The taints and the startup taints of the record. */
  readonly established?: string;
  readonly progress?: readonly StartupProgress[];
  readonly taints?: readonly Taint[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly ageMs?: number;
  readonly by?: ReturnType<typeof policies>;
}

function step({ taints = [TAINT], labels = {}, ageMs = 0, by = policies(), progress = [], ...rest }: Situation = {}) {
  const { established, ...more } = rest;
  const node = { uid: 'u1', labels, taints, createdAt: NOW - ageMs };
  const record = { ...recordListing(established), startup: progress };
  const { progress: after, ...found } = startupStep(node, record, by, {
    blockers: () => ['DaemonSet kube-system/cilium: its pod is not Ready'],
    unrequiredForMs: () => 0,
    now: NOW,
    ...more,
  });
  return { ...found, states: after.map(({ state }) => state), progress: after };
}

describe('a taint until DaemonSets are ready', () => {
  it('is set when the node registers, and removable by every user', () => {
    const set = policySet({
      taint: { network: spec(), all: { mode: 'Deny', taints: [{ key: '*', restrict: ['Removal'] }] } },
    });
    const node = { name: 'n', labels: {}, taints: [], allowRemoval: undefined };
    const requester = { username: 'system:node:n', groups: ['system:nodes'] };
    const created = judgeNode({ phase: 'mutate', requester, node }, set);
    expect(created).toMatchObject({ action: 'patch', desired: { taints: [TAINT] } });
    const oldNode = { ...node, taints: [TAINT], ...NOTHING_RECORDED, established: () => true };
    const removed = judgeNode({ phase: 'validate', requester, oldNode, node }, set);
    expect(removed).toMatchObject({ action: 'allow' });
  });

  it('waits while a DaemonSet is not ready, and while that is not known', () => {
    const waits = (blockers: StartupFacts['blockers']) => {
      const { states, removable, waiting } = step({ blockers });
      return { states, removable, texts: waiting.map(waitingText) };
    };
    const text = (blockers: string) => `startup taint example.com/network:NoSchedule waits for ${blockers}`;
    const [cilium, gpu] = ['DaemonSet kube-system/cilium: its pod is not Ready', 'DaemonSet gpu/driver: not found'];
    expect(waits(() => [cilium, gpu])).toEqual({
      states: ['Waiting'],
      removable: [],
      texts: [text(`${cilium}, and ${gpu}`)],
    });
    expect(waits(() => undefined)).toEqual({
      states: ['Waiting'],
      removable: [],
      texts: [text('its DaemonSets, which were not checked')],
    });
  });

  it('is to be removed when nothing blocks', () => {
    for (const progress of [[], [recorded('Waiting')]]) {
      expect(step({ blockers: () => [], progress })).toMatchObject({
        states: ['Ready'],
        waiting: [],
        removable: [{ taint: TAINT, reason: 'DaemonSet kube-system/cilium is ready' }],
      });
    }
  });

  it('waits for its own DaemonSets, and is removed although another startup taint waits', () => {
    const other = { ...rule([GPU]), key: 'example.com/gpu' };
    const by = policies({ network: spec({ taints: [rule(), other] }) });
    const taints = [TAINT, { ...TAINT, key: other.key }];
    const { waiting, removable } = step({
      by,
      taints,
      blockers: ({ daemonSets }) => (daemonSets.includes(GPU) ? ['DaemonSet gpu/driver: not found'] : []),
    });
    expect(removable.map(({ taint }) => taint)).toEqual([TAINT]);
    expect(waiting.map(waitingText)).toEqual([
      'startup taint example.com/gpu:NoSchedule waits for DaemonSet gpu/driver: not found',
    ]);
  });

  it('is not taken over from a node that registered long ago, or with another value', () => {
    const ready = { blockers: () => [] };
    expect(step({ ...ready, ageMs: REGISTRATION_MS }).states).toEqual(['Ready']);
    expect(step({ ...ready, ageMs: REGISTRATION_MS + 1 }).states).toEqual([]);
    const by = policies({ network: spec({ taints: [{ ...rule(), value: 'ours' }] }) });
    const carrying = (value: string) => step({ ...ready, by, taints: [{ ...TAINT, value }] }).states;
    expect([carrying('ours'), carrying('theirs')]).toEqual([['Ready'], []]);
    const empty = policies({ network: spec({ taints: [{ ...rule(), value: '' }] }) });
    expect(step({ ...ready, by: empty }).states).toEqual(['Ready']);
    expect(step({ ...ready, by: empty, taints: [{ ...TAINT, value: 'theirs' }] }).states).toEqual([]);
    const both = policies({ network: spec({ taints: [{ ...rule(), value: 'ours' }] }), other: spec() });
    expect(step({ ...ready, by: both, taints: [{ ...TAINT, value: 'theirs' }] }).states).toEqual(['Ready']);
  });

  it.each([
    { when: 'until the progress deadline', ageMs: 600_000, isOverdue: false },
    { when: 'after it', ageMs: 600_001, isOverdue: true },
    { when: 'long after the registration', ageMs: 2 * REGISTRATION_MS, isOverdue: true },
  ])('that the record has no room for waits for that: $when, overdue $isOverdue', ({ ageMs, isOverdue }) => {
    const others = Array.from({ length: MAX_STARTUP_TAINTS }, (_, n) => ({
      ...recorded('Removed'),
      key: `other-${n}`,
    }));
    const { states, waiting } = step({ progress: others, blockers: () => [], ageMs });
    expect(states).toHaveLength(MAX_STARTUP_TAINTS);
    expect(waiting.map((one) => [waitingText(one), one.isOverdue])).toEqual([
      [
        `startup taint example.com/network:NoSchedule waits for the record of the node, which lists ${MAX_STARTUP_TAINTS} startup taints`,
        isOverdue,
      ],
    ]);
    expect(step({ progress: others, taints: [], ageMs }).waiting).toEqual([]);
  });

  describe('that a policy keeps on the node', () => {
    const always = { ...TAINT, ensure: 'Always' } as const;
    const restricted: TaintPolicySpec = { mode: 'Deny', taints: [{ ...TAINT, restrict: ['Removal'] }] };

    it.each(['Waiting', 'Ready'] as const)('is no startup taint any more if it is required: %s', (state) => {
      const situation = { progress: [recorded(state)], blockers: () => [], unrequiredForMs: () => POLICY_GONE_MS };
      for (const by of [
        { network: spec({ taints: [always] }) },
        { network: spec(), other: spec({ taints: [always] }) },
      ]) {
        const { states, removable } = step({ ...situation, by: policies(by) });
        expect({ states, removable }).toEqual({ states: [], removable: [] });
      }
      const audit = policies({ network: spec(), other: spec({ mode: 'Audit', taints: [always] }) });
      expect(step({ ...situation, by: audit }).removable).toHaveLength(1);
    });

    it('is not recorded as a startup taint of a new node if another policy requires it', () => {
      const by = policies({ network: spec(), other: spec({ taints: [always] }) });
      expect(step({ by })).toMatchObject({ states: [], waiting: [] });
      expect(step({ by, taints: [] })).toMatchObject({ states: [], missed: [] });
    });

    it('is not removed while a policy restricts that', () => {
      const dedicated = { key: 'dedicated', effect: 'NoSchedule' } as const;
      const ready = { progress: [recorded('Ready')], taints: [dedicated, TAINT] };
      const by = (other: TaintPolicySpec) => policies({ network: spec(), other });
      const { states, removable } = step({ ...ready, by: by(restricted) });
      expect({ states, removable }).toEqual({ states: ['Ready'], removable: [] });
      expect(step({ ...ready, by: by({ ...restricted, mode: 'Audit' }) }).removable).toHaveLength(1);
      const other = { ...restricted, taints: [{ ...dedicated, restrict: ['Removal'] }] } satisfies TaintPolicySpec;
      expect(step({ ...ready, by: by(other) }).removable).toHaveLength(1);
      expect(
        step({ ...ready, by: by({ ...restricted, nodeSelector: { matchLabels: { a: 'b' } } }) }).removable,
      ).toHaveLength(1);
    });

    it('by a pattern, if the taint is established and the policy of the startup taint is in mode Audit', () => {
      const pattern: TaintPolicySpec = { mode: 'Deny', taints: [{ key: 'example.com/*', restrict: ['Removal'] }] };
      const by = (mode: TaintPolicySpec['mode']) => policies({ network: spec({ mode }), pattern });
      const removable = (mode: TaintPolicySpec['mode'], isEstablished: boolean) =>
        step({ progress: [recorded('Ready')], by: by(mode), established: isEstablished ? formatTaint(TAINT) : '' })
          .removable;
      expect(removable('Audit', true)).toEqual([]);
      expect(removable('Audit', false)).toHaveLength(1);
      expect(removable('Restore', true)).toHaveLength(1);
    });
  });

  it('stays to be removed although a DaemonSet is not ready any more', () => {
    const progress = [recorded('Ready', 60_000)];
    expect(step({ progress })).toMatchObject({ progress, waiting: [], removable: [{ taint: TAINT }] });
    expect(step({ progress, blockers: () => [] }).progress).toEqual(progress);
  });

  it.each(['Waiting', 'Ready'] as const)('is Removed once the node no longer carries it (%s)', (state) => {
    expect(step({ taints: [], progress: [recorded(state)] }).states).toEqual(['Removed']);
  });

  it.each(['Removed', 'Missed'] as const)('is never set again, nor removed, once it is %s', (state) => {
    for (const taints of [[], [TAINT], [NOT_READY]]) {
      const { states, late, missed } = step({ taints, progress: [recorded(state)], blockers: () => [] });
      expect({ states, late, missed }).toEqual({ states: [state], late: [], missed: [] });
    }
  });

  it('is set late only while the node carries not-ready:NoSchedule', () => {
    expect(step({ taints: [NOT_READY] })).toMatchObject({ states: [], missed: [], late: [{ taint: TAINT }] });
    expect(step({ taints: [] })).toMatchObject({ states: ['Missed'], missed: [{ taint: TAINT }], late: [] });
    const other = { ...NOT_READY, effect: 'NoExecute' };
    expect(step({ taints: [other] })).toMatchObject({ states: ['Missed'], late: [] });
  });

  it('concerns no node that registered long ago without it', () => {
    for (const taints of [[], [NOT_READY]]) {
      expect(step({ taints, ageMs: REGISTRATION_MS + 1 })).toMatchObject({ states: [], late: [], missed: [] });
    }
  });

  it('is reported after the progress deadline, counted from when it began to wait', () => {
    expect(step({ progress: [recorded('Waiting', 600_000)] }).waiting).toMatchObject([{ isOverdue: false }]);
    expect(step({ progress: [recorded('Waiting', 600_001)] }).waiting).toMatchObject([{ isOverdue: true }]);
  });

  it('keeps waiting when the labels of the node change', () => {
    const by = policies({ network: spec({ nodeSelector: { matchLabels: { pool: 'a' } } }) });
    expect(step({ by, labels: { pool: 'b' }, progress: [recorded('Waiting')] }).waiting).toHaveLength(1);
    expect(step({ by, labels: { pool: 'b' } }).states).toEqual([]);
  });

  it('is removed ten seconds after no policy requires it', () => {
    const progress = [recorded('Waiting')];
    const unrequiredFor = (ms: number) => step({ by: [], progress, unrequiredForMs: () => ms });
    expect(unrequiredFor(POLICY_GONE_MS - 1)).toMatchObject({ states: ['Waiting'], unrequired: progress });
    expect(unrequiredFor(POLICY_GONE_MS)).toMatchObject({
      states: ['Ready'],
      unrequired: [],
      removable: [{ taint: TAINT, reason: 'no policy requires it any more' }],
    });
  });

  it('is removed with a reason, and named as the policy states it', () => {
    const taints = [{ ...rule([CILIUM, GPU]), value: 'ours' }];
    const by = policies({ network: spec({ taints }) });
    expect(step({ by, taints: [{ ...TAINT, value: 'ours' }], blockers: () => [] }).removable).toMatchObject([
      {
        recorded: { ...TAINT, policies: ['network'] },
        taint: { ...TAINT, value: 'ours' },
        reason: 'DaemonSets kube-system/cilium, gpu/driver are ready',
      },
    ]);
  });

  it('is neither set nor recorded by a policy in mode Audit, and one that it has set before is removed', () => {
    const by = policies({ network: spec({ mode: 'Audit' }) });
    expect(step({ by, taints: [NOT_READY] })).toMatchObject({ states: [], late: [] });
    expect(step({ by, progress: [recorded('Waiting')], blockers: () => [] }).states).toEqual(['Ready']);
  });

  it('waits for the DaemonSets of all policies that require it, and for the earliest deadline', () => {
    const by = policies({ network: spec({ mode: 'Deny' }), gpu: spec({ taints: [rule([GPU, CILIUM], 60)] }) });
    expect(step({ by }).waiting.map(({ requirement }) => requirement)).toEqual([
      { taint: TAINT, policies: ['gpu', 'network'], daemonSets: [CILIUM, GPU], progressDeadlineMs: 60_000 },
    ]);
  });
});

describe('the record of a node with a startup taint', () => {
  const node = (uid = 'u') => ({
    name: 'n',
    uid,
    labels: {},
    taints: [],
    allowRemoval: undefined,
    established: () => false,
    removedInOneStep: () => false,
    labelsUnchangedMs: Infinity,
    machine: { systemUUID: '', providerID: '' },
  });
  const before = { uid: 'u', machine: { systemUUID: '', providerID: '' }, taints: [], startup: [recorded('Removed')] };

  it('stays while the Node exists and the policy requires the taint', () => {
    expect(nextRecord(before, node(), { policies: policies(), now: NOW, policiesUnchangedMs: Infinity })).toEqual(
      before,
    );
  });

  it.each([
    ['another Node has the name', node('other'), policies()],
    ['the Node is deleted', undefined, policies()],
    ['no policy requires the taint', node(), []],
  ])('goes when %s', (_, after, by) => {
    expect(nextRecord(before, after, { policies: by, now: NOW, policiesUnchangedMs: Infinity })).toBeUndefined();
  });

  it('stays for what waits although no policy requires the taint', () => {
    const waiting = { ...before, startup: [recorded('Waiting')] };
    expect(nextRecord(waiting, node(), { policies: [], now: NOW, policiesUnchangedMs: Infinity })).toEqual(waiting);
  });
});

describe('a policy whose startup taint would stay', () => {
  const ANY = [{ operator: 'Exists' }];
  const surroundings = (more: object = {}) => ({
    others: [],
    daemonSetOf: () => ({ tolerations: ANY, hostNetwork: false }),
    replicas: [{ tolerations: ANY }],
    ...more,
  });
  const faultsOf = (more: object, mode: TaintPolicySpec['mode'] = 'Restore') =>
    policies({ network: spec({ mode }) }).flatMap((policy) => startupFaults(policy, surroundings(more)));

  it.each([
    {
      reason: 'DaemonSetNotFound',
      more: { daemonSetOf: () => undefined },
      message:
        'DaemonSet kube-system/cilium does not exist: new nodes keep taint example.com/network:NoSchedule (spec.taints[0])',
      warning: 'DaemonSet kube-system/cilium does not exist: new nodes keep taint example.com/network:NoSchedule',
    },
    {
      reason: 'DaemonSetDoesNotTolerate',
      more: { daemonSetOf: () => ({ tolerations: [], hostNetwork: true }) },
      message:
        'DaemonSet kube-system/cilium does not tolerate taint example.com/network:NoSchedule (spec.taints[0]), which waits for it: ' +
        'new nodes keep the taint. Add the toleration to the DaemonSet',
      warning:
        'DaemonSet kube-system/cilium does not tolerate taint example.com/network:NoSchedule, which waits for it',
    },
    {
      reason: 'TaintkeeperDoesNotTolerate',
      more: { replicas: [{ tolerations: [] }] },
      message:
        'the pods of taintkeeper do not tolerate taint example.com/network:NoSchedule (spec.taints[0]): ' +
        'in a cluster with only new nodes, taintkeeper could not run to remove it. Add the toleration to its Deployment',
      warning: 'the pods of taintkeeper do not tolerate taint example.com/network:NoSchedule',
    },
  ])('is reported: $reason', ({ reason, more, message, warning }) => {
    expect(faultsOf(more)).toEqual([{ reason, message, warning }]);
    expect(faultsOf(more, 'Audit')).toEqual([]);
  });

  it('is not reported without such a problem', () => {
    expect(faultsOf({})).toEqual([]);
    expect(faultsOf({ replicas: [] })).toEqual([]);
  });

  const protecting: TaintPolicySpec = { mode: 'Deny', taints: [{ ...TAINT, restrict: ['Removal'] }] };
  const pool = (name: string) => ({ nodeSelector: { matchLabels: { pool: name } } });
  const conflictsIn = (taint: Record<string, TaintPolicySpec>) => {
    const all = policies(taint);
    return all.flatMap((policy) =>
      startupFaults(policy, surroundings({ others: all.filter((other) => other !== policy) })).map((fault) => ({
        policy: policy.name,
        ...fault,
      })),
    );
  };

  it.each([
    ['UntilReady', rule()],
    ['AtRegistration', { ...TAINT, ensure: 'AtRegistration' } as const],
  ])('and the policy that restricts its removal by its exact key both report the conflict: %s', (_, startup) => {
    const message =
      'spec.taints[0] of TaintPolicy other restricts the removal of startup taint example.com/network:NoSchedule ' +
      '(spec.taints[0] of TaintPolicy network): remove the key from spec.taints[0]';
    const reason = 'StartupTaintProtected';
    expect(conflictsIn({ network: spec({ taints: [startup] }), other: protecting })).toEqual([
      {
        policy: 'other',
        reason,
        message,
        warning:
          'spec.taints[0] restricts the removal of startup taint example.com/network:NoSchedule of TaintPolicy network',
      },
      {
        policy: 'network',
        reason,
        message,
        warning:
          'TaintPolicy other (spec.taints[0]) restricts the removal of startup taint example.com/network:NoSchedule',
      },
    ]);
  });

  it('and the other policy report both conflicts if each restricts the removal of a startup taint of the other', () => {
    const restricted = (key: string) => ({ ...TAINT, key, restrict: ['Removal'] }) as const;
    const found = conflictsIn({
      network: spec({ taints: [rule(), restricted('example.com/storage')] }),
      storage: spec({ taints: [{ ...rule(), key: 'example.com/storage' }, restricted(TAINT.key)] }),
    });
    expect(found.map(({ policy, warning }) => `${policy}: ${warning}`)).toEqual([
      'network: TaintPolicy storage (spec.taints[1]) restricts the removal of startup taint example.com/network:NoSchedule',
      'network: spec.taints[1] restricts the removal of startup taint example.com/storage:NoSchedule of TaintPolicy storage',
      'storage: TaintPolicy network (spec.taints[1]) restricts the removal of startup taint example.com/storage:NoSchedule',
      'storage: spec.taints[1] restricts the removal of startup taint example.com/network:NoSchedule of TaintPolicy network',
    ]);
  });

  it('has no conflict with a pattern before it is applied: then, the pattern will leave its key out', () => {
    const taints = ['*', 'example.com/other'].map((key) => ({ key, restrict: ['Removal'] }) as const);
    expect(faultsOf({ others: policies({ other: { mode: 'Deny', taints } }) })).toEqual([]);
  });

  it.each<[string, Record<string, TaintPolicySpec>]>([
    ['a pattern', { network: spec(), other: { ...protecting, taints: [{ key: '*', restrict: ['Removal'] }] } }],
    [
      'another effect',
      { network: spec(), other: { ...protecting, taints: [{ ...TAINT, effect: 'NoExecute', restrict: ['Removal'] }] } },
    ],
    ['only additions', { network: spec(), other: { ...protecting, taints: [{ ...TAINT, restrict: ['Addition'] }] } }],
    ['mode Audit', { network: spec(), other: { ...protecting, mode: 'Audit' } }],
    ['a startup taint in mode Audit', { network: spec({ mode: 'Audit' }), other: protecting }],
    ['other nodes', { network: spec(pool('a')), other: { ...protecting, ...pool('b') } }],
    ['a required taint', { network: spec({ taints: [{ ...TAINT, ensure: 'Always' }] }), other: protecting }],
  ])('has no conflict: %s', (_, taint) => {
    expect(conflictsIn(taint)).toEqual([]);
  });
});

import { expect, it } from 'vitest';
import { ALLOW_REMOVAL_LIFE_MS } from '../../../../src/judge/allow-removal.ts';
import { POLICY_GONE_MS } from '../../../../src/judge/ended-startup-taints.ts';
import { type NodeMemory, newMemory } from '../../../../src/judge/node/node-memory.ts';
import { type NodeStep, nodeStep } from '../../../../src/judge/node/node-step.ts';
import { separateSteps } from '../../../../src/judge/node/separate-steps.ts';
import type { StoredNode } from '../../../../src/judge/node-view.ts';
import { unmet } from '../../../../src/judge/startup/blocker.ts';
import { formatTaint, type Taint } from '../../../../src/kubernetes/taint.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../../src/policy/taint-rule.ts';
import { policySet } from '../../policy/policies.ts';
import { memoryAfterStep } from './memories.ts';

const NOW = Date.parse('2026-11-28T12:00:00Z');
const taint = (key: string) => ({ key, effect: 'NoSchedule' }) as const;
const [ALLOWED, AGAIN, LATE, READY] = [taint('allowed'), taint('again'), taint('late'), taint('ready')];
const NOT_READY = taint('node.kubernetes.io/not-ready');
const untilReady = ({ key }: Taint, more: object = {}) =>
  ({ ...taint(key), ensure: 'UntilReady', readyWhen: { allocatable: [{ resource: 'a/b' }] }, ...more }) as TaintRule;
const restore = (...taints: TaintPolicySpec['taints']): TaintPolicySpec => ({ mode: 'Restore', taints });
const POLICIES = {
  required: restore({ ...taint('required'), ensure: 'Always' }),
  allowed: restore({ key: 'allowed' }),
  again: restore(untilReady(AGAIN, { afterReboot: 'SetAgain' })),
  late: restore(untilReady(LATE)),
  ready: restore(untilReady(READY)),
};

/** Lacks `required`, `again` since its reboot, and `late`. Carries `ready`, which it no longer needs, and `allowed`, whose entry has ended. */
const NODE: StoredNode = {
  name: 'n1',
  uid: 'u1',
  labels: {},
  taints: [NOT_READY, ALLOWED, READY],
  allowRemoval: 'allowed:NoSchedule',
  createdAt: NOW - 1_000,
  ready: false,
  bootId: 'B',
  startupBoot: { bootId: 'A' },
};

const stepOf = (policies: Record<string, TaintPolicySpec>, node = NODE) =>
  nodeStep(
    node,
    { ...newMemory('u1'), carriedWithEntry: [{ taint: ALLOWED, at: -ALLOW_REMOVAL_LIFE_MS }] },
    {
      policies: policySet({ taint: policies }).taintPolicies,
      blockers: ({ taint: { key } }) => (key === READY.key ? [] : [unmet('it waits')]),
      isComplete: true,
      now: 0,
      apiTime: NOW,
    },
  );

it('has the changes of each kind alone, the required taints first and removals last', () => {
  const separate = separateSteps(NODE, stepOf(POLICIES));
  const shown = separate.map(({ desired: { taints, allowRemoval, startupBoot }, changes, expired, revoked }) => ({
    taints: taints.map(({ key }) => key.replace('node.kubernetes.io/', '')).join(' '),
    changes: changes.map((one) => `${one.change} ${one.taint.key}`).join(', '),
    ...(allowRemoval === NODE.allowRemoval ? {} : { allowRemoval }),
    ...(startupBoot ? { boot: startupBoot.bootId } : {}),
    ...(expired.length > 0 ? { expired: expired.map(formatTaint) } : {}),
    ...(revoked.length > 0 ? { revoked } : {}),
  }));
  expect(shown).toEqual([
    { taints: 'not-ready allowed ready required', changes: 'set required' },
    { taints: 'not-ready allowed ready again', changes: 'set again', boot: 'B' },
    { taints: 'not-ready allowed ready late', changes: 'set late' },
    { taints: 'not-ready allowed ready', changes: '', allowRemoval: undefined, expired: ['allowed:NoSchedule'] },
    { taints: 'not-ready allowed', changes: 'remove ready' },
  ]);
  // Only the first of them sets required taints: the others report the rest as missing.
  expect(separate.map(({ drift: { missing } }) => missing.length)).toEqual([1, 0, 0, 0, 0]);
});

it('has the entry for an ended startup taint, and its end with the taint', () => {
  const ended = { key: 'example.com/network', effect: 'NoSchedule' } as const;
  const domain = restore({ key: 'example.com/*' });
  const after = { required: POLICIES.required, domain };
  const at = (now: number, policies: Record<string, TaintPolicySpec>, node: StoredNode, before?: NodeMemory) =>
    nodeStep(node, before, {
      policies: policySet({ taint: policies }).taintPolicies,
      blockers: () => [unmet('it waits')],
      isComplete: true,
      now,
      apiTime: NOW,
    });
  const of = (allowRemoval?: string): StoredNode => ({
    name: 'n1',
    uid: 'u1',
    labels: {},
    taints: [ended],
    allowRemoval,
  });
  const shown = (node: StoredNode, step: NodeStep) =>
    separateSteps(node, step).map(({ desired: { taints, allowRemoval }, changes }) => [
      taints.map(({ key }) => key).join(' '),
      allowRemoval,
      ...changes.map(({ change }) => change),
    ]);
  const waiting = at(0, { domain, network: restore(untilReady(ended)) }, of()).memoryIfUnwritten;
  const gone = at(0, after, of(), waiting).memoryIfUnwritten;
  const allowing = at(POLICY_GONE_MS, after, of(), gone);
  const entry = 'example.com/network:NoSchedule';
  expect(shown(of(), allowing)).toEqual([
    ['example.com/network required', undefined, 'set'],
    ['example.com/network', entry, 'allow'],
  ]);
  const [, alone] = separateSteps(of(), allowing);
  const allowed = alone && memoryAfterStep(alone, POLICY_GONE_MS);
  expect(shown(of(entry), at(POLICY_GONE_MS + 1, after, of(entry), allowed))).toEqual([
    ['example.com/network required', entry, 'set'],
    ['', undefined, 'remove'],
  ]);
});

it('are the whole step together', () => {
  const step = stepOf(POLICIES);
  const separate = separateSteps(NODE, step);
  const sorted = (changes: typeof step.changes) => changes.map((one) => JSON.stringify(one)).toSorted();
  expect(sorted(separate.flatMap(({ changes }) => changes))).toEqual(sorted(step.changes));
  const before = new Set<string>(NODE.taints.map(({ key }) => key));
  const after = new Set(before);
  for (const { desired } of separate) {
    const keys = new Set(desired.taints.map(({ key }) => key));
    for (const key of keys) if (!before.has(key)) after.add(key);
    for (const key of before) if (!keys.has(key)) after.delete(key);
  }
  expect([...after].toSorted()).toEqual(step.desired?.taints.map(({ key }) => key).toSorted());
});

it.each<{ why: string; policies: Record<string, TaintPolicySpec>; node?: StoredNode }>([
  { why: 'nothing is to be done', policies: {} },
  { why: 'only required taints are missing', policies: { required: POLICIES.required } },
  { why: 'a reboot is recorded with its taint', policies: { again: POLICIES.again } },
])('are none where $why', ({ policies }) => {
  expect(separateSteps(NODE, stepOf(policies))).toEqual([]);
});

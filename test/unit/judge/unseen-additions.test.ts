import { describe, expect, it } from 'vitest';
import type { NodeView } from '../../../src/judge/node-view.ts';
import {
  type AcceptedTaints,
  ADDITION_GRACE_MS,
  acceptedTaints,
  type UnseenAddition,
  unseenAdditions,
  withoutReverted,
} from '../../../src/judge/unseen-additions.ts';
import { formatTaint, type Taint } from '../../../src/kubernetes/taint.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../src/policy/taint-rule.ts';
import { policySet } from '../policy/policies.ts';
import { nodeOf, type Policies, rule } from './node-drifts.ts';

const gpu: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const other: Taint = { key: 'other', effect: 'NoSchedule' };
const GUARD: TaintRule = { key: 'dedicated', restrict: ['Addition'] };
const BOTH_WAYS: TaintRule = { key: 'dedicated', restrict: ['Removal', 'Addition'] };
const NOBODY_MAY = { p: rule('Restore', GUARD) };
const exempting = (spec: TaintPolicySpec): TaintPolicySpec => ({ ...spec, exempt: { users: ['owner'] } });

/** When the leader began. */
const BEGIN = 5_000;

interface Watched {
  readonly before?: NodeView;
  /** As long after the first check as additions before are accepted, unless said otherwise. */
  readonly afterMs?: number;
  /** What the record lists and the node did not carry at the first check. */
  readonly lost?: readonly Taint[];
  readonly isInConflict?: (taint: Taint) => boolean;
  /** The policies at the first check, where they were others. */
  readonly at?: Policies;
}

const compiled = (policies: Policies) => policySet({ taint: policies }).taintPolicies;

function firstCheck(policies: Policies, node: NodeView, lost: readonly Taint[] = []): AcceptedTaints {
  return acceptedTaints(undefined, node, compiled(policies), { additions: [], lost, now: BEGIN });
}

/** What a leader finds on the node that has checked it once before. */
function found(policies: Policies, after: NodeView, watched: Watched = {}): UnseenAddition[] {
  const { before = nodeOf([other]), afterMs = ADDITION_GRACE_MS, lost, isInConflict = () => false } = watched;
  const accepted = firstCheck(watched.at ?? policies, before, lost);
  return unseenAdditions(after, compiled(policies), { accepted, now: BEGIN + afterMs, isInConflict });
}

/** `POLICY FIELD TAINT`, and why it stays in brackets. */
const texts = (additions: readonly UnseenAddition[]) =>
  additions.map(
    ({ policy, field, taint, blockedBy }) =>
      `${policy.name} ${field} ${formatTaint(taint)}${blockedBy ? ` (${blockedBy})` : ''}`,
  );

const ADDED = nodeOf([other, gpu]);
const FOUND = 'p spec.taints[0] dedicated=gpu:NoSchedule';

describe('a taint whose addition is restricted, and that was added unseen,', () => {
  it.each<[why: string, policies: Policies, expected: string[]]>([
    ['is removed where no policy exempts users', NOBODY_MAY, [FOUND]],
    [
      'is removed where another policy exempts some',
      { ...NOBODY_MAY, q: exempting(rule('Restore', GUARD)) },
      [FOUND, FOUND.replace('p', 'q')],
    ],
    [
      'is removed where one of the policies that restrict it is in mode Restore',
      { ...NOBODY_MAY, q: rule('Deny', GUARD) },
      [FOUND.replace('p', 'q'), FOUND],
    ],
    ['stays where its removal is restricted', { p: rule('Restore', BOTH_WAYS) }, [`${FOUND} (RemovalRestricted)`]],
    [
      'stays where another policy restricts its removal',
      { ...NOBODY_MAY, q: rule('Deny', { key: 'dedicated', restrict: ['Removal'] }) },
      [`${FOUND} (RemovalRestricted)`],
    ],
    [
      'is removed where that policy only audits',
      { ...NOBODY_MAY, q: rule('Audit', { key: 'dedicated', restrict: ['Removal'] }) },
      [FOUND],
    ],
    ['stays in mode Deny', { p: rule('Deny', GUARD) }, [`${FOUND} (ModeDoesNotRevert)`]],
  ])('%s', (_, policies, expected) => {
    expect(texts(found(policies, ADDED))).toEqual(expected);
  });

  it('stays where another writer adds it repeatedly', () => {
    const isInConflict = (taint: Taint) => taint.key === 'dedicated';
    expect(texts(found(NOBODY_MAY, ADDED, { isInConflict }))).toEqual([`${FOUND} (Conflict)`]);
  });

  it('is found with another value and with another effect', () => {
    const after = nodeOf([other, { ...gpu, value: 'cpu' }, { ...gpu, effect: 'NoExecute' }]);
    expect(texts(found(NOBODY_MAY, after, { before: nodeOf([gpu]) }))).toEqual([
      'p spec.taints[0] dedicated=cpu:NoSchedule',
      'p spec.taints[0] dedicated=gpu:NoExecute',
    ]);
  });

  it('is found as soon as every API server knows the policy, and not before', () => {
    expect(found(NOBODY_MAY, ADDED, { afterMs: ADDITION_GRACE_MS - 1 })).toEqual([]);
    expect(found(NOBODY_MAY, ADDED, { afterMs: ADDITION_GRACE_MS })).toHaveLength(1);
  });
});

describe('a taint does not count as added', () => {
  const notReady: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

  it.each<{ why: string; policies: Policies; after?: NodeView; watched?: Watched }>([
    { why: 'whose addition nothing restricts', policies: { p: rule('Restore', { ...GUARD, key: 'another' }) } },
    { why: 'of a policy in mode Audit', policies: { p: rule('Audit', GUARD) } },
    {
      why: 'of a policy for other nodes',
      policies: { p: rule('Restore', GUARD, { nodeSelector: { matchLabels: { a: 'b' } } }) },
    },
    { why: 'that an exempt user may have added', policies: { p: exempting(rule('Restore', GUARD)) } },
    {
      why: 'that exempt users of each policy may have added',
      policies: { p: exempting(rule('Restore', GUARD)), q: exempting(rule('Deny', GUARD)) },
    },
    {
      why: 'that a policy requires, also in mode Audit',
      policies: { ...NOBODY_MAY, q: rule('Audit', { ...gpu, effect: 'NoSchedule', value: 'gpu', ensure: 'Always' }) },
    },
    {
      why: 'that Kubernetes sets and removes, though a pattern restricts it',
      policies: { p: rule('Restore', { key: '*', restrict: ['Addition'] }) },
      after: nodeOf([other, notReady]),
    },
    {
      why: 'that came with the label by which the node joined',
      policies: { p: rule('Restore', GUARD, { nodeSelector: { matchLabels: { pool: 'a' } } }) },
      after: { ...ADDED, labels: { pool: 'a' } },
    },
    { why: 'that the node carried at the first check', policies: NOBODY_MAY, watched: { before: ADDED } },
    {
      why: 'that the node had lost at the first check',
      policies: { p: rule('Deny', BOTH_WAYS) },
      watched: { lost: [gpu] },
    },
    {
      why: 'of a policy that did not restrict it at the first check',
      policies: NOBODY_MAY,
      watched: { at: { p: exempting(rule('Restore', GUARD)) } },
    },
    { why: 'of a policy that was not there at the first check', policies: NOBODY_MAY, watched: { at: {} } },
  ])('$why', ({ policies, after = ADDED, watched = {} }) => {
    expect(texts(found(policies, after, watched))).toEqual([]);
  });

  it('where the leader has not checked the node before', () => {
    const watching = { accepted: undefined, now: BEGIN + ADDITION_GRACE_MS, isInConflict: () => false };
    expect(unseenAdditions(ADDED, compiled(NOBODY_MAY), watching)).toEqual([]);
  });

  it('where the required taint has another value, it does', () => {
    const required = { key: 'dedicated', value: 'cpu', effect: 'NoSchedule', ensure: 'Always' } as const;
    const policies = { ...NOBODY_MAY, q: rule('Audit', required), r: rule('Audit', { ...required, value: 'gpu' }) };
    expect(texts(found({ ...NOBODY_MAY, q: policies.q }, ADDED))).toEqual([FOUND]);
    expect(texts(found(policies, ADDED))).toEqual([]);
  });
});

describe('the accepted taints', () => {
  const policies = compiled({
    ...NOBODY_MAY,
    any: rule('Deny', { key: '*', restrict: ['Addition'] }),
    free: rule('Restore', { key: 'dedicated', restrict: ['Removal'] }),
  });
  const named = (accepted: AcceptedTaints) =>
    Object.fromEntries(
      [...accepted].map(([restriction, { since, taints }]) => [
        (JSON.parse(restriction) as [string])[0],
        { since, taints: [...taints] },
      ]),
    );

  it('are, of each policy that restricts additions, those that it restricts and the node carries or has lost', () => {
    const lost: Taint = { key: 'dedicated', value: 'lost', effect: 'NoExecute' };
    const accepted = acceptedTaints(undefined, ADDED, policies, { additions: [], lost: [lost], now: 7 });
    expect(named(accepted)).toEqual({
      p: { since: 7, taints: ['dedicated=gpu:NoSchedule', 'dedicated=lost:NoExecute'] },
      any: { since: 7, taints: ['other:NoSchedule', 'dedicated=gpu:NoSchedule', 'dedicated=lost:NoExecute'] },
    });
  });

  it('are not those that the leader removes, and are those that it reports and leaves', () => {
    const [policy] = compiled(NOBODY_MAY);
    if (!policy) throw new Error('no policy');
    const addition = { policy, field: 'spec.taints[0]', taint: gpu };
    const acceptedWith = (blockedBy: UnseenAddition['blockedBy']) =>
      named(
        acceptedTaints(undefined, ADDED, compiled(NOBODY_MAY), {
          additions: [{ ...addition, blockedBy }],
          lost: [],
          now: 7,
        }),
      );
    expect(acceptedWith(undefined)).toEqual({ p: { since: 7, taints: [] } });
    expect(acceptedWith('Conflict')).toEqual({ p: { since: 7, taints: ['dedicated=gpu:NoSchedule'] } });
  });

  it('count from the first check on, until the policy changes', () => {
    const node = nodeOf([]);
    const again = (next: Policies) =>
      named(
        acceptedTaints(firstCheck(NOBODY_MAY, node), node, compiled(next), { additions: [], lost: [], now: 9_000 }),
      );
    expect(again(NOBODY_MAY)).toEqual({ p: { since: BEGIN, taints: [] } });
    expect(again({ p: exempting(rule('Restore', GUARD)) })).toEqual({ p: { since: 9_000, taints: [] } });
  });

  it('are none where no policy restricts additions', () => {
    expect(firstCheck({ p: rule('Restore', { key: 'dedicated', restrict: ['Removal'] }) }, ADDED).size).toBe(0);
  });
});

describe('the node without the taints that the leader removes', () => {
  it('lacks those, and keeps the reported ones and all else', () => {
    const executing: Taint = { ...gpu, effect: 'NoExecute' };
    const node = nodeOf([other, gpu, executing], { labels: { a: 'b' } });
    const [reverted, left] = [gpu, executing].flatMap((taint) => found(NOBODY_MAY, nodeOf([taint])));
    if (!reverted || !left) throw new Error('not found');
    const additions: UnseenAddition[] = [reverted, { ...left, blockedBy: 'Conflict' }];
    expect(withoutReverted(node, additions)).toEqual(nodeOf([other, executing], { labels: { a: 'b' } }));
  });

  it('is the same object where it removes none', () => {
    const additions = found({ p: rule('Deny', GUARD) }, ADDED);
    expect(additions).toHaveLength(1);
    expect(withoutReverted(ADDED, additions)).toBe(ADDED);
  });
});

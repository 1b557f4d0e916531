import { describe, expect, it } from 'vitest';
import { judgeNode } from '../../../src/judge/node.ts';
import type { NodeView } from '../../../src/judge/node-view.ts';
import { MAX_REMOVED } from '../../../src/judge/removal.ts';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import type { PolicySet, Requester } from '../../../src/policy/policy-set.ts';
import type { TaintMode, TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import { policySet } from '../policy/policies.ts';
import { withEstablished } from './established.ts';
import { driftAmong, lossesOf, nodeOf } from './node-drifts.ts';
import { cpu, DEVELOPER, gpu, KUBELET, other } from './node-updates.ts';

const GPU = 'dedicated=gpu:NoSchedule';
const AUTOSCALER: Requester = { username: 'autoscaler', groups: [] };
const PRESENT = { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' } as const;
const PRESENT_GPU = { ...PRESENT, value: 'gpu' } as const;

const exempting = (mode: TaintMode, more: Partial<TaintPolicySpec> = {}): TaintPolicySpec => ({
  mode,
  taints: [PRESENT_GPU],
  exempt: { users: [AUTOSCALER.username] },
  ...more,
});
const RESTORE = policySet({ taint: { p: exempting('Restore') } });

/** The node once mutation has had its say. */
function updated(policies: PolicySet, oldNode: NodeView, change: Partial<NodeView>, requester = AUTOSCALER): NodeView {
  const node = { ...oldNode, ...change };
  const decision = judgeNode(
    { operation: 'UPDATE', phase: 'mutate', requester, oldNode: withEstablished(oldNode), node },
    policies,
  );
  return decision.verdict === 'patch' ? { ...node, ...decision.desired } : node;
}

const driftOf = (policies: PolicySet, node: NodeView) => driftAmong(node, policies.taintPolicies);
const without = (policies: PolicySet, requester?: Requester) =>
  updated(policies, nodeOf([gpu, other]), { taints: [other] }, requester);

describe('a required taint that somebody removes whom the policy exempts', () => {
  it('does not come back behind their back: that is recorded, and nothing is missing', () => {
    const node = without(RESTORE);
    expect(node).toMatchObject({ taints: [other], removed: GPU });
    expect(driftOf(RESTORE, node)).toMatchObject({
      losses: [],
      removed: [{ policy: { name: 'p' }, field: 'spec.taints[0]', taint: gpu }],
      desired: undefined,
    });
  });

  it('and gives another value keeps that one', () => {
    const node = updated(RESTORE, nodeOf([gpu]), { taints: [cpu] });
    expect(node).toMatchObject({ taints: [cpu], removed: GPU });
    expect(driftOf(RESTORE, node)).toMatchObject({ losses: [], desired: undefined });
  });

  it('is any of the values that the policy takes', () => {
    const policies = policySet({ taint: { p: exempting('Restore', { taints: [PRESENT] }) } });
    const node = updated(policies, nodeOf([cpu]), { taints: [] });
    expect(node.removed).toBe('dedicated=cpu:NoSchedule');
    expect(driftOf(policies, node)).toMatchObject({ losses: [], desired: undefined });
  });

  it('stays off while the policy changes its mode and back, without a write', () => {
    const node = without(RESTORE);
    for (const mode of ['Audit', 'Deny', 'Restore'] as const) {
      expect(driftOf(policySet({ taint: { p: exempting(mode) } }), node)).toMatchObject({
        losses: [],
        desired: undefined,
      });
    }
  });

  it('is protected again once somebody has set it', () => {
    const set = updated(RESTORE, without(RESTORE), { taints: [other, gpu] }, DEVELOPER);
    expect(set.removed).toBeUndefined();
    expect(updated(RESTORE, set, { taints: [other] }, DEVELOPER).taints).toEqual([other, gpu]);
  });

  it('is protected again once somebody has set it while nobody was asked', () => {
    const { desired } = driftOf(RESTORE, { ...without(RESTORE), taints: [gpu] });
    expect(desired).toMatchObject({ taints: [gpu], removed: undefined });
  });

  it('beside others: each is listed once, in the order of removal', () => {
    const taints = [PRESENT_GPU, { key: 'other', effect: 'NoSchedule', ensure: 'Always' } as const];
    const policies = policySet({ taint: { p: exempting('Restore', { taints }) } });
    const node = updated(policies, nodeOf([gpu, other]), { taints: [gpu] });
    const bare = updated(policies, node, { taints: [] });
    expect(bare.removed).toBe(`other:NoSchedule, ${GPU}`);
    expect(updated(policies, node, { ...bare })).toEqual(bare);
  });

  it('under Deny is no loss either', () => {
    const policies = policySet({ taint: { p: exempting('Deny') } });
    const node = without(policies);
    expect(node.removed).toBe(GPU);
    expect(driftOf(policies, node)).toMatchObject({ losses: [], desired: undefined });
  });
});

describe('nothing is recorded', () => {
  it.each<{ why: string; policies?: PolicySet; requester?: Requester }>([
    { why: 'of what nobody exempts', requester: DEVELOPER },
    { why: "of a node's own update", requester: KUBELET },
    {
      why: 'of a taint that is only Preserved',
      policies: policySet({
        taint: { p: exempting('Restore', { taints: [{ key: 'dedicated', restrict: ['Removal'] }] }) },
      }),
    },
    { why: 'by a policy that watches', policies: policySet({ taint: { p: exempting('Audit') } }) },
    {
      why: 'of what another policy puts back',
      policies: policySet({ taint: { p: exempting('Deny'), q: exempting('Restore', { exempt: {} }) } }),
    },
  ])('$why', ({ policies = RESTORE, requester = AUTOSCALER }) => {
    expect(without(policies, requester).removed).toBeUndefined();
  });

  it('of a release: a required taint comes back after that', () => {
    const node = updated(RESTORE, nodeOf([gpu], { allowRemoval: GPU }), { taints: [] }, DEVELOPER);
    expect(node).toMatchObject({ taints: [], allowRemoval: undefined });
    expect(node.removed).toBeUndefined();
    expect(driftOf(RESTORE, node).desired?.taints).toEqual([gpu]);
  });

  it('of a node that leaves the policy at the same time', () => {
    const policies = policySet({
      taint: { p: exempting('Restore', { nodeSelector: { matchLabels: { pool: 'gpu' } } }) },
    });
    const node = nodeOf([gpu], { labels: { pool: 'gpu' } });
    expect(updated(policies, node, { taints: [], labels: {} }).removed).toBeUndefined();
  });

  it('for which there is no room', () => {
    expect(updated(RESTORE, nodeOf([gpu], { room: 20 }), { taints: [] })).toMatchObject({ taints: [] });
    const taints = Array.from({ length: MAX_REMOVED + 9 }, (_, index): Taint => {
      return { key: `example.com/${index}`, effect: 'NoSchedule' };
    });
    const rules = taints.map(({ key }) => ({ key, effect: 'NoSchedule', ensure: 'Always' }) as const);
    const policies = policySet({
      taint: {
        p: exempting('Restore', { taints: rules.slice(0, 64) }),
        q: exempting('Restore', { taints: rules.slice(64) }),
      },
    });
    expect(updated(policies, nodeOf(taints), { taints: [] }).removed?.split(', ')).toHaveLength(MAX_REMOVED);
  });

  it('more than the annotations of a node have room for, together with its memory', () => {
    const node = updated(
      policySet({
        taint: {
          p: exempting('Restore'),
          q: { mode: 'Restore', taints: [{ key: 'example.com/*', restrict: ['Removal'] }] },
        },
      }),
      nodeOf([gpu], { room: 50 }),
      { taints: [{ key: 'example.com/long-name', effect: 'NoSchedule' }] },
    );
    expect(node.removed).toBe(GPU);
    expect(node.remembered ?? '').toHaveLength(0);
  });
});

describe('a record', () => {
  const recorded = nodeOf([], { removed: GPU });

  it('is no leave by a policy that exempts nobody: whoever may write the node can write it', () => {
    const policies = policySet({ taint: { p: exempting('Restore', { exempt: { users: [] } }) } });
    expect(driftOf(policies, recorded).desired).toMatchObject({ taints: [gpu], removed: undefined });
  });

  it('is no leave by one policy for the taint of another', () => {
    const policies = policySet({ taint: { p: exempting('Restore'), q: { mode: 'Restore', taints: [PRESENT_GPU] } } });
    const { losses, removed, desired } = driftOf(policies, recorded);
    expect(lossesOf({ losses } as never)).toEqual([`q ${GPU}`]);
    expect(removed).toEqual([]);
    expect(desired).toMatchObject({ taints: [gpu], removed: undefined });
  });

  it('means the value that was removed: a policy that names another one now gets it', () => {
    const policies = policySet({ taint: { p: exempting('Restore', { taints: [{ ...PRESENT, value: 'cpu' }] }) } });
    expect(driftOf(policies, recorded).desired).toMatchObject({ taints: [cpu], removed: undefined });
  });

  it('ends when no policy wants the taint on the node any more', () => {
    expect(driftOf(policySet({}), recorded).desired).toMatchObject({ removed: undefined });
  });

  it('of a node that registers counts for nothing', () => {
    const decision = judgeNode({ operation: 'CREATE', phase: 'mutate', requester: KUBELET, node: recorded }, RESTORE);
    expect(decision).toMatchObject({ desired: { taints: [gpu], removed: undefined } });
    const carrying = { ...recorded, taints: [gpu], remembered: GPU };
    const again = judgeNode({ operation: 'CREATE', phase: 'mutate', requester: KUBELET, node: carrying }, RESTORE);
    expect(again).toMatchObject({ verdict: 'patch', desired: { removed: undefined } });
  });

  it('that cannot be read counts for nothing, and may be as large as an annotation can be', () => {
    for (const removed of ['rubbish', ' , ', 'a:NoSchedule,'.repeat(18_000)]) {
      expect(driftOf(RESTORE, nodeOf([], { removed })).desired).toMatchObject({ taints: [gpu], removed: undefined });
    }
  });
});

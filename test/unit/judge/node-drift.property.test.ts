import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isReplaced, isRequiredTaint, requiredTaints, satisfies } from '../../../src/judge/declared-taints.ts';
import type { Circumstances, Loss, NodeDrift } from '../../../src/judge/node-drift.ts';
import type { NodeView } from '../../../src/judge/node-view.ts';
import { formatTaint, identity, sameTaint, type Taint, valuesOf } from '../../../src/kubernetes/taint.ts';
import { isTransientTaintKey } from '../../../src/kubernetes/transient-taints.ts';
import type { PolicySet } from '../../../src/policy/policy-set.ts';
import * as generate from '../admission/generators.ts';
import { policySet } from '../policy/policies.ts';
import { recordedTaints, withRecorded } from './established.ts';
import { judgeNode } from './judge-node.ts';
import { driftAmong } from './node-drifts.ts';

const RUNS = { numRuns: 500 };

/** What records list has often to do with what the node carries: the first lists what it is to carry, the second what was removed. */
const listed = fc.tuple(generate.taints, generate.taints).map(([kept, removed]) => {
  const isKept = new Set(kept.map(identity));
  const textOf = (taints: readonly Taint[]) => taints.map(formatTaint).join(', ');
  return { recorded: textOf(kept), removed: textOf(removed.filter((taint) => !isKept.has(identity(taint)))) };
});

interface Case {
  readonly node: NodeView;
  readonly recorded: string;
  readonly removed: string;
  readonly policies: PolicySet;
  /** The same policies as they are compiled with --audit. */
  readonly audited: PolicySet;
}

const cases: fc.Arbitrary<Case> = fc
  .record({ state: generate.nodeState, listed, policies: generate.taintPolicies })
  .map(({ state, listed: texts, policies }) => ({
    node: { name: 'n1', ...state },
    ...texts,
    policies: policySet({ taint: policies }),
    audited: policySet({ taint: policies }, { audit: true }),
  }));

/** Holds whatever the node, its record and the policies are. */
function always(property: (one: Case) => void): void {
  fc.assert(fc.property(cases, property), RUNS);
}

const driftOf = ({ node, recorded, removed, policies }: Case, more: Circumstances = {}) =>
  driftAmong(node, policies.taintPolicies, recorded, { removed, ...more });

/** The node once its entries of the annotation that stand in the way are deleted, and what it has lost is restored. */
function repaired(one: Case): NodeView {
  const first = { ...one.node, ...driftOf(one).desired };
  return { ...first, ...driftOf({ ...one, node: first }).desired };
}

const isRepaired = ({ blockedBy }: Loss) => blockedBy === undefined;

it('a node that was repaired needs no other repair', () => {
  always((one) => {
    expect(driftOf({ ...one, node: repaired(one) }).desired).toBeUndefined();
  });
});

it('a loss that is left alone is found again', () => {
  const left = ({ losses }: NodeDrift) => losses.filter((loss) => !isRepaired(loss));
  always((one) => {
    const before = withoutReplaced(one);
    const after = withoutReplaced({ ...before, node: repaired(before) });
    expect(left(driftOf(after))).toEqual(expect.arrayContaining(left(driftOf(before))));
  });
});

/** Without the recorded values that the leader deletes from the record. */
function withoutReplaced(one: Case): Case {
  const { node, policies } = one;
  const [carried, required] = [valuesOf(node.taints), requiredTaints(node.labels, policies.taintPolicies)];
  const recorded = recordedTaints(one.recorded).filter((taint) => !isReplaced(taint, carried, required));
  return { ...one, recorded: recorded.map(formatTaint).join() };
}

it('a repair passes admission unchanged, even from a user who is not exempt', () => {
  const requester = { username: 'nobody', groups: [] };
  let restored = 0;
  always((one) => {
    const { policies, recorded, removed } = one;
    let { node } = one;
    for (const isRecordWritten of [false, true, false]) {
      const { desired } = driftOf({ ...one, node }, { isRecordWritten });
      if (!desired) continue;
      const update = { requester, oldNode: withRecorded(node, recorded, removed), node: { ...node, ...desired } };
      const mutation = judgeNode({ ...update, phase: 'mutate' }, policies);
      expect(mutation.action).toBe('allow');
      expect(judgeNode({ ...update, phase: 'validate' }, policies).action).toBe('allow');
      if (desired.taints !== node.taints) restored++;
      node = update.node;
    }
  });
  expect(restored).toBeGreaterThan(RUNS.numRuns / 10);
});

it('a repair keeps every taint in its place, but for those that are put back', () => {
  always((one) => {
    const { node } = one;
    const { losses, desired } = driftOf(one);
    const lost = losses.filter(isRepaired).map(({ taint }) => identity(taint));
    const others = ({ taints }: Pick<NodeView, 'taints'>) =>
      taints.map((taint) => (lost.includes(identity(taint)) ? identity(taint) : taint));
    const { taints } = desired ?? node;
    expect(others({ taints: taints.slice(0, node.taints.length) })).toEqual(others(node));
    for (const taint of taints.slice(node.taints.length)) expect(lost).toContain(identity(taint));
  });
});

it('a repair puts back what is required or recorded, and nothing else', () => {
  always((one) => {
    const { node, policies } = one;
    const present = requiredTaints(node.labels, policies.taintPolicies).map(({ taint }) => taint);
    const declared = [...present, ...recordedTaints(one.recorded)].map(formatTaint);
    const added = repaired(one).taints.filter((taint) => !node.taints.includes(taint));
    for (const taint of added) expect(declared).toContain(formatTaint(taint));
  });
});

it('a repair adds no taint that evicts pods', () => {
  let blocked = 0;
  always((one) => {
    const added = repaired(one).taints.filter((taint) => !one.node.taints.includes(taint));
    expect(added.filter(({ effect }) => effect === 'NoExecute')).toEqual([]);
    const losses = driftOf(one).losses.filter(({ blockedBy }) => blockedBy === 'WouldEvictPods');
    expect(losses.every(({ taint }) => taint.effect === 'NoExecute')).toBe(true);
    if (losses.length > 0) blocked++;
  });
  expect(blocked).toBeGreaterThan(RUNS.numRuns / 50);
});

it('every missing required taint is one loss per policy, except transient taints and permitted removals', () => {
  let excused = 0;
  always((one) => {
    const { node, policies } = one;
    const { losses, removed } = driftOf(one);
    const recordedRemovals = recordedTaints(one.removed);
    const carried = valuesOf(node.taints);
    for (const { policy, taint, anyValue } of requiredTaints(node.labels, policies.taintPolicies)) {
      const ofPolicy = (found: { readonly policy: unknown; readonly taint: Taint }) =>
        found.policy === policy && sameTaint(found.taint, taint);
      const required = { taint, anyValue };
      const isExcused = recordedRemovals.some((recorded) => isRequiredTaint(recorded, required));
      if (satisfies(carried, required) || isTransientTaintKey(taint.key)) continue;
      // A policy may require one taint with two values.
      if (isExcused) excused++;
      expect((isExcused ? removed : losses).some(ofPolicy)).toBe(true);
    }
    const named = losses.map(({ policy, taint }) => `${policy.name} ${identity(taint)}`);
    expect(named).toEqual([...new Set(named)]);
  });
  expect(excused).toBeGreaterThan(RUNS.numRuns / 50);
});

it('nothing is put back where all policies are in mode Audit, or where everything is in conflict', () => {
  always((one) => {
    const taintPolicies = one.policies.taintPolicies.map((policy) => ({ ...policy, mode: 'Audit' as const }));
    for (const drift of [
      driftOf({ ...one, policies: { ...one.policies, taintPolicies } }),
      driftOf(one, { isInConflict: () => true }),
    ]) {
      expect(drift.losses.filter(isRepaired)).toEqual([]);
      expect(drift.desired?.taints ?? one.node.taints).toBe(one.node.taints);
    }
  });
});

it('no node is written where policies are compiled with --audit', () => {
  always((one) => {
    const drift = driftOf({ ...one, policies: one.audited }, { isRecordWritten: true, isAllowRemovalExpired: true });
    expect(drift.losses.filter(isRepaired)).toEqual([]);
    expect(drift.desired).toBeUndefined();
  });
});

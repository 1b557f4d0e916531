import fc from 'fast-check';
import { expect, it } from 'vitest';
import { keepsOff, parseAllowedRemovals } from '../../../src/judge/allow-removal.ts';
import { requiredTaints, satisfies } from '../../../src/judge/declared-taints.ts';
import type { MissingTaint } from '../../../src/judge/missing-taint.ts';
import { type NodeDrift, nodeDrift } from '../../../src/judge/node-drift.ts';
import type { NodeView } from '../../../src/judge/node-view.ts';
import { formatTaint, sameTaint, type Taint, taintIdentity, valuesOf } from '../../../src/kubernetes/taint.ts';
import type { PolicySet } from '../../../src/policy/policy-set.ts';
import * as generate from '../admission/generators.ts';
import { policySet } from '../policy/policies.ts';
import { judgeNode } from './request/judge-node.ts';

const RUNS = { numRuns: 500 };

interface Case {
  readonly node: NodeView;
  readonly policies: PolicySet;
  /** The same policies as they are compiled with --audit. */
  readonly audited: PolicySet;
}

const cases: fc.Arbitrary<Case> = fc
  .record({ state: generate.nodeState, policies: generate.taintPolicies })
  .map(({ state, policies }) => ({
    node: { name: 'n1', ...state },
    policies: policySet({ taint: policies }),
    audited: policySet({ taint: policies }, { audit: true }),
  }));

/** Holds whatever the node and the policies are. */
function always(property: (one: Case) => void): void {
  fc.assert(fc.property(cases, property), RUNS);
}

const driftOf = ({ node, policies }: Pick<Case, 'node' | 'policies'>, isInConflict?: (taint: Taint) => boolean) =>
  nodeDrift(node, policies.taintPolicies, isInConflict);

const repaired = (one: Case): NodeView => ({ ...one.node, taints: driftOf(one).taints });
const isSet = ({ blockedBy }: MissingTaint) => blockedBy === undefined;

it('a node that was repaired needs no other repair', () => {
  always((one) => {
    const node = repaired(one);
    expect(driftOf({ ...one, node }).taints).toBe(node.taints);
  });
});

it('a missing taint that is not set is found again', () => {
  const left = ({ missing }: NodeDrift) => missing.filter((one) => !isSet(one));
  always((one) => {
    expect(left(driftOf({ ...one, node: repaired(one) }))).toEqual(expect.arrayContaining(left(driftOf(one))));
  });
});

it('a repair passes admission unchanged, even from a user who is not exempt', () => {
  const requester = { username: 'nobody', groups: [] };
  let set = 0;
  always((one) => {
    const node = repaired(one);
    if (node.taints === one.node.taints) return;
    const update = { requester, oldNode: one.node, node };
    const mutation = judgeNode({ ...update, phase: 'mutate' }, one.policies);
    // An entry of the annotation ends when its taint is set, also by the leader.
    expect(mutation.action === 'patch' ? mutation.desired.taints : node.taints).toEqual(node.taints);
    expect(judgeNode({ ...update, phase: 'validate' }, one.policies).action).toBe('allow');
    set++;
  });
  expect(set).toBeGreaterThan(RUNS.numRuns / 20);
});

it('a repair keeps the order of all taints that it does not set', () => {
  always((one) => {
    const { node } = one;
    const { missing, taints } = driftOf(one);
    const lost = missing.filter(isSet).map(({ taint }) => taintIdentity(taint));
    const others = (list: readonly Taint[]) =>
      list.map((taint) => (lost.includes(taintIdentity(taint)) ? taintIdentity(taint) : taint));
    expect(others(taints.slice(0, node.taints.length))).toEqual(others(node.taints));
    for (const taint of taints.slice(node.taints.length)) expect(lost).toContain(taintIdentity(taint));
  });
});

it('a repair sets required taints, and none that evicts pods', () => {
  always((one) => {
    const { node, policies } = one;
    const required = requiredTaints(node.labels, policies.taintPolicies).map(({ taint }) => formatTaint(taint));
    for (const taint of driftOf(one).taints.filter((taint) => !node.taints.includes(taint))) {
      expect(required).toContain(formatTaint(taint));
      expect(taint.effect).not.toBe('NoExecute');
    }
  });
});

it('every missing required taint is reported once for each policy that enforces, except those that an entry keeps off', () => {
  let keptOffOnes = 0;
  always((one) => {
    const { node, policies } = one;
    const { missing, keptOff } = driftOf(one);
    const carried = valuesOf(node.taints);
    const allowed = parseAllowedRemovals(node.allowRemoval);
    for (const required of requiredTaints(node.labels, policies.taintPolicies)) {
      if (satisfies(carried, required) || required.policy.mode === 'Audit') continue;
      const ofPolicy = (found: { readonly policy: unknown; readonly taint: Taint }) =>
        found.policy === required.policy && sameTaint(found.taint, required.taint);
      const isOff = required.policy.allowsRemovalByAnnotation && keepsOff(allowed, required);
      if (isOff) keptOffOnes++;
      expect((isOff ? keptOff : missing).some(ofPolicy)).toBe(true);
    }
  });
  expect(keptOffOnes).toBeGreaterThan(0);
});

it('no taint is set if all policies are in mode Audit, with --audit, or if all taints are in conflict', () => {
  always((one) => {
    const taintPolicies = one.policies.taintPolicies.map((policy) => ({ ...policy, mode: 'Audit' as const }));
    for (const drift of [
      driftOf({ ...one, policies: { ...one.policies, taintPolicies } }),
      driftOf({ ...one, policies: one.audited }),
      driftOf(one, () => true),
    ]) {
      expect(drift.missing.filter(isSet)).toEqual([]);
      expect(drift.taints).toBe(one.node.taints);
    }
  });
});

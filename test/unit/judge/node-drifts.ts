import { type NodeDrift, nodeDrift } from '../../../src/judge/node-drift.ts';
import type { NodeView } from '../../../src/judge/node-view.ts';
import { formatTaint, type Taint } from '../../../src/kubernetes/taint.ts';
import type { TaintMode, TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../src/policy/taint-rule.ts';
import { policySet } from '../policy/policies.ts';

export type Policies = Readonly<Record<string, TaintPolicySpec>>;

/** A node that carries the taints, and nothing else. */
export const nodeOf = (taints: readonly Taint[], more: Partial<NodeView> = {}): NodeView => ({
  name: 'n1',
  labels: {},
  taints,
  allowRemoval: undefined,
  ...more,
});

/** A policy with one rule for every node, or for those that `more` selects. */
export const rule = (mode: TaintMode, taint: TaintRule, more: Partial<TaintPolicySpec> = {}): TaintPolicySpec => ({
  mode,
  taints: [taint],
  ...more,
});

export const driftOf = (policies: Policies, node: NodeView, isInConflict?: (taint: Taint) => boolean): NodeDrift =>
  nodeDrift(node, policySet({ taint: policies }).taintPolicies, isInConflict);

/** One line for each missing taint: `POLICY TAINT`, and the blockedBy in brackets. */
export const missingTaintsOf = ({ missing }: NodeDrift): string[] =>
  missing.map(
    ({ policy, taint, blockedBy }) => `${policy.name} ${formatTaint(taint)}${blockedBy ? ` (${blockedBy})` : ''}`,
  );

import { type Circumstances, type NodeDrift, nodeDrift } from '../../../src/judge/node-drift.ts';
import type { NodeView } from '../../../src/judge/node-view.ts';
import { formatTaint, type Taint } from '../../../src/kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../../../src/policy/policy-set.ts';
import type { TaintMode, TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../src/policy/taint-rule.ts';
import { policySet } from '../policy/policies.ts';
import { withRecorded } from './established.ts';

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

export const driftOf = (
  policies: Policies,
  node: NodeView,
  recorded?: string,
  more: Partial<Circumstances> & { readonly removed?: string; readonly earlier?: string } = {},
): NodeDrift => driftAmong(node, policySet({ taint: policies }).taintPolicies, recorded, more);

/**
 * The drift of a node.
 * @param recorded what its record lists, such as `a=b:NoSchedule, c:NoExecute`
 * @param removed what it lists as removed with permission
 * @param earlier what it lists as carried by an earlier Node of that name
 */
export const driftAmong = (
  node: NodeView,
  policies: readonly CompiledTaintPolicy[],
  recorded?: string,
  { removed, earlier, ...more }: Partial<Circumstances> & { readonly removed?: string; readonly earlier?: string } = {},
): NodeDrift => nodeDrift(withRecorded(node, recorded, removed, earlier), policies, more);

/** One line a loss: `POLICY TAINT`, and the blockedBy in brackets. */
export const lossesOf = ({ losses }: NodeDrift): string[] =>
  losses.map(
    ({ policy, taint, blockedBy }) => `${policy.name} ${formatTaint(taint)}${blockedBy ? ` (${blockedBy})` : ''}`,
  );

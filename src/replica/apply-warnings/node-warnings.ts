import type { StoredNode } from '../../judge/node-view.ts';
import { collectCompanions } from '../../judge/policy/companions.ts';
import { contradictionWarnings, disagreeingWith } from '../../judge/policy/contradictions.ts';
import { idleWarnings } from '../../judge/policy/idle-policy.ts';
import { collectKeys } from '../../judge/policy/node-keys.ts';
import {
  losesProtection,
  losesStartupRule,
  protectionWarnings,
  waitingWarnings,
} from '../../judge/policy/policy-change.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { isEnforced } from '../../policy/enforcement.ts';
import { selectingPolicies } from '../../policy/policy-index.ts';
import { longLoop } from '../../runtime/long-loop.ts';

export interface NodeWarningsOptions {
  readonly nodes: readonly StoredNode[];
  /** The policy as it was before the change. */
  readonly before: CompiledTaintPolicy | undefined;
  /** All other policies. */
  readonly others: readonly CompiledTaintPolicy[];
  /** Whether these are all policies: the leader removes no taint of the policy while it does not know all. */
  readonly isComplete: boolean;
  /** No companions are looked for afterwards. */
  readonly signal: AbortSignal;
}

interface NodeWarnings {
  /** What nodes lose, and contradictions. */
  readonly warnings: readonly string[];
  /** See {@link idleWarnings}. */
  readonly idle: readonly string[];
  /** The nodes that the policy selects. */
  readonly selected: readonly StoredNode[];
  /** See {@link Companions}. */
  readonly companions: readonly CompiledTaintPolicy[];
}

/**
 * Warnings about a policy, from all nodes. Each selector is evaluated twice at most for each node: every pod can send a review, with a policy that has
 * thousands of values and contradicts all others.
 */
export async function nodeWarnings(
  policy: CompiledTaintPolicy,
  { nodes, before, others, isComplete, signal }: NodeWarningsOptions,
): Promise<NodeWarnings> {
  const { keys, add } = collectKeys();
  const shared = new Map(disagreeingWith(policy, others).map((other): [CompiledTaintPolicy, string[]] => [other, []]));
  const unprotected: string[] = [];
  const waiting: string[] = [];
  const after = [policy, ...others];
  const selected: StoredNode[] = [];
  const companions = collectCompanions();
  const waits = isEnforced(policy) && policy.untilReady.length > 0;
  const letOthersRun = longLoop();
  for (const node of nodes) {
    await letOthersRun();
    add(node);
    if (before && losesStartupRule(before, after, node)) waiting.push(node.name);
    if (policy.selectsNode(node.labels)) {
      selected.push(node);
      if (waits && !signal.aborted) companions.add(selectingPolicies(after, node.labels));
      for (const [other, names] of shared) if (other.selectsNode(node.labels)) names.push(node.name);
    } else if (before && losesProtection(before, node)) {
      unprotected.push(node.name);
    }
  }
  const warnings = [
    ...protectionWarnings(unprotected),
    ...waitingWarnings(waiting, isComplete ? 'will' : 'may'),
    ...contradictionWarnings(policy, shared),
  ];
  const idle = idleWarnings(policy, keys, { selected: selected.length, all: nodes.length });
  return { warnings, idle, selected, companions: companions.of(policy) };
}

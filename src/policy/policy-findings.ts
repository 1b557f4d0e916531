import { type DaemonSetView, judgeDaemonSet } from './daemon-set.ts';
import type { NodeView } from './node.ts';
import { nodeDrift } from './node-drift.ts';
import type { CompiledTaintPolicy, CompiledTolerationPolicy } from './policy-set.ts';
import type { Findings } from './policy-status.ts';

/**
 * The nodes that lack what the policy declares: see {@link nodeDrift}.
 * @param before all violators as they were found the last time, the latest first
 */
export function nodeFindings(
  policy: CompiledTaintPolicy,
  nodes: Iterable<NodeView>,
  before: readonly string[],
): Findings {
  return find(
    nodes,
    (node) => policy.selectsNode(node.labels),
    (node) => nodeDrift(node, [policy]).losses.length > 0,
    ({ name }) => name,
    before,
  );
}

/** What the policy would report if each of the DaemonSets were created as it is now; `before` as with {@link nodeFindings}. */
export function daemonSetFindings(
  policy: CompiledTolerationPolicy,
  daemonSets: Iterable<DaemonSetView>,
  before: readonly string[],
): Findings {
  const policies = { taintPolicies: [], tolerationPolicies: [policy], recoveryPolicies: [] };
  return find(
    daemonSets,
    (daemonSet) => policy.selectsDaemonSet(daemonSet),
    (daemonSet) => judgeDaemonSet({ phase: 'validate', daemonSet }, policies).violations.length > 0,
    ({ namespace, name }) => `${namespace}/${name}`,
    before,
  );
}

function find<View>(
  views: Iterable<View>,
  selected: (view: View) => boolean,
  violates: (view: View) => boolean,
  nameOf: (view: View) => string,
  before: readonly string[],
): Findings {
  const matching = [...views].filter(selected);
  const violators = new Set(matching.filter(violates).map(nameOf).sort());
  // Whoever violated before keeps the place, so that the first few change no more often than needed.
  const lasting = before.filter((name) => violators.delete(name));
  return { matched: matching.length, violators: [...violators, ...lasting] };
}

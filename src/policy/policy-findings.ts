import { type DaemonSetView, judgeDaemonSet } from './daemon-set.ts';
import type { NodeView } from './node.ts';
import { nodeDrift } from './node-drift.ts';
import type { CompiledRecoveryPolicy, CompiledTaintPolicy, CompiledTolerationPolicy } from './policy-set.ts';
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

/** A daemon pod that is Failed on a node where it could run. */
export interface StuckPod {
  /** `NAMESPACE/POD`. */
  readonly name: string;
  readonly daemonSet: DaemonSetView;
  /** For how long, in milliseconds. */
  readonly forMs: number;
}

/** The DaemonSets that the policy selects, and their pods that count as stuck by it; `before` as with {@link nodeFindings}. */
export function podFindings(
  policy: CompiledRecoveryPolicy,
  daemonSets: Iterable<DaemonSetView>,
  pods: Iterable<StuckPod>,
  before: readonly string[],
): Findings {
  const stuck = [...pods].filter(
    ({ daemonSet, forMs }) => forMs >= policy.stuckMs && policy.selectsDaemonSet(daemonSet),
  );
  return {
    matched: [...daemonSets].filter((daemonSet) => policy.selectsDaemonSet(daemonSet)).length,
    violators: latestFirst(
      stuck.map(({ name }) => name),
      before,
    ),
  };
}

function find<View>(
  views: Iterable<View>,
  selected: (view: View) => boolean,
  violates: (view: View) => boolean,
  nameOf: (view: View) => string,
  before: readonly string[],
): Findings {
  const matching = [...views].filter(selected);
  return { matched: matching.length, violators: latestFirst(matching.filter(violates).map(nameOf), before) };
}

/** Whoever violated before keeps the place, so that the first few change no more often than needed. */
function latestFirst(names: readonly string[], before: readonly string[]): string[] {
  const violators = new Set(names.toSorted());
  const lasting = before.filter((name) => violators.delete(name));
  return [...violators, ...lasting];
}

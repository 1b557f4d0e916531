import { equalTaints } from '../../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import type { CompiledTolerationPolicy } from '../../policy/compiled-toleration-policy.ts';
import { isEnforced } from '../../policy/enforcement.ts';
import { type CompiledRecoveryPolicy, RECOVERY_TIMINGS } from '../../policy/recovery-policy.ts';
import type { PolicyFindings } from '../../policy/reporting/next-policy-status.ts';
import { parseAllowedRemovals } from '../allow-removal.ts';
import type { DaemonSetView } from '../daemon-set-view.ts';
import { carriedUntilReady, isDeclaredTaint } from '../declared-taints.ts';
import { nodeDrift } from '../node-drift.ts';
import type { NodeView } from '../node-view.ts';
import { lackedByRunning, lacksAny } from '../request/daemon-set.ts';

// The objects that the status of a policy counts: those that it selects, and those that violate it. First nodes, then DaemonSets and pods.

/**
 * The nodes on which required taints are missing: see {@link nodeDrift}.
 * @param before all violators that were found the last time, the latest first
 */
export function nodeFindings(
  policy: CompiledTaintPolicy,
  nodes: Iterable<NodeView>,
  before: readonly string[],
): PolicyFindings {
  const alone = [policy];
  const selected = [...nodes].filter(({ labels }) => policy.selectsNode(labels));
  return {
    matched: selected.length,
    violators: latestFirst(
      selected.filter((node) => nodeDrift(node, alone).missing.length > 0).map(({ name }) => name),
      before,
    ),
    removalAllowed: selected.filter((node) => allowsRemovalOn(node, policy)).length,
    waiting: selected.filter(({ taints }) => carriedUntilReady(policy, taints).length > 0).length,
  };
}

/** Whether an entry of the annotation of the node names a taint that the policy protects there, or requires. Few nodes have entries. */
function allowsRemovalOn({ taints, allowRemoval }: NodeView, policy: CompiledTaintPolicy): boolean {
  if (!isEnforced(policy) || !policy.allowsRemovalByAnnotation) return false;
  return parseAllowedRemovals(allowRemoval).entries.some(
    ({ taint }) =>
      taint !== undefined &&
      (policy.required.some((one) => isDeclaredTaint(taint, one)) ||
        (policy.protectingRule(taint) !== undefined && taints.some((one) => equalTaints(one, taint)))),
  );
}

/** The DaemonSets on which required tolerations are missing. @param before see {@link nodeFindings} */
export function daemonSetFindings(
  policy: CompiledTolerationPolicy,
  daemonSets: Iterable<DaemonSetView>,
  before: readonly string[],
): PolicyFindings {
  const policies = { tolerationPolicies: [policy] };
  const selected = [...daemonSets].filter((daemonSet) => policy.selectsDaemonSet(daemonSet));
  return {
    matched: selected.length,
    violators: latestFirst(
      selected
        .filter((daemonSet) => lacksAny(lackedByRunning(daemonSet, policies)))
        .map(({ namespace, name }) => `${namespace}/${name}`),
      before,
    ),
  };
}

/** A daemon pod that is Failed on a node where it could run. */
export interface StuckPod {
  /** `NAMESPACE/POD`. */
  readonly name: string;
  readonly daemonSet: DaemonSetView;
  /** For how long, in milliseconds. */
  readonly forMs: number;
}

/** The DaemonSets that the policy selects, and their pods that count as stuck. @param before see {@link nodeFindings} */
export function podFindings(
  policy: CompiledRecoveryPolicy,
  daemonSets: Iterable<DaemonSetView>,
  pods: Iterable<StuckPod>,
  before: readonly string[],
): PolicyFindings {
  const stuck = [...pods].filter(
    ({ daemonSet, forMs }) => forMs >= RECOVERY_TIMINGS.stuckMs && policy.selectsDaemonSet(daemonSet),
  );
  return {
    matched: [...daemonSets].filter((daemonSet) => policy.selectsDaemonSet(daemonSet)).length,
    violators: latestFirst(
      stuck.map(({ name }) => name),
      before,
    ),
  };
}

/** Objects that violated the policy before keep their order at the end: the first few, which the status names, change as seldom as possible. */
function latestFirst(names: readonly string[], before: readonly string[]): string[] {
  const violators = new Set(names.toSorted());
  const lasting = before.filter((name) => violators.delete(name));
  return [...violators, ...lasting];
}

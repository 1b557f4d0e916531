import { isDeclaredTaint } from '../judge/declared-taints.ts';
import { type Taint, taintIdentity } from '../kubernetes/taint.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';
import { isEnforcedWithoutAudit } from '../policy/enforcement.ts';
import { namesDaemonSet } from '../policy/ready-when.ts';
import type { SchedulingNode } from '../scheduling/coverage.ts';

/** A DaemonSet by its name. */
export interface NamedDaemonSet {
  readonly namespace: string;
  readonly name: string;
}

/** The startup taints of policies that the leader removes. */
export interface StartupRules {
  /** The names of the TaintPolicies whose startup taint waits for a DaemonSet. */
  readonly waitingFor: (daemonSet: NamedDaemonSet, taint: Taint) => string[];
  /** Whether the leader removes the taint from the node once the node is ready. */
  readonly endOn: (node: SchedulingNode, taint: Taint) => boolean;
}

/** For callers that know no policies. */
export const NO_STARTUP_RULES: StartupRules = { waitingFor: () => [], endOn: () => false };

/** Policies in mode Audit do not count: they set no startup taint. With `--audit`, the taints that others have set still wait. */
export function startupRulesOf(policies: readonly CompiledTaintPolicy[]): StartupRules {
  const rules = policies
    .filter(isEnforcedWithoutAudit)
    .flatMap((policy) => policy.untilReady.map((one) => ({ ...one, policy })));
  const byTaint = Map.groupBy(rules, ({ taint }) => taintIdentity(taint));
  const rulesOf = (taint: Taint) => byTaint.get(taintIdentity(taint)) ?? [];
  return {
    waitingFor: (daemonSet, taint) =>
      rulesOf(taint)
        .filter(({ parts }) => namesDaemonSet(parts.daemonSets, daemonSet))
        .map(({ policy }) => policy.name),
    endOn: ({ labels }, taint) =>
      rulesOf(taint).some((one) => isDeclaredTaint(taint, one) && one.policy.selectsNode(labels)),
  };
}

/**
 * Whether a taint that a DaemonSet does not tolerate is transient: it is removed without a user. A startup taint that waits for this DaemonSet is not,
 * because the DaemonSet cannot start before the taint is removed.
 * @param daemonSet undefined for other pods, for which no startup taint waits
 * @param node with the taint
 */
export function isTransientFor(
  daemonSet: NamedDaemonSet | undefined,
  node: SchedulingNode,
  taint: Taint,
  startup: StartupRules,
): boolean {
  const isRemoved = isTransientTaintKey(taint.key) || startup.endOn(node, taint);
  return isRemoved && (daemonSet === undefined || startup.waitingFor(daemonSet, taint).length === 0);
}

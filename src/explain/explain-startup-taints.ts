import type { StoredNode } from '../judge/node-view.ts';
import { leftOutOnNode } from '../judge/startup/daemon-sets.ts';
import { type StartupSources, startupBlockers } from '../judge/startup/startup-readiness.ts';
import { type StartupRequirement, startupTaintsOf } from '../judge/startup/startup-requirement.ts';
import { startupStep } from '../judge/startup/startup-step.ts';
import { waitingText } from '../judge/startup/waiting-taint.ts';
import { formatTaint } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';
import { enforcedWithoutAudit } from '../policy/policy-index.ts';

/** Why the startup taints of a node stay, in words. */
interface ExplainedStartupTaints {
  /** What they wait for, or why the leader removes them. */
  readonly text: string;
  /** The DaemonSets on the node that they do not wait for. */
  readonly notes: readonly string[];
}

/**
 * Explains the startup taints of a node, by the rules of the leader.
 * @param carried those of the node
 * @param apiTime of the API server, in milliseconds since the epoch
 */
export function explainStartupTaints(
  node: StoredNode,
  carried: readonly StartupRequirement[],
  policies: readonly CompiledTaintPolicy[],
  sources: StartupSources,
  apiTime: number,
): ExplainedStartupTaints {
  const step = startupStep(node, policies, {
    blockers: ({ parts }, startup) => startupBlockers(parts, node, sources, startup),
    tracked: [],
    unusedRecord: undefined,
    unstored: [],
    isComplete: true,
    now: 0,
    apiTime,
  });
  const removals = step.removable.map(
    ({ taint, reason }) => `startup taint ${formatTaint(taint)}: ${reason}, the leader removes it`,
  );
  const daemonSets = sources.daemonSets();
  const startup = startupTaintsOf(carried, enforcedWithoutAudit(policies, node.labels));
  const leftOut =
    typeof daemonSets === 'string'
      ? []
      : carried.flatMap(({ parts }) => leftOutOnNode(parts, node, daemonSets.value, startup));
  return {
    text: [...removals, ...step.waiting.map(waitingText)].join('; '),
    notes: [...new Set(leftOut)].map((text) => `startup taints do not wait for ${text}`),
  };
}

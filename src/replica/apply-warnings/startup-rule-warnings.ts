import type { StoredNode } from '../../judge/node-view.ts';
import { comparisonBudget } from '../../judge/policy/comparison-budget.ts';
import { requiredTaintWarnings } from '../../judge/policy/required-taint-warnings.ts';
import { protectedStartupTaintsOf, startupFaults } from '../../judge/policy/startup-faults.ts';
import { startupNotes } from '../../judge/policy/startup-notes.ts';
import { unselectedDaemonSets } from '../../judge/policy/unselected-daemon-sets.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { daemonSetName, type ReadyDaemonSet } from '../../policy/ready-when.ts';
import { longLoop } from '../../runtime/long-loop.ts';
import type { StartupObjects } from './startup-objects.ts';

interface Surroundings {
  readonly objects: StartupObjects;
  /** All other policies. */
  readonly others: readonly CompiledTaintPolicy[];
  /** The nodes that the policy selects. None if the nodes are not known. */
  readonly selected: readonly StoredNode[];
  /** Those of the policy that are known. */
  readonly companions: readonly CompiledTaintPolicy[];
  readonly now: Date;
}

/** Warnings about a policy whose startup taints would remain, or that would keep those of another policy. */
export async function startupRuleWarnings(
  policy: CompiledTaintPolicy,
  { objects, others, selected, companions, now }: Surroundings,
): Promise<readonly string[]> {
  const { replicas, daemonSets, byNamespace, drivers } = objects;
  const found = (one: ReadyDaemonSet) => daemonSets.get(daemonSetName(one));
  const daemonSetOf = (one: ReadyDaemonSet) => (daemonSets.has(daemonSetName(one)) ? found(one) : 'NotRead');
  const protectedStartupTaints = protectedStartupTaintsOf(policy, [policy, ...others]);
  const budget = comparisonBudget();
  const comparison = { daemonSetOf: found, now, budget, letOthersRun: longLoop() };
  const faults = [
    ...startupFaults(policy, { protectedStartupTaints, replicas, daemonSetOf }),
    ...(await unselectedDaemonSets(policy, selected, comparison)),
  ];
  const { warnings } = startupNotes(policy, {
    daemonSets: [...byNamespace.values()].flat(),
    isKnown: (namespace) => byNamespace.has(namespace),
    companions,
    budget,
  });
  const unseenDrivers = policy.untilReady.flatMap(({ field, parts }) =>
    parts.csiDrivers
      .filter(({ name }) => drivers?.has(name) === false)
      .map(({ name }) => `no CSINode lists driver ${name} yet, for which ${field} waits`),
  );
  return [
    ...faults.map(({ warning }) => warning),
    ...requiredTaintWarnings(policy, companions, found),
    ...warnings,
    ...unseenDrivers,
  ];
}

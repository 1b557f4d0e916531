import { daemonTolerations } from '../../kubernetes/daemon-tolerations.ts';
import { formatTaint, repels } from '../../kubernetes/taint.ts';
import { mayTolerate, type Toleration } from '../../kubernetes/toleration.ts';
import type { CompiledTaintPolicy, EnsuredTaint } from '../../policy/compiled-taint-policy.ts';
import { daemonSetName, type ReadyDaemonSet } from '../../policy/ready-when.ts';
import { type DaemonSetView, hasTooManyTolerations } from '../daemon-set-view.ts';

/** The most required taints that a DaemonSet is compared with. */
const MAX_REQUIRED = 32;

/**
 * Warnings on apply of a policy about DaemonSets of `readyWhen.daemonSets` that do not tolerate a required taint of nodes of the policy: they never run there.
 * Later nodes may get the taint only after their startup, so this is no problem of the policy.
 * @param daemonSetOf undefined for one that does not exist or is not read
 */
export function requiredTaintWarnings(
  policy: CompiledTaintPolicy,
  companions: readonly CompiledTaintPolicy[],
  daemonSetOf: (one: ReadyDaemonSet) => DaemonSetView | undefined,
): string[] {
  const required = [policy, ...companions]
    .flatMap((of) => of.required.map((one) => ({ ...one, of: of.name })))
    .filter(({ taint }) => repels(taint))
    .slice(0, MAX_REQUIRED);
  const awaited = policy.untilReady.flatMap(({ parts }) => parts.daemonSets);
  const daemonSets = new Set(awaited.flatMap((one) => daemonSetOf(one) ?? []));
  return Array.from(daemonSets).flatMap((daemonSet) => {
    if (hasTooManyTolerations(daemonSet)) return [];
    const tolerations = daemonTolerations(daemonSet.tolerations, daemonSet.hostNetwork);
    const by = required.find((one) => !tolerations.some((toleration) => mayTolerateOnNode(toleration, one)));
    if (!by) return [];
    const of = by.of === policy.name ? 'this policy' : `TaintPolicy ${by.of}`;
    return `taint ${formatTaint(by.taint)} of ${of} is not tolerated by DaemonSet ${daemonSetName(daemonSet)}`;
  });
}

/** Whether a node may have a value of the taint that is tolerated. */
function mayTolerateOnNode(toleration: Toleration, { taint, anyValue }: EnsuredTaint): boolean {
  return mayTolerate(anyValue && toleration.key ? { ...toleration, operator: 'Exists' } : toleration, taint);
}

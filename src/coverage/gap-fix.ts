import { hasTooManyTolerations, optsOut } from '../judge/daemon-set-view.ts';
import { lackedByRunning } from '../judge/request/daemon-set.ts';
import { matchesPattern } from '../kubernetes/pattern.ts';
import type { Taint } from '../kubernetes/taint.ts';
import { tolerates } from '../kubernetes/toleration.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import { type CompiledTolerationPolicy, mutatingAmong } from '../policy/compiled-toleration-policy.ts';
import { parsePolicy } from '../policy/policy.ts';
import type { SchedulingNode } from '../scheduling/coverage.ts';
import { closingPolicies, type TolerationPolicyManifest, tolerationPolicies } from './gap-policies.ts';
import type { Gap } from './gaps.ts';
import { tolerationsFor } from './missing-tolerations.ts';
import type { FixableDaemonSet } from './workload.ts';

/** Why a gap is not closed. */
export type NotClosedBecause =
  /** The policies add all missing tolerations at the next rollout. */
  | { readonly kind: 'alreadyRequired'; readonly by: readonly string[] }
  /** The user did not name the key of a blocking taint. */
  | { readonly kind: 'keyNotNamed'; readonly keys: readonly string[] }
  /** The DaemonSet has the annotation that excludes it from policies. */
  | { readonly kind: 'optsOut' }
  /** No policy adds tolerations to a DaemonSet with so many. */
  | { readonly kind: 'tooManyTolerations' }
  /** No policy can name the DaemonSet or the taint, because the API server would not accept the name. */
  | { readonly kind: 'notValid' };

/** A gap, and all taints that have to be tolerated to close it. */
export interface ConsideredGap<DaemonSet extends FixableDaemonSet, Node extends SchedulingNode>
  extends Omit<Gap<DaemonSet, Node>, 'taints' | 'transient'> {
  /** The taints of the gap, and its other transient taints that the keys name. */
  readonly taints: readonly Taint[];
}

export interface LeftGap<DaemonSet extends FixableDaemonSet, Node extends SchedulingNode> {
  readonly gap: ConsideredGap<DaemonSet, Node>;
  readonly because: NotClosedBecause;
}

export interface CoverageFix<DaemonSet extends FixableDaemonSet, Node extends SchedulingNode> {
  /** They add to each DaemonSet the tolerations that its gaps need, and none to other DaemonSets. */
  readonly policies: readonly TolerationPolicyManifest[];
  readonly closed: readonly ConsideredGap<DaemonSet, Node>[];
  /** The gaps that are not closed. A gap by transient taints is one of them only if the keys name one of its taints. */
  readonly left: readonly LeftGap<DaemonSet, Node>[];
  /** The other gaps by transient taints. */
  readonly transient: readonly ConsideredGap<DaemonSet, Node>[];
}

/**
 * The TolerationPolicies that close gaps. A gap is closed only if all of its taints may be tolerated. A toleration that gains no node is not added.
 * @param keys of the taints that may be tolerated; `*` stands for any characters, and then covers no transient taint. A transient taint that is named
 *   is tolerated wherever it keeps the DaemonSet off, also beside permanent ones.
 * @param inForce policies whose requirements are left out
 * @param options.byPolicies whether policies will add the tolerations, and not the author of each DaemonSet
 */
export function fixGaps<DaemonSet extends FixableDaemonSet, Node extends SchedulingNode>(
  gaps: readonly Gap<DaemonSet, Node>[],
  keys: readonly string[],
  inForce: readonly CompiledTolerationPolicy[] = [],
  { byPolicies = true }: { readonly byPolicies?: boolean } = {},
): CoverageFix<DaemonSet, Node> {
  const considered = gaps.map(
    ({ transient, ...gap }): ConsideredGap<DaemonSet, Node> => ({
      ...gap,
      taints: [...gap.taints, ...transient.filter(({ key }) => keys.includes(key))],
    }),
  );
  const isLeftToEnd = ({ isTransient, taints }: ConsideredGap<DaemonSet, Node>) =>
    isTransient && !taints.some(({ key }) => keys.includes(key));
  const transient = considered.filter(isLeftToEnd);
  const closable = considered.filter((gap) => !isLeftToEnd(gap));
  const left = closable.flatMap((gap): LeftGap<DaemonSet, Node>[] => {
    const because = notClosedBecause(gap, keys, inForce, byPolicies);
    return because ? [{ gap, because }] : [];
  });
  const leftGaps = new Set(left.map(({ gap }) => gap));
  const closed = closable.filter((gap) => !leftGaps.has(gap));
  return { policies: closingPolicies(closed), closed, left, transient };
}

function notClosedBecause(
  { daemonSet, taints }: ConsideredGap<FixableDaemonSet, SchedulingNode>,
  keys: readonly string[],
  inForce: readonly CompiledTolerationPolicy[],
  byPolicies: boolean,
): NotClosedBecause | undefined {
  if (optsOut(daemonSet)) return { kind: 'optsOut' };
  if (byPolicies && hasTooManyTolerations(daemonSet)) return { kind: 'tooManyTolerations' };
  // Not all that they require: the webhook does not add Exists to a DaemonSet that tolerates a role taint without its value.
  const { missing } = lackedByRunning(
    { ...daemonSet, deleting: false },
    { tolerationPolicies: mutatingAmong(inForce) },
  );
  const by = taints.map((taint) => missing.find(({ toleration }) => tolerates(toleration, taint))?.policy.name);
  if (by.every((name) => name !== undefined)) return { kind: 'alreadyRequired', by: [...new Set(by)] };
  const isNamed = (key: string) =>
    isTransientTaintKey(key) ? keys.includes(key) : keys.some((pattern) => matchesPattern(pattern, key));
  const others = taints.filter(({ key }) => !isNamed(key));
  if (others.length > 0) return { kind: 'keyNotNamed', keys: [...new Set(others.map(({ key }) => key))] };
  const [policy] = tolerationPolicies(daemonSet.namespace, [daemonSet.name], tolerationsFor(taints));
  return policy && parsePolicy(policy).ok && !`${daemonSet.namespace}${daemonSet.name}`.includes('*')
    ? undefined
    : { kind: 'notValid' };
}

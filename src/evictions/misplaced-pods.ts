import { requiredTaints } from '../judge/declared-taints.ts';
import { isKept, isRemoved, type RecordedTaint } from '../judge/node-record.ts';
import type { NodeView } from '../judge/node-view.ts';
import { formatTaint, identity, type Taint, valuesOf } from '../kubernetes/taint.ts';
import { atMost, count } from '../kubernetes/text.ts';
import { mayTolerate } from '../kubernetes/toleration.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { StateOf } from '../policy/status-conditions.ts';
import type { NodePod } from './node-pods.ts';

// All times here are in milliseconds since the epoch, by the clock of the API server.

/** The state of a taint that a node should carry. */
export interface Custody {
  /** Since when, at the latest, the node should carry it. */
  readonly since: number;
  /** When it was first seen missing; undefined while the node carries it. */
  readonly missingAt: number | undefined;
}

/** By the taint, as {@link formatTaint} writes it. */
export type Custodies = ReadonlyMap<string, Custody>;

/** A taint that is on its node again. */
export interface ReturnedTaint extends Custody {
  readonly taint: Taint;
  readonly missingAt: number;
  /** When it was first seen there again. */
  readonly backAt: number;
}

/**
 * Updates the state with a node. Only NoSchedule taints count: NoExecute evicts by itself, and PreferNoSchedule keeps no pod away. A taint that was
 * removed with permission no longer counts, so no pod is misplaced then.
 *
 * @param before the earlier state; undefined for a node that is seen for the first time
 * @param earlier for such a node: since when it should carry its taints, at the latest
 */
export function takeNotice(
  node: NodeView & { readonly recorded: readonly RecordedTaint[] },
  policies: readonly CompiledTaintPolicy[],
  before: Custodies | undefined,
  now: number,
  earlier = now,
): { readonly after: Custodies; readonly returned: readonly ReturnedTaint[] } {
  const carried = valuesOf(node.taints);
  const after = new Map<string, Custody>();
  const returned: ReturnedTaint[] = [];
  for (const { taint, isRecorded } of taintsToCarry(node, policies)) {
    const text = formatTaint(taint);
    const known = before?.get(text);
    const since = known?.since ?? (before ? now : earlier);
    const isCarried = carried.get(identity(taint)) === (taint.value ?? '');
    // A taint that a policy has begun to require is not missing before the node has had it.
    if (before && !known && !isCarried && !isRecorded) continue;
    after.set(text, { since, missingAt: isCarried ? undefined : (known?.missingAt ?? now) });
    if (isCarried && known?.missingAt !== undefined) {
      returned.push({ taint, since, missingAt: known.missingAt, backAt: now });
    }
  }
  return { after, returned };
}

/** The taints that a node should carry: those of its record, and those that policies require with one value, which no record lists. */
function taintsToCarry(
  { labels, recorded }: NodeView & { readonly recorded: readonly RecordedTaint[] },
  policies: readonly CompiledTaintPolicy[],
): { readonly taint: Taint; readonly isRecorded: boolean }[] {
  const required = requiredTaints(labels, policies).filter(
    (one) => one.policy.mode !== 'Audit' && !one.anyValue && !isRemoved(recorded, one),
  );
  const all = [
    ...required.map(({ taint }) => ({ taint, isRecorded: false })),
    ...recorded.filter(isKept).map((taint) => ({ taint, isRecorded: true })),
  ].filter(({ taint }) => taint.effect === 'NoSchedule' && !isTransientTaintKey(taint.key));
  return [...new Map(all.map((one) => [formatTaint(one.taint), one])).values()];
}

/**
 * By how much a pod must be later to count as certainly later. Its time has whole seconds, this process' clock lags behind the API server's by up to
 * one second, and the scheduler learns of a taint a little later.
 */
export const CERTAIN_MS = 2_000;

/**
 * Whether a pod was certainly scheduled while the taint was missing, and certainly does not tolerate it. The scheduler puts no pod onto a node with a
 * taint that it does not tolerate. So every pod that it put there since the node should carry the taint was scheduled in a gap. A pod that names its
 * node itself is bound at any time: it counts if it was bound while the taint was seen missing.
 * @param disagreementMs by how much the clocks of API servers differ: one may have written the time of the pod, and another one that of this process
 */
export function isMisplaced(
  pod: NodePod,
  { taint, since, missingAt, backAt }: ReturnedTaint,
  disagreementMs = 0,
): boolean {
  const certainMs = CERTAIN_MS + disagreementMs;
  if (pod.tolerations.some((toleration) => mayTolerate(toleration, taint))) return false;
  if (pod.isScheduled) return pod.landedAt >= since + certainMs;
  return pod.landedAt >= missingAt + certainMs && pod.landedAt + certainMs <= backAt;
}

/** Pods that a condition names. */
const MAX_NAMED = 5;

/** The misplaced pods on a node that count for one policy. */
export interface MisplacedOnNode {
  readonly node: string;
  /** `NAMESPACE/NAME`. */
  readonly pods: readonly string[];
}

/** The condition `MisplacedPods` of a policy. Undefined if there are none. */
export function misplacedPodsState(found: readonly MisplacedOnNode[]): StateOf<'MisplacedPods'> | undefined {
  const nodes = found.filter(({ pods }) => pods.length > 0);
  const all = nodes.flatMap(({ node, pods }) => pods.map((pod) => `${pod} on ${node}`));
  if (all.length === 0) return undefined;
  const said = `${count(all.length, 'pod')} landed on ${count(nodes.length, 'node')} while a taint was missing`;
  return {
    status: 'True',
    reason: 'PodsLanded',
    message: `${said}, and do not tolerate it: ${atMost(MAX_NAMED, all).join(', ')}`,
  };
}

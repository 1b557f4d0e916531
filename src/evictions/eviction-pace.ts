import type { StringMap } from '../kubernetes/label-selector.ts';
import { removedTaints, type Taint } from '../kubernetes/taint.ts';
import { atMost, count } from '../kubernetes/text.ts';
import { CLOCK_SKEW_MS, rfc3339 } from '../kubernetes/time.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import type { StateOf } from '../policy/status-conditions.ts';

/** Pods or zones that a message names. */
const MAX_NAMED = 3;

/** Why no node gets a taint that evicts pods now, in all zones or in one. */
export type EvictionBlocker =
  /** `names` is empty if there are too many to be read. */
  | { readonly reason: 'PodsWithoutNode'; readonly names: readonly string[] }
  | { readonly reason: 'ZoneNotReady'; readonly zone: string; readonly nodes: number; readonly notReady: number }
  | { readonly reason: 'RateIsZero' };

/** The condition `Evicting` of a policy: how many nodes wait, and why. */
export interface Waiting {
  readonly nodes: number;
  /** Nodes a second in each zone. */
  readonly rate: number;
  readonly blockers: readonly EvictionBlocker[];
  /** Why pods cannot be read. Undefined if they can. */
  readonly podsHidden: string | undefined;
}

export function evictionState({ nodes, rate, blockers, podsHidden }: Waiting): StateOf<'Evicting'> {
  const [first] = blockers;
  const blind = podsHidden && `does not wait for unscheduled pods: ${podsHidden}`;
  const parts = [
    `${count(nodes, 'node')} waiting for a taint that evicts pods`,
    paceOf(rate),
    blockersText(blockers),
    blind,
  ];
  return { status: 'True', reason: first?.reason ?? 'Paced', message: parts.filter(Boolean).join('; ') };
}

/** What blocks the taint, as text. Empty for nothing. */
export function blockersText(blockers: readonly EvictionBlocker[]): string {
  return blockers.length === 0 ? '' : `waiting: ${atMost(MAX_NAMED, blockers.map(textOf)).join(', ')}`;
}

/** `at most one node in 10 s in each zone` */
export function paceOf(rate: number): string {
  if (rate === 0) return '';
  const pace = rate <= 1 ? `one node in ${rounded(1 / rate)} s` : `${rounded(rate)} nodes in 1 s`;
  return `at most ${pace} in each zone`;
}

function textOf(blocker: EvictionBlocker): string {
  switch (blocker.reason) {
    case 'PodsWithoutNode': {
      const { names } = blocker;
      if (names.length === 0) return 'too many pods are unscheduled';
      const are = names.length === 1 ? 'is' : 'are';
      const named = atMost(MAX_NAMED, names).join(', ');
      return `${count(names.length, 'pod')} created since ${are} unscheduled (${named})`;
    }
    case 'ZoneNotReady':
      return `${blocker.notReady} of ${blocker.nodes} nodes ${blocker.zone ? `in zone ${blocker.zone} ` : ''}are not ready`;
    case 'RateIsZero':
      return 'the rate is 0 (serve --node-eviction-rate)';
  }
}

function rounded(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/**
 * How many nodes a second get a taint that evicts pods, in each zone: the rate at which Kubernetes evicts pods from failing nodes
 * (`--node-eviction-rate` of kube-controller-manager).
 */
export const DEFAULT_EVICTION_RATE = 0.1;
/** Nodes a second. */
export const MAX_EVICTION_RATE = 100;

// As `--unhealthy-zone-threshold`, `--large-cluster-size-threshold` and `--secondary-node-eviction-rate` of kube-controller-manager.
const UNHEALTHY_SHARE = 0.55;
const LARGE_ZONE = 50;
const LARGE_UNHEALTHY_FACTOR = 0.1;

/** The default toleration of a pod ends after five minutes, and its shutdown takes some time: its replacement is created by then. */
const REPLACED_WITHIN_MS = 600_000;
/**
 * A pod holds back evictions for this time. Which pods were evicted is not known, and every user who may create pods can create one that no node can
 * take.
 */
const HOLDS_FOR_MS = 3_600_000;
/** `timeAdded` counts whole seconds. */
const SECOND_MS = 1_000;
/** A time that is later than that, by the clock of this process, does not count. */
const FUTURE_MS = 60_000;

/** What the nodes of a zone have in common. */
export interface Zone {
  readonly nodes: number;
  readonly notReady: number;
  /** When the last of them got a taint that evicts pods, in milliseconds since the epoch. Undefined: no node shows that. */
  readonly lastAt: number | undefined;
}

/** The fields of a node that {@link zonesOf} reads. */
interface ZonedNode {
  readonly labels: StringMap;
  readonly taints: readonly Taint[];
  readonly ready: boolean;
}

/** `REGION/ZONE`, by the well-known labels; the empty text for a node that has neither. */
export function zoneOf(labels: StringMap): string {
  return ['topology.kubernetes.io/region', 'topology.kubernetes.io/zone']
    .flatMap((name) => labels[name] || [])
    .join('/');
}

/**
 * The zones of all nodes, by name.
 * @param now in milliseconds since the epoch: times in the future do not count
 */
export function zonesOf(nodes: Iterable<ZonedNode>, now: number): ReadonlyMap<string, Zone> {
  const zones = new Map<string, Zone>();
  for (const { labels, taints, ready } of nodes) {
    const name = zoneOf(labels);
    const zone = zones.get(name) ?? { nodes: 0, notReady: 0, lastAt: undefined };
    const times = evictionTimes(taints).filter((time) => time <= now + FUTURE_MS);
    zones.set(name, {
      nodes: zone.nodes + 1,
      notReady: zone.notReady + (ready ? 0 : 1),
      lastAt: times.reduce((last: number | undefined, time) => Math.max(time + SECOND_MS, last ?? 0), zone.lastAt),
    });
  }
  return zones;
}

/** When taints that evict pods were added to a node, if they have a time. Without taints that Kubernetes, autoscalers or operators set and remove. */
export function evictionTimes(taints: readonly Taint[]): number[] {
  return taints.flatMap(({ key, effect, timeAdded }) => {
    if (effect !== 'NoExecute' || !timeAdded || isTransientTaintKey(key)) return [];
    const time = Date.parse(timeAdded);
    return Number.isNaN(time) ? [] : [time];
  });
}

/** The taints of a desired node that evict pods from the current one. */
export function evictingTaints(before: readonly Taint[], after: readonly Taint[]): Taint[] {
  return removedTaints(after, before).filter(({ effect }) => effect === 'NoExecute');
}

/** `after` with the time at each taint that evicts pods. By that time, every leader knows when the node got it. */
export function withTimeAdded(before: readonly Taint[], after: readonly Taint[], now: Date): readonly Taint[] {
  const evicting = new Set(evictingTaints(before, after));
  if (evicting.size === 0) return after;
  const timeAdded = rfc3339(now.getTime());
  return after.map((taint) => (evicting.has(taint) ? { ...taint, timeAdded } : taint));
}

/**
 * How many nodes a second get the taint in such a zone, of the `rate`. As in Kubernetes, a tenth if 55 % of the nodes or more are not ready, and none
 * then in a zone of at most 50 nodes. Unlike in Kubernetes, none if no node is ready at all, and two nodes can be too many: waiting loses nothing
 * here.
 */
export function rateIn({ nodes, notReady }: Pick<Zone, 'nodes' | 'notReady'>, rate: number): number {
  if (notReady === nodes) return 0;
  if (notReady / nodes < UNHEALTHY_SHARE) return rate;
  return nodes > LARGE_ZONE ? rate * LARGE_UNHEALTHY_FACTOR : 0;
}

/**
 * How long a zone must wait for the next node, in milliseconds. Infinity while it has no turn at all.
 * @param lastAt by the same clock as `now`, in milliseconds
 */
export function waitInZone(rate: number, lastAt: number | undefined, now: number): number {
  if (rate === 0) return Number.POSITIVE_INFINITY;
  if (lastAt === undefined) return 0;
  return Math.max(0, Math.ceil(lastAt + 1_000 / rate - now));
}

/** A pod that is Pending and bound to no node. */
export interface UnboundPod {
  /** `NAMESPACE/NAME`. */
  readonly name: string;
  /** In milliseconds since the epoch. */
  readonly createdAt: number;
  /** Kind of its controller. Undefined for a pod that no controller creates again. */
  readonly controller: string | undefined;
  /** Whether it asks not to be scheduled yet (`spec.schedulingGates`). */
  readonly gated: boolean;
}

/**
 * The pods that may replace evicted ones, and have no node to run on. They were created within ten minutes after one of the evictions, and less than
 * an hour ago. Pods of DaemonSets do not move to other nodes.
 * @param now by the clock of the API server, as the other times
 */
export function displacedPods(pods: readonly UnboundPod[], evictions: readonly number[], now: number): string[] {
  // Of a taint on thousands of nodes, most were added long ago.
  const recent = evictions.filter((time) => now - time < HOLDS_FOR_MS + REPLACED_WITHIN_MS);
  const isReplacement = ({ controller, gated }: UnboundPod) => controller && controller !== 'DaemonSet' && !gated;
  const isInTime = ({ createdAt }: UnboundPod) =>
    now - createdAt < HOLDS_FOR_MS &&
    recent.some((time) => createdAt >= time - CLOCK_SKEW_MS && createdAt - time <= REPLACED_WITHIN_MS);
  return pods.filter((pod) => isReplacement(pod) && isInTime(pod)).map(({ name }) => name);
}

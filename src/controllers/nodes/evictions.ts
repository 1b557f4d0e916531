import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isForbidden } from '../../cluster/client/api-error.ts';
import type { ClusterNode } from '../../cluster/cluster-objects.ts';
import { listUnboundPods } from '../../cluster/node-pods.ts';
import { howToPermit, OPTIONAL_RIGHTS } from '../../cluster/rights.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import {
  blockersText,
  displacedPods,
  type EvictionBlocker,
  evictionState,
  evictionTimes,
  rateIn,
  waitInZone,
  type Zone,
  zoneOf,
  zonesOf,
} from '../../evictions/eviction-pace.ts';
import type { RecordedEvent } from '../../kubernetes/event.ts';
import type { StateOf } from '../../policy/status-conditions.ts';
import { type Run, startController } from '../controller.ts';
import type { ReportedProblem } from '../reports.ts';
import type { Nodes } from '../sources.ts';
import { eventOfEvictions } from './node-reports.ts';

/** What blocks evictions is checked again after this time. */
const CHECK_AGAIN_MS = 10_000;
/** Each run reads all nodes, and thousands of nodes may begin to wait within a second. */
const PAUSE_MS = 200;
/** Pods are usually scheduled, and nodes become ready, within this time. What takes longer needs an action of the user. */
const STALLED_MS = 60_000;
/** Not a valid name of a zone. */
const ALL_ZONES = '*';

export interface EvictionsOptions {
  readonly client: ApiClient;
  readonly nodes: Pick<Nodes, 'entries'>;
  /** Resolves when all nodes are known. Before, it is not known how many nodes of a zone are Ready, and when the last one had its turn. */
  readonly synced: Promise<unknown>;
  /** Nodes a second in each zone. */
  readonly rate: number;
  /** Called when it is the turn of the node. */
  readonly onTurn: (name: string) => void;
  readonly recordEvent: (event: RecordedEvent) => void;
  /** Called when states or problems may have changed. */
  readonly onChange: () => void;
}

/** One check of a node, which may be its turn. */
export interface Turn {
  /** Whether the node may get taints that evict its pods. */
  readonly granted: boolean;
  /** Whether such a write was sent. It may have succeeded. */
  used: boolean;
}

/** The progress of a policy with a taint that evicts pods. */
export interface Evicting {
  /** How many nodes lack the taint, including those whose turn it is. */
  readonly nodes: number;
  /** Undefined while none waits for its turn. */
  readonly condition: StateOf<'Evicting'> | undefined;
}

/** Gives nodes their turns to get a taint that evicts their pods, at the pace of eviction-pace.ts. */
export interface Evictions {
  /** The node lacks taints of these policies that would evict its pods. Without policies: it lacks none. */
  waits(node: Pick<Entry<ClusterNode>, 'name' | 'value'>, policies: ReadonlySet<string>): void;
  /** Whether the node waits for its turn, or has it. */
  has(name: string): boolean;
  /** The node was deleted. */
  forget(name: string): void;
  /** Calls `work` for the node, and ends its turn if it has one. */
  check<T>(name: string, work: (turn: Turn) => Promise<T>): Promise<T>;
  stateOf(policy: string): Evicting;
  problems(): readonly ReportedProblem[];
  stop(): Promise<void>;
}

interface Waiter {
  readonly zone: string;
  readonly policies: ReadonlySet<string>;
}

export function startEvictions(run: Run, options: EvictionsOptions): Evictions {
  const { client, nodes, synced, rate, onTurn, recordEvent, onChange } = options;
  /** By the name of the node. The one that has waited longest is first. */
  const waiting = new Map<string, Waiter>();
  /** The nodes whose turn it is, with their zones: one in each zone. */
  const granted = new Map<string, string>();
  /** When this process last evicted pods in a zone, by performance.now(). Earlier evictions are read from the nodes. */
  const evictedAt = new Map<string, number>();
  /** What blocks evictions in zones, and since when. */
  let blockedZones = new Map<string, { readonly blocker: EvictionBlocker; readonly since: number }>();
  let podsHidden: string | undefined;
  const lastReported = new Map<string, string>();
  const pacing = startController(run, 'node-eviction', reconcile, {
    // Much shorter than the time from one node to the next.
    pauseMs: Math.min(PAUSE_MS, 100 / rate),
  });

  function end(name: string, used: boolean): void {
    const zone = granted.get(name);
    if (zone === undefined) return;
    if (used) evictedAt.set(zone, performance.now());
    granted.delete(name);
    // If it lacks more, the next check adds it again.
    waiting.delete(name);
    pacing.trigger();
  }

  return {
    waits({ name, value }, policies) {
      if (policies.size > 0) {
        const zone = zoneOf(value.labels);
        const before = waiting.get(name);
        waiting.set(name, { zone, policies });
        // The last run may have found no node in the new zone, and requested no other run.
        if (before?.zone === zone) return;
        pacing.trigger();
      } else if (!waiting.delete(name)) return;
      onChange();
    },
    has: (name) => waiting.has(name),
    forget(name) {
      end(name, false);
      if (waiting.delete(name)) onChange();
    },
    async check(name, work) {
      const turn = { granted: granted.has(name), used: false };
      try {
        return await work(turn);
      } finally {
        if (turn.granted) end(name, turn.used);
      }
    },
    stateOf(policy) {
      const zones = zonesOfWaiting(policy);
      const count = [...waiting.values()].filter(({ policies }) => policies.has(policy)).length;
      const blockers = blockersOf(zones).map(({ blocker }) => blocker);
      const condition = evictionState({ nodes: zones.length, rate, blockers, podsHidden });
      return { nodes: count, condition: zones.length === 0 ? undefined : condition };
    },
    problems() {
      const now = performance.now();
      return [...new Set(policiesOfWaiting())].sort().flatMap((policy) => {
        const [first, ...more] = blockersOf(zonesOfWaiting(policy)).filter(({ since }) => now - since >= STALLED_MS);
        if (!first) return [];
        const message = `nodes lack a taint that evicts pods; ${blockersText([first, ...more].map(({ blocker }) => blocker))}`;
        return [{ kind: 'TaintPolicy', policy, reason: first.blocker.reason, message }];
      });
    },
    stop: pacing.stop,
  };

  async function reconcile(): Promise<number | undefined> {
    await synced;
    // No node waits: nodes that begin to wait later are reported again.
    if (waiting.size === 0 && blockedZones.size === 0) {
      lastReported.clear();
      return undefined;
    }
    const zones = zonesOf(nodeViews(), client.now().getTime());
    const taken = new Set(granted.values());
    const found = new Map<string, EvictionBlocker>();
    const waits: number[] = [];
    const due: string[] = [];
    for (const name of new Set([...waiting.values()].map(({ zone }) => zone))) {
      const zone = zones.get(name);
      if (!zone || taken.has(name)) continue;
      const wait = waitMs(name, zone);
      if (wait === 0) due.push(name);
      else if (wait < Number.POSITIVE_INFINITY) waits.push(wait);
      else found.set(name, blockerOf(name, zone));
    }
    const pods = due.length > 0 ? await podsBlocker() : undefined;
    if (pods) found.set(ALL_ZONES, pods);
    else for (const zone of due) grant(zone);
    const before = blockedZones;
    const now = performance.now();
    blockedZones = new Map(
      [...found].map(([key, blocker]) => [key, { blocker, since: before.get(key)?.since ?? now }]),
    );
    report();
    onChange();
    if (found.size > 0) waits.push(CHECK_AGAIN_MS);
    return waits.length === 0 ? undefined : Math.min(...waits);
  }

  /** In how many milliseconds the next node of the zone may have its turn; Infinity for never. */
  function waitMs(name: string, zone: Zone): number {
    const { lastAt } = zone;
    const before = lastAt === undefined ? undefined : performance.now() - (client.now().getTime() - lastAt);
    return waitInZone(rateIn(zone, rate), evictedAt.get(name) ?? before, performance.now());
  }

  function blockerOf(zone: string, { nodes: count, notReady }: Zone): EvictionBlocker {
    return rate === 0 ? { reason: 'RateIsZero' } : { reason: 'ZoneNotReady', zone, nodes: count, notReady };
  }

  function grant(zone: string): void {
    const [name] = [...waiting].find(([, waiter]) => waiter.zone === zone) ?? [];
    if (name === undefined) return;
    granted.set(name, zone);
    onTurn(name);
  }

  async function podsBlocker(): Promise<EvictionBlocker | undefined> {
    const times = [...nodeViews()].flatMap(({ taints }) => evictionTimes(taints));
    if (times.length === 0) return undefined;
    try {
      const pods = await listUnboundPods(client, run.signal);
      podsHidden = undefined;
      const names = pods && displacedPods(pods, times, client.now().getTime());
      return names?.length === 0 ? undefined : { reason: 'PodsWithoutNode', names: names ?? [] };
    } catch (error) {
      // Without the right to list pods, the pace is the only limit.
      if (!isForbidden(error)) throw error;
      podsHidden = `taintkeeper may not ${OPTIONAL_RIGHTS.listPods.to} (${howToPermit('listPods')})`;
      return undefined;
    }
  }

  /** Reports once for each policy that nodes wait, and what for. */
  function report(): void {
    const policies = new Set(policiesOfWaiting());
    for (const policy of lastReported.keys()) if (!policies.has(policy)) lastReported.delete(policy);
    for (const policy of policies) {
      const [first] = blockersOf(zonesOfWaiting(policy));
      const reason = first?.blocker.reason ?? 'Paced';
      if (lastReported.get(policy) === reason) continue;
      lastReported.set(policy, reason);
      recordEvent(eventOfEvictions(policy, first?.blocker.reason, rate));
    }
  }

  function* nodeViews(): Iterable<ClusterNode> {
    for (const { value } of nodes.entries()) yield value;
  }

  /** A policy is listed once for each of its nodes, except those whose turn it is. */
  function policiesOfWaiting(): string[] {
    return [...waiting].flatMap(([name, { policies }]) => (granted.has(name) ? [] : [...policies]));
  }

  function zonesOfWaiting(policy: string): string[] {
    return [...waiting].flatMap(([name, one]) => (!granted.has(name) && one.policies.has(policy) ? [one.zone] : []));
  }

  function blockersOf(zones: readonly string[]) {
    return [...new Set([ALL_ZONES, ...zones])].flatMap((key) => blockedZones.get(key) ?? []);
  }
}

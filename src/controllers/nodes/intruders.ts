import { evictPod, listNodePods } from '../../cluster/node-pods.ts';
import type { ClusterPolicies } from '../../cluster/policies.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { zoneOf } from '../../evictions/eviction-pace.ts';
import {
  type Custodies,
  type IntrudersOnNode,
  intrudersState,
  isEvictable,
  isIntruder,
  type ReturnedTaint,
  takeNotice,
} from '../../evictions/intruders.ts';
import { type NodePod, podName } from '../../evictions/node-pods.ts';
import { formatTaint } from '../../kubernetes/taint.ts';
import { type BackOff, createBackOff } from '../../runtime/back-off.ts';
import { startWorkQueue } from '../../runtime/work-queue.ts';
import type { Controller, LeaderContext } from '../context.ts';
import { type ClusterNode, isNews } from '../sources.ts';
import type { EvictionTurns } from './eviction-turns.ts';
import { type IntruderFound, intruderReports, intrudersText } from './intruder-reports.ts';

export type IntrudersContext = Pick<
  LeaderContext,
  'client' | 'nodes' | 'rights' | 'predecessorAt' | 'record' | 'reports' | 'metrics' | 'log' | 'signal'
> & { readonly policies: Pick<ClusterPolicies, 'snapshot' | 'changes'>; readonly evictionTurns: EvictionTurns };

const NAME = 'intruders';
/** What the scheduler had begun when a taint came back is done by then. */
const SETTLE_MS = 1_000;
/** Pods end by themselves, and Events are for everybody: this is for the status to be right again. */
const LOOK_AGAIN_MS = 60_000;
const AT_ONCE_MS = 1;
/** A zone without a turn is looked at again after this time. */
const HELD_MS = 10_000;
/** How old what is known of zones may be. */
const ZONES_MS = 200;
/** Where a PodDisruptionBudget holds a pod back, each time. */
const HELD_BACK = { minMs: 2_000, maxMs: 60_000 };
const EVICTION_TIMEOUT_MS = 5_000;
/** Each lists the pods of one node. */
const CONCURRENCY = 2;

/** A node on which taints were missing, and are again. */
interface Case {
  /** By the taint, as {@link formatTaint} writes it. */
  readonly returned: Map<string, ReturnedTaint>;
  found: readonly IntruderFound[];
  /** The uids of pods that were told of. */
  readonly told: Set<string>;
  /** By uid, of pods whose eviction was refused: when to try again, by performance.now(). */
  readonly heldBack: Map<string, { readonly backOff: BackOff; notBefore: number }>;
  /** Whether it was the node's turn in its zone, until nothing is left to evict. */
  hasTurn: boolean;
}

/** Names the pods that landed on nodes while protected taints were missing, and evicts them where a policy says so. */
export function startIntruders(context: IntrudersContext): Controller {
  const { client, nodes, policies, rights, evictionTurns, predecessorAt, reports, metrics, log, signal } = context;
  const custodies = new Map<string, { readonly uid: string; readonly taints: Custodies }>();
  const cases = new Map<string, Case>();
  let zones = { at: Number.NEGATIVE_INFINITY, byName: new Map() as ReturnType<EvictionTurns['zones']> };
  const tell = intruderReports(context);
  const queue = startWorkQueue({
    name: NAME,
    work: look,
    concurrency: CONCURRENCY,
    log,
    signal,
    onResult: (result) => metrics.reconciled(NAME, result),
  });
  metrics.watchQueue(NAME, queue.depth);
  const changed = reports.add({
    intruders: ({ kind, name }) => (kind === 'TaintPolicy' ? stateOf(name) : undefined),
    intrudersOn: (name) => intrudersText(cases.get(name)?.found ?? []),
  });
  nodes.changes.subscribe((change) => {
    // A heartbeat changes nothing of this.
    if (!isNews(change)) return;
    const { name } = change.entry;
    const entry = nodes.get(name);
    if (entry) notice(entry);
    else forget(name);
  }, signal);
  for (const { changes } of [policies, rights]) {
    changes.subscribe(() => {
      for (const name of cases.keys()) queue.add(name);
    }, signal);
  }

  return {
    stop() {
      metrics.watchQueue(NAME, undefined);
      return queue.stop();
    },
  };

  function notice({ name, uid, value }: Entry<ClusterNode>): void {
    const known = custodies.get(name);
    if (known && known.uid !== uid) forget(name);
    const before = known?.uid === uid ? known.taints : undefined;
    const { after, returned } = takeNotice(value, before, client.now().getTime(), predecessorAt);
    custodies.set(name, { uid, taints: after });
    if (returned.length === 0) return;
    const found = cases.get(name) ?? newCase();
    for (const one of returned) found.returned.set(formatTaint(one.taint), one);
    cases.set(name, found);
    queue.add(name, SETTLE_MS);
  }

  function forget(name: string): void {
    custodies.delete(name);
    if (cases.delete(name)) changed();
  }

  async function look(name: string): Promise<number | undefined> {
    const entry = nodes.get(name);
    const found = cases.get(name);
    // Who is permitted later looks again.
    if (!entry || !found || !rights.permits('listPods')) return undefined;
    for (const text of found.returned.keys()) {
      // It has gone with leave since.
      if (!custodies.get(name)?.taints.has(text)) found.returned.delete(text);
    }
    const waitMs = found.hasTurn || !toEvict(found).length ? 0 : turnInMs(entry.value);
    if (waitMs > 0) return Math.min(waitMs, LOOK_AGAIN_MS);
    const returned = new Set(found.returned.values());
    const pods = await listNodePods(client, name, signal);
    // The node is gone, or another one has its name.
    if (cases.get(name) !== found) return undefined;
    found.found = intrudersAmong(pods, entry.value, found);
    for (const uid of found.heldBack.keys()) {
      if (!found.found.some(({ pod }) => pod.uid === uid)) found.heldBack.delete(uid);
    }
    const news = found.found.filter(({ pod }) => !found.told.has(pod.uid));
    for (const { pod } of news) found.told.add(pod.uid);
    tell.landed(entry, news);
    const nextMs = await evict(entry, found);
    // For a taint that has returned since, another look is due.
    const isDone = found.found.length === 0 && [...found.returned.values()].every((one) => returned.has(one));
    if (isDone && cases.get(name) === found) cases.delete(name);
    changed();
    return found.found.length === 0 ? undefined : nextMs;
  }

  function intrudersAmong(pods: readonly NodePod[], node: ClusterNode, { returned }: Case): IntruderFound[] {
    const selecting = policies.snapshot().compiled.taintPolicies.filter((policy) => policy.selectsNode(node.labels));
    return pods.flatMap((pod) => {
      const by = [...returned.values()].filter((one) => isIntruder(pod, one)).map(({ taint }) => taint);
      const meant = selecting.filter((policy) => by.some((taint) => policy.protectedBy(taint) !== undefined));
      return meant.length === 0 ? [] : [{ pod, taints: by, policies: meant }];
    });
  }

  function toEvict({ found }: Case): readonly IntruderFound[] {
    if (!rights.permits('evictPods')) return [];
    return found.filter(
      ({ pod, policies: meant }) => isEvictable(pod) && meant.some(({ intruders }) => intruders === 'Evict'),
    );
  }

  /** Says in how many milliseconds to look again. */
  async function evict(entry: Entry<ClusterNode>, found: Case): Promise<number> {
    const pods = toEvict(found);
    if (pods.length === 0) {
      found.hasTurn = false;
      return LOOK_AGAIN_MS;
    }
    const turnMs = found.hasTurn ? 0 : turnInMs(entry.value);
    if (turnMs > 0) return Math.min(turnMs, LOOK_AGAIN_MS);
    found.hasTurn = true;
    evictionTurns.take(zoneOf(entry.value.labels))(true);
    const { compiled } = policies.snapshot();
    for (const one of pods) {
      // Whoever takes the policy back is not to wait for the last pod of the node.
      if (policies.snapshot().compiled !== compiled) return AT_ONCE_MS;
      const { uid } = one.pod;
      if ((found.heldBack.get(uid)?.notBefore ?? 0) > performance.now()) continue;
      try {
        if (await evictPod(client, one.pod, { timeoutMs: EVICTION_TIMEOUT_MS, signal })) tell.evicted(entry, one);
        found.heldBack.delete(uid);
        found.found = found.found.filter(({ pod }) => pod.uid !== uid);
      } catch (error) {
        if (signal.aborted) throw error;
        const held = found.heldBack.get(uid) ?? { backOff: createBackOff(HELD_BACK), notBefore: 0 };
        if (!found.heldBack.has(uid)) tell.heldBack(entry, one, (error as Error).message);
        held.notBefore = performance.now() + held.backOff.next();
        found.heldBack.set(uid, held);
      }
    }
    const waits = [...found.heldBack.values()].map(({ notBefore }) => notBefore - performance.now());
    return Math.max(AT_ONCE_MS, Math.min(LOOK_AGAIN_MS, ...waits));
  }

  /** Of all nodes, as they were a moment ago: thousands of them may wait for their turn at the same time. */
  function currentZones(): ReturnType<EvictionTurns['zones']> {
    const at = performance.now();
    if (at - zones.at >= ZONES_MS) zones = { at, byName: evictionTurns.zones() };
    return zones.byName;
  }

  /** As slowly as the rules of eviction-pace.ts say: one node of a zone after the other. */
  function turnInMs({ labels }: ClusterNode): number {
    const name = zoneOf(labels);
    const zone = currentZones().get(name);
    const waitMs = zone ? evictionTurns.waitMs(name, zone) : Number.POSITIVE_INFINITY;
    return waitMs === Number.POSITIVE_INFINITY ? HELD_MS : waitMs;
  }

  function stateOf(policy: string) {
    const found = [...cases].map(([node, one]): IntrudersOnNode => {
      const own = one.found.filter(({ policies: meant }) => meant.some(({ name }) => name === policy));
      return {
        node,
        pods: own.map(({ pod }) => podName(pod)),
        staying: own.filter(({ pod }) => !isEvictable(pod)).length,
        heldBack: own.filter(({ pod }) => one.heldBack.has(pod.uid)).length,
      };
    });
    const compiled = policies.snapshot().compiled.taintPolicies.find(({ name }) => name === policy);
    if (compiled?.intruders !== 'Evict') return intrudersState(found, 'no');
    return intrudersState(found, rights.permits('evictPods') ? 'yes' : 'not permitted');
  }
}

function newCase(): Case {
  return { returned: new Map(), found: [], told: new Set(), heldBack: new Map(), hasTurn: false };
}

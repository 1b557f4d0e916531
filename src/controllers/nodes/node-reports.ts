import type { Logger } from 'pino';
import type { Change, Entry } from '../../cluster/watch/cached-objects.ts';
import { type Hold, paceOf } from '../../evictions/eviction-pace.ts';
import type { Hindrance, Loss, NodeDrift } from '../../judge/node-drift.ts';
import type { OwedTaint } from '../../judge/node-view.ts';
import { ALLOW_REMOVAL_ANNOTATION, ALLOW_REMOVAL_LIFE_MS } from '../../judge/removal.ts';
import type { Arrival } from '../../judge/rulings.ts';
import { nodeReference, type ObjectReference, type RecordedEvent } from '../../kubernetes/event.ts';
import { droppedTaints, formatTaint, sameTaint, type Taint } from '../../kubernetes/taint.ts';
import { atMost, printable } from '../../kubernetes/text.ts';
import { isTransientTaintKey } from '../../kubernetes/transient-taints.ts';
import { eventsOnBoth, policyReference } from '../../policy/policy-events.ts';
import type { LeaderMetrics } from '../../server/metrics.ts';
import type { ClusterNode } from '../sources.ts';
import type { TaintContests } from './taint-contests.ts';

/** Entries of an annotation that an Event names. */
const MAX_NAMED = 8;
/** Taints that one node is known to have lost. No record lists required ones. */
const MAX_LOST = 64;

export interface NodeReportsOptions {
  readonly contests: Pick<TaintContests, 'rivalOf'>;
  readonly record: (event: RecordedEvent) => void;
  readonly metrics: LeaderMetrics;
  readonly log: Logger;
}

/** What is told of nodes: Events, log lines and counters. */
export interface NodeReports {
  /** Whether something was told of the node that may be over. */
  has(name: string): boolean;
  gone(name: string): void;
  /** Takes notice of the taints that a node loses. */
  notice(change: Change<ClusterNode>): void;
  /** The taints that the node was seen to lose and has not got back: those are restored, and not added. */
  lostOn(name: string): readonly Taint[];
  /** Says once of each loss why it stays. */
  staying(entry: Entry<ClusterNode>, losses: readonly Loss[]): void;
  /** Says of guarded taints that came while nobody was asked why they stay. */
  arrived(entry: Entry<ClusterNode>, arrived: readonly Arrival[]): void;
  /**
   * Says what a write has put right, and which of such taints it has taken out.
   * @param earlier what the node is known to have carried before
   */
  written(entry: Entry<ClusterNode>, drift: NodeDrift, arrived: readonly Arrival[], earlier: readonly Taint[]): void;
}

export function trackNodeReports({ contests, record, metrics, log }: NodeReportsOptions): NodeReports {
  /** Of each node, the losses that were reported. */
  const reported = new Map<string, ReadonlySet<string>>();
  /** Of each node, the taints that it carried and does not carry any more. */
  const lost = new Map<string, readonly Taint[]>();
  const tell = (entry: Entry<ClusterNode>, loss: Loss, isFirst = false) => {
    const rival = contests.rivalOf(entry, loss.taint);
    const before = { carried: otherValue(entry, loss), isFirst };
    for (const event of eventsOfLoss(nodeReference(entry), loss, rival, before)) record(event);
  };

  const tellArrival = (entry: Entry<ClusterNode>, arrival: Arrival) => {
    for (const event of eventsOfArrival(nodeReference(entry), arrival)) record(event);
    log.warn(`Node ${entry.name}: TaintPolicy ${arrival.policy.name} ${noteOfArrival(arrival)}`);
    if (arrival.hindrance === undefined) metrics.repaired('Node', arrival.policy.name);
  };

  return {
    has: (name) => reported.has(name),
    gone(name) {
      reported.delete(name);
      lost.delete(name);
    },
    notice(change) {
      const { name, uid, value } = change.entry;
      if (change.type !== 'modified' || change.previous.uid !== uid) {
        lost.delete(name);
        return;
      }
      const before = [...(lost.get(name) ?? []), ...change.previous.value.taints];
      const now = droppedTaints(before, value.taints).filter(({ key }) => !isTransientTaintKey(key));
      if (now.length === 0) lost.delete(name);
      else lost.set(name, now.slice(-MAX_LOST));
    },
    lostOn: (name) => lost.get(name) ?? [],
    staying(entry, losses) {
      // Who only waits for a turn gets what it lacks: the policy says that there are some.
      const staying = losses.filter(({ hindrance }) => hindrance !== undefined && hindrance !== 'paced');
      const before = reported.get(entry.name);
      const keyOf = ({ policy, taint, hindrance }: Loss) => [policy.name, formatTaint(taint), hindrance].join(' ');
      for (const loss of staying) {
        if (before?.has(keyOf(loss))) continue;
        tell(entry, loss);
        // Of many at once, most Events find no room.
        const rival = contests.rivalOf(entry, loss.taint);
        const note = noteOfLoss(entry.name, loss, rival, { carried: otherValue(entry, loss) });
        log.warn(`Node ${entry.name}: ${note}`);
      }
      if (staying.length === 0) reported.delete(entry.name);
      else reported.set(entry.name, new Set(staying.map(keyOf)));
    },
    arrived(entry, arrived) {
      for (const one of arrived) if (one.hindrance !== undefined) tellArrival(entry, one);
    },
    written(entry, { losses, expired }, arrived, earlier) {
      const known = [...earlier, ...entry.value.taints];
      const isFirst = ({ taint }: Pick<Loss, 'taint'>) => !known.some((one) => sameTaint(one, taint));
      for (const one of arrived) if (one.hindrance === undefined) tellArrival(entry, one);
      const repaired = losses.filter(({ hindrance }) => hindrance === undefined);
      for (const [text, loss] of new Map(repaired.map((loss) => [formatTaint(loss.taint), loss]))) {
        log.info(`${isFirst(loss) ? 'added' : 'restored'} taint ${text} on Node ${entry.name}`);
      }
      for (const policy of new Set(repaired.map(({ policy }) => policy.name))) metrics.repaired('Node', policy);
      for (const loss of repaired) tell(entry, loss, isFirst(loss));
      if (expired.length > 0) {
        const event = eventOfExpiry(nodeReference(entry), expired);
        record(event);
        log.info(`Node ${entry.name}: ${event.note}`);
      }
    },
  };
}

const WHY_NOT: Record<Exclude<Hindrance, 'contested'>, (loss: Loss) => string> = {
  mode: ({ policy }) => `mode ${policy.mode} does not restore it`,
  eviction: () => 'it would evict pods: add it by hand, or require it with mayEvict: true',
  held: () => 'another value of it comes first',
  paced: () => 'it evicts pods, and waits for its turn',
};

const WHY_HELD: Record<Hold['reason'], string> = {
  PodsWithoutNode: 'pods created since are unscheduled',
  ZoneNotReady: 'too many nodes of their zone are not ready',
  RateIsZero: 'the rate is 0 (serve --node-eviction-rate)',
};

const WHY_LEFT: Record<NonNullable<Arrival['hindrance']>, string> = {
  mode: 'its mode does not take it out',
  held: 'it is protected as well, and is removed only with permission',
  contested: 'it is added each time',
};

function noteOfArrival({ taint, hindrance }: Arrival): string {
  const what = `guarded taint ${formatTaint(taint)}, which was added while taintkeeper was not called`;
  return hindrance === undefined ? `took out ${what}` : `leaves ${what}: ${WHY_LEFT[hindrance]}`;
}

/** What is to be said of a guarded taint that came while nobody was asked, on the node and on the policy. */
function eventsOfArrival(node: ObjectReference, arrival: Arrival): RecordedEvent[] {
  const { name } = arrival.policy;
  const how =
    arrival.hindrance === undefined
      ? ({ type: 'Normal', reason: 'TaintAdditionReverted', action: 'RevertTaint' } as const)
      : ({ type: 'Warning', reason: 'TaintAdditionFound', action: 'LeaveTaint' } as const);
  return eventsOnBoth(node, { kind: 'TaintPolicy', name }, how, noteOfArrival(arrival));
}

/** What is to be said of an announcement that was taken away because nobody used it. */
function eventOfExpiry(node: ObjectReference, entries: readonly string[]): RecordedEvent {
  const named = atMost(MAX_NAMED, entries.map(printable)).join(', ');
  const note = `removed annotation ${ALLOW_REMOVAL_ANNOTATION} (${named}): it was not used within ${ALLOW_REMOVAL_LIFE_MS / 3_600_000} hours`;
  return { regarding: node, type: 'Normal', reason: 'RemovalAnnotationExpired', action: 'RemoveAnnotation', note };
}

/** What is to be said of a policy whose taint evicts pods while nodes wait for it. */
export function eventOfEvictions(name: string, hold: Hold['reason'] | undefined, rate: number): RecordedEvent {
  const policy = policyReference({ kind: 'TaintPolicy', name });
  const note = `nodes wait for a taint that evicts pods: ${hold ? WHY_HELD[hold] : paceOf(rate)}`;
  return hold
    ? { regarding: policy, type: 'Warning', reason: 'EvictionsHeld', action: 'WaitToEvict', note }
    : { regarding: policy, type: 'Normal', reason: 'EvictionsPaced', action: 'WaitToEvict', note };
}

/** What is to be said of a node that registered anew, and carries again what it carried before its deletion. */
export function eventsOfReturn(
  node: Pick<Entry<ClusterNode>, 'name' | 'uid'>,
  returned: readonly OwedTaint[],
): RecordedEvent[] {
  const common = { type: 'Normal', reason: 'TaintReturned', action: 'AddTaint' } as const;
  return returned.flatMap(({ policy, taint }): RecordedEvent[] => {
    const note = `carries taint ${formatTaint(taint)} again, as before it was deleted`;
    const onNode = `registered anew, and ${note} (TaintPolicy ${policy.name})`;
    return eventsOnBoth(nodeReference(node), { kind: 'TaintPolicy', name: policy.name }, common, note, onNode);
  });
}

/** What the node carries in place of a missing taint: the same key and effect with another value. */
function otherValue({ value }: Entry<ClusterNode>, { taint }: Loss): Taint | undefined {
  return value.taints.find((one) => sameTaint(one, taint));
}

/** What the node was like. */
interface Before {
  /** What it carries in place of the taint. */
  readonly carried?: Taint | undefined;
  /** Whether nothing says that it ever carried the taint. */
  readonly isFirst?: boolean;
}

/**
 * What is to be said of a taint that was found missing, on the node and on the policy.
 */
export function eventsOfLoss(
  node: ObjectReference,
  loss: Loss,
  rival: string | undefined,
  before: Before = {},
): RecordedEvent[] {
  const wording = wordingOfLoss(node.name, loss, rival, before);
  return eventsOnBoth(node, { kind: 'TaintPolicy', name: loss.policy.name }, wording, wording.note);
}

/** The same in words, of a node that need not be named. */
function noteOfLoss(node: string, loss: Loss, rival: string | undefined, before: Before): string {
  return `TaintPolicy ${loss.policy.name} ${wordingOfLoss(node, loss, rival, before).note}`;
}

function wordingOfLoss(
  node: string,
  loss: Loss,
  rival: string | undefined,
  { carried, isFirst = false }: Before,
): Omit<RecordedEvent, 'regarding'> {
  const { hindrance } = loss;
  const taint = formatTaint(loss.taint);
  switch (hindrance) {
    case undefined:
      if (isFirst) return { type: 'Normal', reason: 'TaintAdded', action: 'AddTaint', note: `added taint ${taint}` };
      return { type: 'Normal', reason: 'TaintRestored', action: 'RestoreTaint', note: `restored taint ${taint}` };
    case 'contested': {
      const by = rival === undefined ? '' : `, last by ${rival}`;
      const note = `pauses restoring taint ${taint}: it is removed each time${by}`;
      return { type: 'Warning', reason: 'TaintContested', action: 'LeaveTaint', note };
    }
    default: {
      const common = { type: 'Warning', action: 'LeaveTaint' } as const;
      if (carried === undefined) {
        return {
          ...common,
          reason: 'TaintMissing',
          note: `reports missing taint ${taint}: ${WHY_NOT[hindrance](loss)}`,
        };
      }
      const why = hindrance === 'held' ? 'both values are protected' : WHY_NOT[hindrance](loss);
      const note = `reports taint ${formatTaint(carried)} in place of ${taint}: ${why}; to change it: taintkeeper explain node ${node}`;
      return { ...common, reason: 'TaintValueDiffers', note };
    }
  }
}

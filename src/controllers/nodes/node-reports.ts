import type { Logger } from 'pino';
import type { ClusterNode } from '../../cluster/cluster-objects.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { type Hold, paceOf } from '../../evictions/eviction-pace.ts';
import { ALLOW_REMOVAL_ANNOTATION, ALLOW_REMOVAL_LIFE_MS } from '../../judge/allow-removal.ts';
import { blockedText } from '../../judge/blocked.ts';
import type { Loss, NodeDrift } from '../../judge/node-drift.ts';
import type { RetainedTaint } from '../../judge/node-view.ts';
import type { UnseenAddition } from '../../judge/unseen-additions.ts';
import { nodeReference, type ObjectReference, type RecordedEvent } from '../../kubernetes/event.ts';
import { formatTaint, sameTaint, type Taint } from '../../kubernetes/taint.ts';
import { atMost, printable } from '../../kubernetes/text.ts';
import { eventsOnBoth, policyReference } from '../../policy/policy-events.ts';
import type { ClusterMetrics } from '../../server/cluster-metrics.ts';
import type { RepairProblems } from './repair-problems.ts';

/** Entries of an annotation that an Event names. */
const MAX_NAMED = 8;

export interface NodeReportsOptions {
  readonly problems: Pick<RepairProblems, 'otherWriterOf'>;
  readonly recordEvent: (event: RecordedEvent) => void;
  readonly metrics: Pick<ClusterMetrics, 'repaired'>;
  readonly log: Logger;
}

/** What is told of nodes: Events, log lines and counters. */
export interface NodeReports {
  /** Whether something was told of the node that may be over. */
  has(name: string): boolean;
  gone(name: string): void;
  /** Says once of each loss why it stays. */
  staying(entry: Entry<ClusterNode>, losses: readonly Loss[]): void;
  /** Reports restricted taints that were added while the webhook was not called, and that stay. */
  added(entry: Entry<ClusterNode>, additions: readonly UnseenAddition[]): void;
  /**
   * Says what a write has put right, and which of such taints it has taken out.
   * @param earlier what the node is known to have carried before
   */
  written(
    entry: Entry<ClusterNode>,
    drift: NodeDrift,
    additions: readonly UnseenAddition[],
    earlier: readonly Taint[],
  ): void;
}

export function trackNodeReports({ problems, recordEvent, metrics, log }: NodeReportsOptions): NodeReports {
  /** Of each node, the losses that were reported. */
  const reported = new Map<string, ReadonlySet<string>>();
  const reportLoss = (entry: Entry<ClusterNode>, loss: Loss, isFirst = false) => {
    const otherWriter = problems.otherWriterOf(entry.name, loss.taint);
    const before = { carried: otherValue(entry, loss), isFirst };
    for (const event of eventsOfLoss(nodeReference(entry), loss, otherWriter, before)) recordEvent(event);
  };

  const reportAddition = (entry: Entry<ClusterNode>, addition: UnseenAddition) => {
    for (const event of eventsOfAddition(nodeReference(entry), addition)) recordEvent(event);
    log.warn(`Node ${entry.name}: TaintPolicy ${addition.policy.name} ${noteOfAddition(addition)}`);
    if (addition.blockedBy === undefined) metrics.repaired('Node', addition.policy.name);
  };

  return {
    has: (name) => reported.has(name),
    gone: (name) => void reported.delete(name),
    staying(entry, losses) {
      // Who only waits for a turn gets what it lacks: the policy says that there are some.
      const staying = losses.filter(({ blockedBy }) => blockedBy !== undefined && blockedBy !== 'WaitsForTurn');
      const before = reported.get(entry.name);
      const keyOf = ({ policy, taint, blockedBy }: Loss) => [policy.name, formatTaint(taint), blockedBy].join(' ');
      for (const loss of staying) {
        if (before?.has(keyOf(loss))) continue;
        reportLoss(entry, loss);
        // Of many at once, most Events find no room.
        const otherWriter = problems.otherWriterOf(entry.name, loss.taint);
        const note = noteOfLoss(entry.name, loss, otherWriter, { carried: otherValue(entry, loss) });
        log.warn(`Node ${entry.name}: ${note}`);
      }
      if (staying.length === 0) reported.delete(entry.name);
      else reported.set(entry.name, new Set(staying.map(keyOf)));
    },
    added(entry, additions) {
      for (const one of additions) if (one.blockedBy !== undefined) reportAddition(entry, one);
    },
    written(entry, { losses, expired }, additions, earlier) {
      const known = [...earlier, ...entry.value.taints];
      const isFirst = ({ taint }: Pick<Loss, 'taint'>) => !known.some((one) => sameTaint(one, taint));
      for (const one of additions) if (one.blockedBy === undefined) reportAddition(entry, one);
      const repaired = losses.filter(({ blockedBy }) => blockedBy === undefined);
      for (const [text, loss] of new Map(repaired.map((loss) => [formatTaint(loss.taint), loss]))) {
        log.info(`${isFirst(loss) ? 'added' : 'restored'} taint ${text} on Node ${entry.name}`);
      }
      for (const policy of new Set(repaired.map(({ policy }) => policy.name))) metrics.repaired('Node', policy);
      for (const loss of repaired) reportLoss(entry, loss, isFirst(loss));
      if (expired.length > 0) {
        const event = eventOfExpiry(nodeReference(entry), expired);
        recordEvent(event);
        log.info(`Node ${entry.name}: ${event.note}`);
      }
    },
  };
}

const WHY_HELD: Record<Hold['reason'], string> = {
  PodsWithoutNode: 'pods created since are unscheduled',
  ZoneNotReady: 'too many nodes of their zone are not ready',
  RateIsZero: 'the rate is 0 (serve --node-eviction-rate)',
};

const WHY_LEFT: Record<NonNullable<UnseenAddition['blockedBy']>, string> = {
  ModeDoesNotRevert: 'the policy does not remove it in its mode',
  RemovalRestricted: 'it is protected as well, and is removed only with permission',
  Conflict: 'another writer adds it repeatedly',
};

function noteOfAddition({ taint, blockedBy }: UnseenAddition): string {
  const what = `restricted taint ${formatTaint(taint)}, which was added while taintkeeper was not called`;
  return blockedBy === undefined ? `removed ${what}` : `leaves ${what}: ${WHY_LEFT[blockedBy]}`;
}

/** What is to be said of a restricted taint that was added while the webhook was not called, on the node and on the policy. */
function eventsOfAddition(node: ObjectReference, addition: UnseenAddition): RecordedEvent[] {
  const { name } = addition.policy;
  const how =
    addition.blockedBy === undefined
      ? ({ type: 'Normal', reason: 'TaintAdditionReverted', action: 'RevertTaint' } as const)
      : ({ type: 'Warning', reason: 'TaintAdditionFound', action: 'LeaveTaint' } as const);
  return eventsOnBoth(node, { kind: 'TaintPolicy', name }, how, noteOfAddition(addition));
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

/** What is to be said of a node that registered again, and carries again what it carried before its deletion. */
export function eventsOfReturn(
  node: Pick<Entry<ClusterNode>, 'name' | 'uid'>,
  returned: readonly RetainedTaint[],
): RecordedEvent[] {
  const common = { type: 'Normal', reason: 'TaintReturned', action: 'AddTaint' } as const;
  return returned.flatMap(({ policy, taint }): RecordedEvent[] => {
    const note = `carries taint ${formatTaint(taint)} again, as before it was deleted`;
    const onNode = `registered again, and ${note} (TaintPolicy ${policy.name})`;
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
  otherWriter: string | undefined,
  before: Before = {},
): RecordedEvent[] {
  const wording = wordingOfLoss(node.name, loss, otherWriter, before);
  return eventsOnBoth(node, { kind: 'TaintPolicy', name: loss.policy.name }, wording, wording.note);
}

/** The same in words, of a node that need not be named. */
function noteOfLoss(node: string, loss: Loss, otherWriter: string | undefined, before: Before): string {
  return `TaintPolicy ${loss.policy.name} ${wordingOfLoss(node, loss, otherWriter, before).note}`;
}

function wordingOfLoss(
  node: string,
  loss: Loss,
  otherWriter: string | undefined,
  { carried, isFirst = false }: Before,
): Omit<RecordedEvent, 'regarding'> {
  const { blockedBy } = loss;
  const taint = formatTaint(loss.taint);
  switch (blockedBy) {
    case undefined:
      if (isFirst) return { type: 'Normal', reason: 'TaintAdded', action: 'AddTaint', note: `added taint ${taint}` };
      return { type: 'Normal', reason: 'TaintRestored', action: 'RestoreTaint', note: `restored taint ${taint}` };
    case 'Conflict': {
      const note = `pauses restoring taint ${taint}: ${blockedText(loss, blockedBy, otherWriter)}`;
      return { type: 'Warning', reason: 'TaintContested', action: 'LeaveTaint', note };
    }
    default: {
      const common = { type: 'Warning', action: 'LeaveTaint' } as const;
      const text = blockedText(loss, blockedBy, otherWriter);
      if (carried === undefined) {
        return { ...common, reason: 'TaintMissing', note: `reports missing taint ${taint}: ${text}` };
      }
      const why = blockedBy === 'OtherValuePresent' ? 'both values are protected' : text;
      const note = `reports taint ${formatTaint(carried)} in place of ${taint}: ${why}; to change it: taintkeeper explain node ${node}`;
      return { ...common, reason: 'TaintValueDiffers', note };
    }
  }
}

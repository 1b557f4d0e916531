import type { Logger } from 'pino';
import type { ClusterNode } from '../../cluster/cluster-objects.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { ALLOW_REMOVAL_ANNOTATION, ALLOW_REMOVAL_LIFE_MS } from '../../judge/allow-removal.ts';
import { blockedText } from '../../judge/blocked.ts';
import type { Loss, NodeDrift } from '../../judge/node-drift.ts';
import type { RetainedTaint } from '../../judge/node-view.ts';
import type { UnseenAddition } from '../../judge/unseen-additions.ts';
import { nodeReference, type ObjectReference, type RecordedEvent } from '../../kubernetes/event.ts';
import { formatTaint, sameTaint, type Taint } from '../../kubernetes/taint.ts';
import { atMost, printable } from '../../kubernetes/text.ts';
import { eventsOnBoth } from '../../policy/policy-events.ts';
import type { ClusterMetrics } from '../../server/cluster-metrics.ts';
import type { RepairProblems } from './repair-problems.ts';
import { type ReportOnNode, reportOnNode } from './report-on-node.ts';

/** Entries of an annotation that an Event names. */
const MAX_NAMED = 8;

export interface NodeReportsOptions {
  readonly problems: Pick<RepairProblems, 'otherWriterOf'>;
  readonly recordEvent: (event: RecordedEvent) => void;
  readonly metrics: Pick<ClusterMetrics, 'repaired'>;
  readonly log: Logger;
}

/** Reports the repair of nodes: Events, log lines and counters. */
export interface NodeReports {
  /** Whether a problem of the node was reported that may have ended. */
  has(name: string): boolean;
  forget(name: string): void;
  /** Reports once for each loss why the taint is not restored. */
  staying(entry: Entry<ClusterNode>, losses: readonly Loss[]): void;
  /** Reports restricted taints that were added while the webhook was not called, and that stay. */
  added(entry: Entry<ClusterNode>, additions: readonly UnseenAddition[]): void;
  /**
   * Reports the taints that a write has restored, and the restricted taints that it has removed.
   * @param earlier the taints that the node is known to have carried before
   */
  written(
    entry: Entry<ClusterNode>,
    drift: NodeDrift,
    additions: readonly UnseenAddition[],
    earlier: readonly Taint[],
  ): void;
}

export function trackNodeReports({ problems, recordEvent, metrics, log }: NodeReportsOptions): NodeReports {
  /** The losses that were reported, by the name of the node. */
  const reported = new Map<string, ReadonlySet<string>>();
  const report = reportOnNode(recordEvent, log);
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
    forget: (name) => void reported.delete(name),
    staying(entry, losses) {
      const staying = losses.filter(({ blockedBy }) => blockedBy !== undefined);
      const before = reported.get(entry.name);
      const keyOf = ({ policy, taint, blockedBy }: Loss) => [policy.name, formatTaint(taint), blockedBy].join(' ');
      for (const loss of staying) {
        if (before?.has(keyOf(loss))) continue;
        reportLoss(entry, loss);
        // The number of Events is limited: if many nodes lose taints, only the log has all of them.
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
        report(entry, expiryEvent(expired));
      }
    },
  };
}

const WHY_LEFT: Record<NonNullable<UnseenAddition['blockedBy']>, string> = {
  ModeDoesNotRevert: 'the policy does not remove it in its mode',
  RemovalRestricted: 'it is protected as well, and is removed only with permission',
  Conflict: 'another writer adds it repeatedly',
};

function noteOfAddition({ taint, blockedBy }: UnseenAddition): string {
  const what = `restricted taint ${formatTaint(taint)}, which was added while taintkeeper was not called`;
  return blockedBy === undefined ? `removed ${what}` : `leaves ${what}: ${WHY_LEFT[blockedBy]}`;
}

function eventsOfAddition(node: ObjectReference, addition: UnseenAddition): RecordedEvent[] {
  const { name } = addition.policy;
  const how =
    addition.blockedBy === undefined
      ? ({ type: 'Normal', reason: 'TaintAdditionReverted', action: 'RevertTaint' } as const)
      : ({ type: 'Warning', reason: 'TaintAdditionFound', action: 'LeaveTaint' } as const);
  return eventsOnBoth(node, { kind: 'TaintPolicy', name }, how, noteOfAddition(addition));
}

function expiryEvent(entries: readonly string[]): Parameters<ReportOnNode>[1] {
  const named = atMost(MAX_NAMED, entries.map(printable)).join(', ');
  const note = `removed annotation ${ALLOW_REMOVAL_ANNOTATION} (${named}): it was not used within ${ALLOW_REMOVAL_LIFE_MS / 3_600_000} hours`;
  return { type: 'Normal', reason: 'RemovalAnnotationExpired', action: 'RemoveAnnotation', note };
}

/** The Events about a node that registered again with taints that it carried before its deletion. */
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

/** The taint that the node carries in place of a missing one: the same key and effect with another value. */
function otherValue({ value }: Entry<ClusterNode>, { taint }: Loss): Taint | undefined {
  return value.taints.find((one) => sameTaint(one, taint));
}

interface Before {
  /** The taint that the node carries in place of the missing one. */
  readonly carried?: Taint | undefined;
  /** Whether the node is not known to have carried the taint before. */
  readonly isFirst?: boolean;
}

export function eventsOfLoss(
  node: ObjectReference,
  loss: Loss,
  otherWriter: string | undefined,
  before: Before = {},
): RecordedEvent[] {
  const wording = wordingOfLoss(node.name, loss, otherWriter, before);
  return eventsOnBoth(node, { kind: 'TaintPolicy', name: loss.policy.name }, wording, wording.note);
}

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
      return { type: 'Warning', reason: 'TaintConflict', action: 'LeaveTaint', note };
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

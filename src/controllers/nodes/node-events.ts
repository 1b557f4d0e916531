import type { Logger } from 'pino';
import type { ClusterNode } from '../../cluster/objects/cluster-objects.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { ALLOW_REMOVAL_ANNOTATION, ALLOW_REMOVAL_LIFE_MS } from '../../judge/allow-removal.ts';
import { type MissingTaint, whyNotSet } from '../../judge/missing-taint.ts';
import type { ConflictingChange } from '../../judge/node/due-step.ts';
import type { NodeStep } from '../../judge/node/node-step.ts';
import { nodeReference, type ObjectReference } from '../../kubernetes/event.ts';
import { formatTaint, sameTaint, type Taint } from '../../kubernetes/taint.ts';
import { isOnTrial } from '../../policy/enforcement.ts';
import { type EventPair, eventsOnBoth } from '../../policy/reporting/policy-events.ts';
import type { RecordedEvent } from '../../policy/reporting/recorded-event.ts';
import { atMost } from '../../text/counts.ts';
import type { ClusterMetrics } from '../cluster-metrics.ts';
import { recordOnNode } from '../record-on-node.ts';
import type { PerNode } from './per-node.ts';
import type { RepairProblems } from './repair-problems.ts';
import type { TaintChanges } from './written-changes.ts';

/** Entries of an annotation that an Event names. */
const MAX_NAMED = 8;

export interface NodeEventsOptions {
  readonly kept: PerNode;
  readonly problems: Pick<RepairProblems, 'otherWriterOf'>;
  readonly recordEvent: (event: RecordedEvent) => void;
  readonly metrics: Pick<ClusterMetrics, 'repaired'>;
  readonly log: Logger;
}

/** Records the repair of nodes: Events, log lines and counters. */
export interface NodeEvents {
  /** Whether a problem of the node was recorded that may have ended. */
  has(name: string): boolean;
  /** Records once for each missing taint why it is not set. */
  recordBlocked(entry: Entry<ClusterNode>, missing: readonly MissingTaint[]): void;
  /** Records once which startup taints the leader leaves alone. */
  recordLeftAlone(entry: Entry<ClusterNode>, leftAlone: readonly ConflictingChange[]): void;
  /** Records the taints that a write has set, and the entries that it has deleted because they had expired. */
  recordWritten(entry: Entry<ClusterNode>, written: Pick<TaintChanges, 'set'> & Pick<NodeStep, 'expired'>): void;
}

export function trackNodeEvents({ kept, problems, recordEvent, metrics, log }: NodeEventsOptions): NodeEvents {
  /** The missing taints that were recorded, by the name of the node. */
  const recorded = kept.map<ReadonlySet<string>>();
  /** The same for startup taints that the leader leaves alone. */
  const recordedLeftAlone = kept.map<ReadonlySet<string>>();
  const record = recordOnNode(recordEvent, log);
  /** @returns what the Event on the Node says */
  const recordMissing = (entry: Entry<ClusterNode>, missingTaint: MissingTaint): string => {
    const otherWriter = problems.otherWriterOf(entry.name, missingTaint.taint);
    const [onNode, onPolicy] = eventsOfMissingTaint(
      nodeReference(entry),
      missingTaint,
      otherWriter,
      otherValue(entry, missingTaint),
    );
    for (const event of [onNode, onPolicy]) recordEvent(event);
    return onNode.note;
  };

  return {
    has: (name) => recorded.has(name) || recordedLeftAlone.has(name),
    recordBlocked(entry, missing) {
      const blocked = missing.filter(({ blockedBy }) => blockedBy !== undefined);
      const before = recorded.get(entry.name);
      const keyOf = ({ policy, taint, blockedBy }: MissingTaint) =>
        [policy.name, formatTaint(taint), blockedBy].join(' ');
      for (const missingTaint of blocked) {
        if (before?.has(keyOf(missingTaint))) continue;
        // The number of Events is limited: if many nodes lose taints, only the log has all of them.
        log.warn(`Node ${entry.name}: ${recordMissing(entry, missingTaint)}`);
      }
      if (blocked.length === 0) recorded.delete(entry.name);
      else recorded.set(entry.name, new Set(blocked.map(keyOf)));
    },
    recordLeftAlone(entry, leftAlone) {
      const notes = leftAlone.map(({ taint, change }) => {
        if (change === 'setAgain') {
          return `pauses setting startup taint ${formatTaint(taint)} again: the boot ID of the node changes repeatedly`;
        }
        const [pausing, opposing] = change === 'set' ? ['setting', 'removes'] : ['removing', 'sets'];
        const otherWriter = problems.otherWriterOf(entry.name, taint);
        const by = otherWriter === undefined ? '' : `, last by ${otherWriter}`;
        return `pauses ${pausing} startup taint ${formatTaint(taint)}: another writer ${opposing} it repeatedly${by}`;
      });
      const before = recordedLeftAlone.get(entry.name);
      for (const note of notes.filter((one) => !before?.has(one))) {
        record(entry, { type: 'Warning', reason: 'TaintConflict', action: 'LeaveTaint', note });
      }
      if (notes.length === 0) recordedLeftAlone.delete(entry.name);
      else recordedLeftAlone.set(entry.name, new Set(notes));
    },
    recordWritten(entry, { set, expired }) {
      for (const text of new Set(set.map(({ taint }) => formatTaint(taint)))) {
        log.info(`set taint ${text} on Node ${entry.name}`);
      }
      for (const policy of new Set(set.map(({ policy }) => policy.name))) metrics.repaired('Node', policy);
      for (const missingTaint of set) recordMissing(entry, missingTaint);
      if (expired.length === 0) return;
      const named = atMost(MAX_NAMED, expired.map(formatTaint)).join(', ');
      const note = `deleted entries of annotation ${ALLOW_REMOVAL_ANNOTATION} (${named}): the node has carried taints of these keys and effects for ${ALLOW_REMOVAL_LIFE_MS / 3_600_000} hour`;
      record(entry, { type: 'Normal', reason: 'RemovalAnnotationExpired', action: 'RemoveAnnotation', note });
    },
  };
}

/** The taint that the node carries in place of a missing one: the same key and effect with another value. */
function otherValue({ value }: Entry<ClusterNode>, { taint }: MissingTaint): Taint | undefined {
  return value.taints.find((one) => sameTaint(one, taint));
}

/** @param carried the taint that the node carries in place of the missing one */
export function eventsOfMissingTaint(
  node: ObjectReference,
  missingTaint: MissingTaint,
  otherWriter: string | undefined,
  carried?: Taint,
): EventPair {
  const wording = wordingOfMissingTaint(node.name, missingTaint, otherWriter, carried);
  return eventsOnBoth(node, { kind: 'TaintPolicy', name: missingTaint.policy.name }, wording, wording.note);
}

function wordingOfMissingTaint(
  node: string,
  missingTaint: MissingTaint,
  otherWriter: string | undefined,
  carried: Taint | undefined,
): Omit<RecordedEvent, 'regarding'> {
  const { blockedBy } = missingTaint;
  const taint = formatTaint(missingTaint.taint);
  if (blockedBy === undefined) {
    return { type: 'Normal', reason: 'TaintAdded', action: 'AddTaint', note: `set missing taint ${taint}` };
  }
  const why = whyNotSet(blockedBy, { onTrial: isOnTrial(missingTaint.policy), otherWriter });
  if (blockedBy === 'Conflict') {
    const note = `pauses setting taint ${taint}: ${why}`;
    return { type: 'Warning', reason: 'TaintConflict', action: 'LeaveTaint', note };
  }
  const note =
    carried === undefined
      ? `reports missing taint ${taint}: ${why}`
      : `reports taint ${formatTaint(carried)} in place of ${taint}: ${why}; to change it: taintkeeper explain node ${node}`;
  return { type: 'Warning', reason: 'TaintMissing', action: 'LeaveTaint', note };
}

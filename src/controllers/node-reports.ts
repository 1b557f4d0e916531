import type { Logger } from 'pino';
import type { ObjectReference, RecordedEvent } from '../cluster/events/event.ts';
import type { Entry } from '../cluster/watch/cached-objects.ts';
import type { Loss, NodeDrift } from '../policy/node-drift.ts';
import { nativeViolation } from '../policy/restored-natively.ts';
import { formatTaint } from '../policy/taint.ts';
import type { Metrics } from '../server/metrics.ts';
import type { ClusterNode } from './cluster-objects.ts';
import { eventOfRelease, eventsOfLoss, eventsOfNative, noteOfLoss } from './node-events.ts';
import type { TaintContests } from './taint-contests.ts';

export interface NodeReportsOptions {
  readonly contests: Pick<TaintContests, 'rivalOf'>;
  readonly record: (event: RecordedEvent) => void;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** What is told of nodes: Events, log lines and counters. */
export interface NodeReports {
  /** Whether something was told of the node that may be over. */
  has(name: string): boolean;
  gone(name: string): void;
  /** Says once of each loss why it stays. */
  staying(entry: Entry<ClusterNode>, losses: readonly Loss[]): void;
  /** Says what a write has put right. */
  written(entry: Entry<ClusterNode>, drift: NodeDrift): void;
}

export function trackNodeReports({ contests, record, metrics, log }: NodeReportsOptions): NodeReports {
  /** Of each node, the losses that were reported. */
  const reported = new Map<string, ReadonlySet<string>>();
  const tell = (entry: Entry<ClusterNode>, loss: Loss) => {
    for (const event of eventsOfLoss(referenceTo(entry), loss, contests.rivalOf(entry, loss.taint))) record(event);
  };

  return {
    has: (name) => reported.has(name),
    gone: (name) => reported.delete(name),
    staying(entry, losses) {
      // Who only waits for a turn gets what it lacks: the policy says that there are some.
      const staying = losses.filter(({ hindrance }) => hindrance !== undefined && hindrance !== 'paced');
      const before = reported.get(entry.name);
      const keyOf = ({ policy, taint, hindrance }: Loss) => [policy.name, formatTaint(taint), hindrance].join(' ');
      for (const loss of staying) {
        if (before?.has(keyOf(loss))) continue;
        tell(entry, loss);
        // Of many at once, most Events find no room.
        log.warn(`Node ${entry.name}: ${noteOfLoss(loss, contests.rivalOf(entry, loss.taint))}`);
      }
      if (staying.length === 0) reported.delete(entry.name);
      else reported.set(entry.name, new Set(staying.map(keyOf)));
    },
    written(entry, { losses, released, natively }) {
      const repaired = losses.filter(({ hindrance }) => hindrance === undefined);
      for (const text of new Set(repaired.map(({ taint }) => formatTaint(taint)))) {
        log.info(`put back taint ${text} on Node ${entry.name}`);
      }
      for (const policy of new Set(repaired.map(({ policy }) => policy.name))) metrics.repaired('Node', policy);
      for (const loss of repaired) tell(entry, loss);
      for (const taint of released) record(eventOfRelease(referenceTo(entry), taint));
      for (const one of natively) {
        metrics.violationFound('Node', nativeViolation(one));
        for (const event of eventsOfNative(referenceTo(entry), one)) record(event);
      }
    },
  };
}

function referenceTo({ name, uid }: Entry<ClusterNode>): ObjectReference {
  return { apiVersion: 'v1', kind: 'Node', name, uid };
}

import type { Logger } from 'pino';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { type Hold, paceOf } from '../../evictions/eviction-pace.ts';
import { settledOn } from '../../judge/memory.ts';
import type { Hindrance, Loss, NodeDrift } from '../../judge/node-drift.ts';
import type { OwedTaint } from '../../judge/node-view.ts';
import { nativeViolation, type RestoredNatively } from '../../judge/restored-natively.ts';
import type { ObjectReference, RecordedEvent } from '../../kubernetes/event.ts';
import { formatTaint, type Taint } from '../../kubernetes/taint.ts';
import { isTransientTaintKey } from '../../kubernetes/transient-taints.ts';
import { POLICY_API_VERSION } from '../../policy/policy.ts';
import type { LeaderMetrics } from '../../server/metrics.ts';
import type { ClusterNode } from '../sources.ts';
import type { TaintContests } from './taint-contests.ts';

/** Taints of one node whose time is taken; a node that carries more has those looked at first that stand first. */
const MAX_FOLLOWED = 256;

/**
 * For how long nodes have carried their taints while they were Ready, as this leader has seen it. The next one begins anew: that only
 * makes it later. What a node's memory has, it has carried for long enough.
 */
export interface TaintStays {
  /** Takes notice of a node as it is now. */
  look(node: Entry<ClusterNode>): void;
  gone(name: string): void;
  /** In milliseconds; undefined for a taint that the node does not carry, or while it is not Ready. */
  stayedMs(name: string, taint: Taint): number | undefined;
}

export function trackTaintStays(now: () => number = () => performance.now()): TaintStays {
  /** Of each node, since when it carries which taint. */
  const nodes = new Map<string, { readonly uid: string; readonly since: ReadonlyMap<string, number> }>();

  return {
    look({ name, uid, value }) {
      const { ready, taints, remembered } = value;
      const followed = ready ? taints.filter(({ key }) => !isTransientTaintKey(key)).slice(0, MAX_FOLLOWED) : [];
      if (followed.length === 0) {
        nodes.delete(name);
        return;
      }
      const known = nodes.get(name);
      const before = known?.uid === uid ? known.since : undefined;
      const isSettled = settledOn(remembered);
      const since = followed.map((taint) => {
        const text = formatTaint(taint);
        return [text, before?.get(text) ?? (isSettled(taint) ? Number.NEGATIVE_INFINITY : now())] as const;
      });
      nodes.set(name, { uid, since: new Map(since) });
    },
    gone: (name) => nodes.delete(name),
    stayedMs(name, taint) {
      const since = nodes.get(name)?.since.get(formatTaint(taint));
      return since === undefined ? undefined : now() - since;
    },
  };
}

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
        log.info(`restored taint ${text} on Node ${entry.name}`);
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

const WHY_NOT: Record<Exclude<Hindrance, 'contested'>, (loss: Loss) => string> = {
  mode: ({ policy }) => `mode ${policy.mode} does not restore it`,
  eviction: () => 'it would evict pods: add it by hand, or set mayEvict in the policy',
  held: () => 'the node carries another value of it that is protected as well',
  paced: () => 'it evicts pods, and waits for its turn',
};

const WHY_HELD: Record<Hold['reason'], string> = {
  PodsWithoutNode: 'pods created since are unscheduled',
  ZoneNotReady: 'too many nodes of their zone are not ready',
  RateIsZero: 'the rate is 0 (serve --node-eviction-rate)',
};

/** What is to be said of a taint that is gone, as somebody had announced. */
function eventOfRelease(node: ObjectReference, taint: Taint): RecordedEvent {
  const note = `taint ${formatTaint(taint)} was removed, as announced`;
  return { regarding: node, type: 'Normal', reason: 'TaintReleased', action: 'ForgetTaint', note };
}

/** What is to be said of a taint that the API server put back by itself while taintkeeper was not asked, on the node and on the policy. */
function eventsOfNative(node: ObjectReference, { policy: { name }, taint }: RestoredNatively): RecordedEvent[] {
  const note = `restored, by a native policy, taint ${formatTaint(taint)} while taintkeeper was not called`;
  const policy = { apiVersion: POLICY_API_VERSION, kind: 'TaintPolicy', name };
  const common = { type: 'Normal', reason: 'TaintRestored', action: 'RestoreTaint' } as const;
  return [
    { regarding: node, ...common, note: `TaintPolicy ${name} ${note}` },
    { regarding: policy, ...common, note: `Node ${node.name}: ${note}` },
  ];
}

/** What is to be said of a policy whose taint evicts pods while nodes wait for it. */
export function eventOfEvictions(name: string, hold: Hold['reason'] | undefined, rate: number): RecordedEvent {
  const policy = { apiVersion: POLICY_API_VERSION, kind: 'TaintPolicy', name };
  const note = `nodes wait for a taint that evicts pods: ${hold ? WHY_HELD[hold] : paceOf(rate)}`;
  return hold
    ? { regarding: policy, type: 'Warning', reason: 'EvictionsHeld', action: 'WaitToEvict', note }
    : { regarding: policy, type: 'Normal', reason: 'EvictionsPaced', action: 'WaitToEvict', note };
}

/** What is to be said of a node that registered anew, and carries again what it carried before its deletion. */
export function eventsOfReturn(
  { name, uid }: Pick<Entry<ClusterNode>, 'name' | 'uid'>,
  returned: readonly OwedTaint[],
): RecordedEvent[] {
  const node: ObjectReference = { apiVersion: 'v1', kind: 'Node', name, uid };
  const common = { type: 'Normal', reason: 'TaintReturned', action: 'AddTaint' } as const;
  return returned.flatMap(({ policy, taint }): RecordedEvent[] => {
    const note = `carries taint ${formatTaint(taint)} again, as before it was deleted`;
    const regarding = { apiVersion: POLICY_API_VERSION, kind: 'TaintPolicy', name: policy.name };
    return [
      { regarding: node, ...common, note: `registered anew, and ${note} (TaintPolicy ${policy.name})` },
      { regarding, ...common, note: `Node ${name}: ${note}` },
    ];
  });
}

/** What is to be said of a taint that was found missing, on the node and on the policy. */
export function eventsOfLoss(node: ObjectReference, loss: Loss, rival: string | undefined): RecordedEvent[] {
  const { type, reason, action, note } = saying(loss, formatTaint(loss.taint), rival);
  const policy = { apiVersion: POLICY_API_VERSION, kind: 'TaintPolicy', name: loss.policy.name };
  return [
    { regarding: node, type, reason, action, note: noteOfLoss(loss, rival) },
    { regarding: policy, type, reason, action, note: `Node ${node.name}: ${note}` },
  ];
}

/** The same in words, of a node that need not be named. */
function noteOfLoss(loss: Loss, rival: string | undefined): string {
  return `TaintPolicy ${loss.policy.name} ${saying(loss, formatTaint(loss.taint), rival).note}`;
}

function saying(
  { hindrance, ...loss }: Loss,
  taint: string,
  rival: string | undefined,
): Omit<RecordedEvent, 'regarding'> {
  switch (hindrance) {
    case undefined:
      return { type: 'Normal', reason: 'TaintRestored', action: 'RestoreTaint', note: `restored taint ${taint}` };
    case 'contested': {
      const by = rival === undefined ? '' : `, last by ${rival}`;
      const note = `pauses restoring taint ${taint}: it is removed each time${by}`;
      return { type: 'Warning', reason: 'TaintContested', action: 'LeaveTaint', note };
    }
    default: {
      const note = `reports missing taint ${taint}: ${WHY_NOT[hindrance]({ hindrance, ...loss })}`;
      return { type: 'Warning', reason: 'TaintMissing', action: 'LeaveTaint', note };
    }
  }
}

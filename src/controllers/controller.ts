import type { Logger } from 'pino';
import type { Change } from '../cluster/watch/cached-objects.ts';
import { type Reconciler, startReconciler } from '../runtime/reconciler.ts';
import { startWorkQueue, type WorkQueue, type WorkQueueOptions } from '../runtime/work-queue.ts';
import type { ClusterMetrics } from './cluster-metrics.ts';

/** The API server compiles every expression that is written: policies that change together are one write. */
export const POLICIES_GATHER_MS = 200;

/** When to try again after a conflict, in milliseconds: another client has changed the object, and a watch is about to show that. */
export const CONFLICT_PAUSE_MS = 500;

/** What is common to all controllers of a leader. */
export interface Run {
  /** Aborted when this process no longer leads. After that, no controller starts new work. */
  readonly signal: AbortSignal;
  readonly metrics: ClusterMetrics;
  readonly log: Logger;
}

export interface Controller {
  /** Stops. Resolves when the work in progress has ended. After the signal of its {@link Run} was aborted, no work starts in any case. */
  stop(): Promise<void>;
}

/** A reconciler whose runs are counted. */
export function startControllerReconciler(
  { metrics, log, signal }: Run,
  name: string,
  reconcile: () => Promise<number | undefined>,
  { pauseMs = 0, onEnd = () => {} }: { readonly pauseMs?: number; readonly onEnd?: () => void } = {},
): Reconciler {
  return startReconciler({
    name,
    reconcile,
    log,
    signal,
    pauseMs,
    onResult(result) {
      metrics.reconciled(name, result);
      onEnd();
    },
  });
}

/** A work queue whose runs are counted. Its depth is a metric until it stops. */
export function startControllerQueue(
  { metrics, log, signal }: Run,
  name: string,
  options: Pick<WorkQueueOptions, 'work' | 'concurrency' | 'isLasting'>,
): WorkQueue {
  const onResult = (result: 'ok' | 'error') => metrics.reconciled(name, result);
  const queue = startWorkQueue({ ...options, name, log, signal, onResult });
  metrics.watchQueue(name, queue.depth);
  return {
    ...queue,
    stop() {
      metrics.watchQueue(name, undefined);
      return queue.stop();
    },
  };
}

/**
 * Adds the key of a changed object to a queue whose keys are names. What failed with a deleted object does not delay another object of its name: the
 * back-off starts again.
 */
export function addChanged(
  queue: Pick<WorkQueue, 'add' | 'restart'>,
  change: Pick<Change<unknown>, 'type'>,
  key: string,
  inMs?: number,
): void {
  const add = change.type === 'modified' ? queue.add : queue.restart;
  add(key, inMs);
}

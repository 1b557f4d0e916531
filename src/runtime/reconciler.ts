import { followFault, kindOfMessage } from './fault-log.ts';
import { type QueueOptions, recovered, startUnloggedQueue } from './work-queue.ts';

/** Keeps something in its desired state. */
export interface Reconciler {
  /** Requests a run, at once or in so many milliseconds. Requests while one waits result in one run. */
  trigger(inMs?: number): void;
  /** Requests a run because its input has changed: it cuts a back-off short, see `restart` of a work queue. */
  restart(inMs?: number): void;
  /** Stops. Resolves when the run in progress has ended. */
  stop(): Promise<void>;
}

export interface ReconcilerOptions extends QueueOptions {
  /** One run, from the present state. Returns in how many milliseconds to run again; undefined: only when triggered. */
  readonly reconcile: () => Promise<number | undefined>;
  /** Minimum time from the end of one run to the start of the next, in milliseconds. */
  readonly pauseMs?: number;
}

/**
 * A queue with one key: runs once at the start and whenever triggered, never two at a time. A run that fails is repeated with a back-off. The
 * same failure is logged once.
 */
export function startReconciler({ reconcile, log, pauseMs = 0, ...options }: ReconcilerOptions): Reconciler {
  const { name } = options;
  const fault = followFault(log, recovered(name));
  const queue = startUnloggedQueue({
    ...options,
    work: reconcile,
    concurrency: 1,
    pauseMs,
    onFailure: (_key, message) => fault.occurred(kindOfMessage(message), `${name}: ${message}`),
    onRecovered: fault.ended,
  });
  // Always by a timer, so that several triggers of one moment result in one run.
  const trigger = (inMs = 0) => queue.add('', inMs);
  trigger();
  return { trigger, restart: (inMs = 0) => queue.restart('', inMs), stop: queue.stop };
}

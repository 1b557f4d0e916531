import type { Logger } from 'pino';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { StuckPod } from '../../judge/findings.ts';
import type { RecordedEvent } from '../../kubernetes/event.ts';
import type { OptionalRight } from '../../policy/backstop.ts';
import type { PolicySet } from '../../policy/policy-set.ts';
import { startWorkQueue } from '../../runtime/work-queue.ts';
import type { ClusterMetrics } from '../../server/cluster-metrics.ts';
import type { DaemonSets, Nodes, Trouble } from '../sources.ts';
import { type FailedPods, watchFailedPods } from './failed-pods.ts';
import { createFreeings } from './freed-pods.ts';
import { recoverPods } from './recover-pods.ts';
import { createRecoveryTroubles } from './recovery-reports.ts';

export interface PodRecoveryOptions {
  readonly client: ApiClient;
  /** Where taintkeeper runs: its own pods are left out. */
  readonly namespace: string;
  readonly nodes: Nodes;
  readonly daemonSets: DaemonSets;
  readonly compiled: () => PolicySet;
  /** What may be done with pods; undefined while nobody knows. */
  readonly permits: (right: OptionalRight) => boolean | undefined;
  readonly record: (event: RecordedEvent) => void;
  readonly metrics: ClusterMetrics;
  /** Called when `troubles()` or `stuckPods()` may say something else. */
  readonly onFindings: () => void;
  readonly log: Logger;
}

/** Frees daemon pods that stay Failed on nodes where they could run. */
export interface PodRecovery {
  /** Policies, or what is permitted, have changed. */
  policiesChanged(): void;
  nodeChanged(name: string): void;
  daemonSetChanged(namespace: string, name: string): void;
  troubles(): readonly Trouble[];
  /** The daemon pods that are Failed on a node where they could run, however short the time. */
  stuckPods(): readonly StuckPod[];
  /** Ends for good, once the work in progress has. */
  stop(): Promise<void>;
}

const NAME = 'pod-recovery';
/** DaemonSets that are looked at at the same time. */
const CONCURRENCY = 4;
const FORGET_MS = 60_000;
/** Least time between two looks at the pods of a DaemonSet that changes ask for: where thousands fail together, each of them does. */
const PAUSE_MS = 500;
/** An API server that starts anew is no trouble. */
const OUTAGE_MS = 30_000;

/** Pods are watched only while there is a policy that wants it. */
export function startPodRecovery(options: PodRecoveryOptions): PodRecovery {
  const { client, daemonSets, compiled, metrics, log } = options;
  const freeings = createFreeings();
  const troubles = createRecoveryTroubles();
  const stopping = new AbortController();
  const recover = recoverPods({ ...options, freeings, troubles, signal: stopping.signal });
  const queue = startWorkQueue({
    name: NAME,
    // All pods of a DaemonSet, so that one restart is for all of them.
    async work(daemonSet) {
      lookedAt.set(daemonSet, performance.now());
      try {
        return await recover(daemonSet, failed?.ofDaemonSet(daemonSet) ?? []);
      } finally {
        options.onFindings();
      }
    },
    concurrency: CONCURRENCY,
    log,
    onResult: (result) => metrics.reconciled(NAME, result),
  });
  metrics.watchQueue(NAME, queue.depth);
  const lookedAt = new Map<string, number>();
  const forgetting = setInterval(() => {
    for (const [key, at] of lookedAt) if (performance.now() - at > PAUSE_MS) lookedAt.delete(key);
    const windows = compiled().recoveryPolicies.map(({ budget }) => budget.windowMs);
    freeings.forget(Math.max(0, ...windows), performance.now());
  }, FORGET_MS).unref();
  let failed: FailedPods | undefined;
  /** Why the pods are not watched though they should be. */
  let outage: { readonly since: number; readonly error: string } | undefined;
  const ending = new Set<Promise<void>>();
  watchIfNeeded();

  return {
    policiesChanged() {
      watchIfNeeded();
      for (const key of [...(failed?.daemonSets() ?? []), ...troubles.daemonSets()]) look(key);
    },
    nodeChanged(name) {
      for (const key of failed?.daemonSets(name) ?? []) look(key);
    },
    daemonSetChanged(namespace, name) {
      const key = `${namespace}/${name}`;
      if (failed && failed.ofDaemonSet(key).length > 0) look(key);
    },
    troubles: () => [...troubles.current(), ...outageTroubles()],
    stuckPods,
    async stop() {
      stopping.abort();
      clearInterval(forgetting);
      metrics.watchQueue(NAME, undefined);
      const ended = queue.stop();
      endWatch();
      await Promise.all([ended, ...ending]);
    },
  };

  function look(daemonSet: string): void {
    const at = lookedAt.get(daemonSet) ?? Number.NEGATIVE_INFINITY;
    queue.add(daemonSet, Math.max(0, at + PAUSE_MS - performance.now()));
  }

  function watchIfNeeded(): void {
    if (compiled().recoveryPolicies.length === 0 || !options.permits('watchPods')) endWatch();
    else failed ??= beginWatch();
  }

  function beginWatch(): FailedPods {
    const begun = watchFailedPods({
      client,
      leftOut: options.namespace,
      onChange: look,
      onState(state) {
        if (failed !== begun) return;
        metrics.watchState('pods', state.connected);
        outage = state.connected ? undefined : { since: outage?.since ?? performance.now(), error: state.error };
        options.onFindings();
      },
      log,
    });
    return begun;
  }

  function endWatch(): void {
    if (!failed) return;
    const end: Promise<void> = failed.stop().finally(() => ending.delete(end));
    ending.add(end);
    failed = undefined;
    outage = undefined;
    metrics.watchEnded('pods');
    options.onFindings();
  }

  function outageTroubles(): Trouble[] {
    if (!outage || performance.now() - outage.since < OUTAGE_MS) return [];
    const trouble = { reason: 'PodsNotWatched', message: `pods that are Failed go unnoticed: ${outage.error}` };
    return compiled().recoveryPolicies.map(({ name }) => ({ kind: 'RecoveryPolicy', policy: name, ...trouble }));
  }

  function stuckPods(): readonly StuckPod[] {
    const now = performance.now();
    return [...(failed?.all() ?? [])].flatMap(({ entry: { namespace, name, value }, since }) => {
      const daemonSet = daemonSets.get(value.daemonSet.name, namespace)?.value;
      return since === undefined || !daemonSet ? [] : [{ name: `${namespace}/${name}`, daemonSet, forMs: now - since }];
    });
  }
}

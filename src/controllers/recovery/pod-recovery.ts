import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { ClusterPolicies } from '../../cluster/policies/policies.ts';
import type { StuckPod } from '../../judge/policy/findings.ts';
import { RECOVERY_TIMINGS, type RecoveryTimings } from '../../policy/recovery-policy.ts';
import type { RecordedEvent } from '../../policy/reporting/recorded-event.ts';
import { createSubject } from '../../runtime/source.ts';
import type { WatchedDaemonSets, WatchedNodes } from '../cluster-watches.ts';
import { addChanged, type Controller, type Run, startControllerQueue } from '../controller.ts';
import type { Rights } from '../optional-rights.ts';
import { createOutage } from '../outage.ts';
import type { ReportedProblem, Reports } from '../reports.ts';
import { type FailedPods, watchFailedPods } from './failed-pods.ts';
import { recoverPods } from './recover-pods.ts';
import { createRecoveryHistory } from './recovery-history.ts';
import { createRecoveryProblems } from './recovery-problems.ts';

export interface PodRecoveryOptions {
  readonly client: ApiClient;
  /** The namespace of taintkeeper, whose pods are ignored. */
  readonly namespace: string;
  readonly nodes: WatchedNodes;
  readonly daemonSets: WatchedDaemonSets;
  readonly policies: Pick<ClusterPolicies, 'snapshot' | 'changes'>;
  readonly rights: Rights;
  readonly recordEvent: (event: RecordedEvent) => void;
  readonly reports: Pick<Reports, 'add'>;
  readonly timings?: RecoveryTimings;
}

const NAME = 'pod-recovery';
/** DaemonSets that are checked at the same time. */
const CONCURRENCY = 4;
const FORGET_MS = 60_000;
/** Minimum time between two checks of a DaemonSet that changes request: thousands of its pods may fail together. */
const PAUSE_MS = 500;

export interface PodRecovery extends Controller {
  /** The daemon pods that are Failed on a node where they could run, however short the time. */
  stuckPods(): readonly StuckPod[];
}

/** Frees daemon pods that stay Failed on nodes where they could run. Pods are watched only while a policy requires it. */
export function startPodRecovery(run: Run, options: PodRecoveryOptions): PodRecovery {
  const {
    client,
    namespace,
    nodes,
    daemonSets,
    policies,
    rights,
    recordEvent,
    reports,
    timings = RECOVERY_TIMINGS,
  } = options;
  const { signal, metrics, log } = run;
  const compiled = () => policies.snapshot().compiled;
  /** By the key of the DaemonSet. */
  const lastChecks = new Map<string, number>();
  /** Undefined while pods are not watched. */
  let failedPods: FailedPods | undefined;
  /** Of the watch of pods. */
  let outage = createOutage();
  const ending = new Set<Promise<void>>();
  const history = createRecoveryHistory();
  const problems = createRecoveryProblems();
  const changes = createSubject();
  reports.add('recovery', { changes, problems: () => [...problems.current(), ...outageProblems()] });
  const recover = recoverPods({
    client,
    nodes,
    daemonSets,
    compiled,
    permits: rights.permits,
    history,
    problems,
    timings,
    recordEvent,
    metrics,
    log,
    signal,
  });
  const queue = startControllerQueue(run, NAME, {
    async work(daemonSet) {
      lastChecks.set(daemonSet, performance.now());
      try {
        return await recover(daemonSet, failedPods?.ofDaemonSet(daemonSet) ?? []);
      } finally {
        changes.next();
      }
    },
    concurrency: CONCURRENCY,
  });
  const forgetting = setInterval(() => {
    for (const [key, at] of lastChecks) if (performance.now() - at > PAUSE_MS) lastChecks.delete(key);
    history.forget(timings.windowMs, performance.now());
  }, FORGET_MS).unref();
  watchIfNeeded();
  signal.addEventListener('abort', endWatch, { once: true });
  for (const source of [policies.changes, rights.changes]) {
    source.subscribe(() => {
      watchIfNeeded();
      for (const key of [...(failedPods?.daemonSets() ?? []), ...problems.daemonSets()])
        queue.restart(key, pauseOf(key));
    }, signal);
  }
  nodes.changes.subscribe(({ entry }) => {
    for (const key of failedPods?.daemonSets(entry.name) ?? []) check(key);
  }, signal);
  daemonSets.changes.subscribe((change) => {
    const key = `${change.entry.namespace}/${change.entry.name}`;
    // The pods of a deleted DaemonSet may have been deleted before it.
    const isConcerned = change.type === 'deleted' || (failedPods?.ofDaemonSet(key) ?? []).length > 0;
    if (failedPods && isConcerned) addChanged(queue, change, key, pauseOf(key));
  }, signal);

  return {
    stuckPods,
    async stop() {
      clearInterval(forgetting);
      const ended = queue.stop();
      endWatch();
      await Promise.all([ended, ...ending]);
    },
  };

  function check(daemonSet: string): void {
    queue.add(daemonSet, pauseOf(daemonSet));
  }

  function pauseOf(daemonSet: string): number {
    const at = lastChecks.get(daemonSet) ?? Number.NEGATIVE_INFINITY;
    return Math.max(0, at + PAUSE_MS - performance.now());
  }

  function watchIfNeeded(): void {
    if (compiled().recoveryPolicies.length === 0 || !rights.permits('watchPods')) endWatch();
    else failedPods ??= beginWatch();
  }

  function beginWatch(): FailedPods {
    const begun = watchFailedPods({
      client,
      leftOut: namespace,
      onChange: check,
      onState(state) {
        if (failedPods !== begun) return;
        metrics.watchState('pods', state.connected);
        outage.observe(state);
        changes.next();
      },
      log,
    });
    return begun;
  }

  function endWatch(): void {
    if (!failedPods) return;
    const end: Promise<void> = failedPods.stop().finally(() => ending.delete(end));
    ending.add(end);
    failedPods = undefined;
    outage = createOutage();
    metrics.watchEnded('pods');
    changes.next();
  }

  function outageProblems(): ReportedProblem[] {
    const error = outage.error();
    if (error === undefined) return [];
    const problem = { reason: 'PodsNotWatched', message: `Failed pods cannot be watched: ${error}` } as const;
    return compiled().recoveryPolicies.map(({ name }) => ({ kind: 'RecoveryPolicy', policy: name, ...problem }));
  }

  function stuckPods(): readonly StuckPod[] {
    const now = performance.now();
    return [...(failedPods?.all() ?? [])].flatMap(({ entry: { namespace, name, value }, recoverableSince: since }) => {
      const daemonSet = daemonSets.get(value.daemonSet.name, namespace)?.value;
      return since === undefined || !daemonSet ? [] : [{ name: `${namespace}/${name}`, daemonSet, forMs: now - since }];
    });
  }
}

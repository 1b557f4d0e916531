import type { Logger } from 'pino';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { ApiError } from '../../cluster/client/api-error.ts';
import { deleteObject } from '../../cluster/client/delete-object.ts';
import { namespacedPath } from '../../cluster/client/object-path.ts';
import { LeadershipLostError } from '../../cluster/lease/leadership.ts';
import type { ClusterDaemonSet } from '../../cluster/objects/cluster-objects.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import type { PolicySet } from '../../policy/policy-set.ts';
import type { CompiledRecoveryPolicy, RecoveryTimings } from '../../policy/recovery-policy.ts';
import type { RecordedEvent } from '../../policy/reporting/recorded-event.ts';
import type { OptionalRight } from '../../policy/required-rights.ts';
import { isRecoverable, judgeFailedPod } from '../../recovery/recovery.ts';
import type { ClusterMetrics } from '../cluster-metrics.ts';
import type { DaemonSets, Nodes } from '../cluster-watches.ts';
import type { TrackedPod } from './failed-pods.ts';
import { type RecoveryNews, recoveryEvents, recoveryMessage } from './recovery-events.ts';
import type { RecoveryHistory } from './recovery-history.ts';
import type { RecoveryProblems } from './recovery-problems.ts';

export interface RecoverPodsOptions {
  readonly client: ApiClient;
  readonly nodes: Nodes;
  readonly daemonSets: DaemonSets;
  readonly compiled: () => PolicySet;
  readonly permits: (right: OptionalRight) => boolean | undefined;
  readonly history: RecoveryHistory;
  readonly problems: RecoveryProblems;
  readonly timings: RecoveryTimings;
  readonly recordEvent: (event: RecordedEvent) => void;
  readonly metrics: ClusterMetrics;
  readonly log: Logger;
  /** Once it is aborted, nothing more begins. */
  readonly signal: AbortSignal;
}

/** The pod has changed, and the watch is about to show that. */
const OUTDATED_PAUSE_MS = 1_000;

/** A DaemonSet, and the policy that selects it. */
interface RecoveryTarget {
  readonly daemonSet: Entry<ClusterDaemonSet> | undefined;
  readonly policies: PolicySet;
  readonly policy: CompiledRecoveryPolicy | undefined;
}

/** A pod that a policy recovers. */
interface RecoverablePod {
  readonly pod: TrackedPod;
  readonly daemonSet: Entry<ClusterDaemonSet>;
  readonly policy: CompiledRecoveryPolicy;
  /** The DaemonSet and the node: earlier attempts at the same place count. */
  readonly place: string;
  readonly podUid: string;
}

/** Checks the Failed pods of a DaemonSet (`NAMESPACE/NAME`). Returns in how many milliseconds to check again; undefined: only after a change. */
export function recoverPods(options: RecoverPodsOptions) {
  const { client, nodes, daemonSets, compiled, history, problems, timings, metrics, log, signal } = options;

  return async (key: string, pods: readonly TrackedPod[]): Promise<number | undefined> => {
    const checkedAt = performance.now();
    const faults: unknown[] = [];
    const waits: (number | undefined)[] = [];
    let target: RecoveryTarget | undefined;
    for (const pod of pods) {
      if (signal.aborted) return undefined;
      target = targetOf(key, target);
      const recoverable = observe(pod, target);
      if (!recoverable) continue;
      try {
        waits.push(...(await recover(recoverable)));
      } catch (error) {
        if (error instanceof LeadershipLostError) throw error;
        // The other pods are freed although this one cannot be.
        faults.push(error);
        note(recoverable, 'RecoveryFailed', (error as Error).message);
      }
    }
    waits.push(problems.endRun(key, checkedAt));
    if (faults.length > 0) throw faults[0];
    const due = waits.filter((ms) => ms !== undefined);
    return due.length === 0 ? undefined : Math.ceil(Math.min(...due));

    /** @returns in how many milliseconds to check again */
    async function recover(recoverable: RecoverablePod): Promise<(number | undefined)[]> {
      const { pod, policy, place, podUid } = recoverable;
      // The cache does not show yet that it was deleted.
      if (history.isDone(place, podUid)) return [];
      const now = performance.now();
      const { failedAt, recoverableSince: since = now } = pod;
      const decision = judgeFailedPod(
        policy,
        timings,
        { failedAt, since, evicted: pod.entry.value.evicted, attempts: history.attemptsWithOtherPods(place, podUid) },
        now,
      );
      switch (decision.action) {
        case 'wait': {
          // From then on it counts as stuck, although it may be freed only later.
          const stuckInMs = since + timings.stuckMs - now;
          return [decision.forMs, stuckInMs > 0 ? stuckInMs : undefined];
        }
        case 'leave':
          if (decision.because === 'PodFailsAgain') history.failedAgain(place, failedAt, timings.stuckMs);
          if (decision.because !== 'Audit') note(recoverable, decision.because);
          report(recoverable, decision.because);
          return [decision.forMs];
        case 'free':
          // A right that is granted later results in another check.
          return options.permits('deletePods') ? [await free(recoverable)] : [];
      }
    }

    async function free(recoverable: RecoverablePod): Promise<number | undefined> {
      const { pod, policy, place, podUid } = recoverable;
      history.tried(place, podUid, performance.now());
      try {
        if (!(await deletePod(client, pod.entry))) {
          history.refused(place, podUid);
          return OUTDATED_PAUSE_MS;
        }
      } catch (error) {
        // Without an answer, or after an error of the server, the pod may have been deleted.
        if (error instanceof ApiError && error.status < 500) history.refused(place, podUid);
        throw error;
      }
      history.done(place, podUid);
      metrics.recovered(policy.name);
      report(recoverable, 'Freed');
      return undefined;
    }

    function note(
      { pod, policy }: RecoverablePod,
      reason: Parameters<RecoveryProblems['note']>[0]['reason'],
      detail?: string,
    ) {
      const problem = { daemonSet: key, node: pod.entry.value.node, policy: policy.name, reason };
      problems.note({ ...problem, ...(detail === undefined ? {} : { detail }) }, checkedAt);
    }
  };

  /** Observes the pod. @returns undefined if it cannot be recovered now, or if no policy selects it */
  function observe(pod: TrackedPod, target: RecoveryTarget): RecoverablePod | undefined {
    const { uid, value } = pod.entry;
    const { daemonSet, policy } = target;
    const node = nodes.get(value.node)?.value;
    const scene = { pod: { ownerUid: value.daemonSet.uid, deleting: value.deleting }, daemonSet, node };
    const canBeRecovered = isRecoverable(scene);
    pod.observe(canBeRecovered);
    if (!daemonSet || !policy || !canBeRecovered) return undefined;
    return { pod, daemonSet, policy, place: `${daemonSet.uid}/${value.node}`, podUid: uid };
  }

  /** Computed once for all pods of a DaemonSet, unless it changes: there may be a pod on each of 5,000 nodes. */
  function targetOf(key: string, before: RecoveryTarget | undefined): RecoveryTarget {
    const [namespace, name = ''] = key.split('/');
    const daemonSet = daemonSets.get(name, namespace);
    const policies = compiled();
    if (before && before.daemonSet === daemonSet && before.policies === policies) return before;
    const policy = daemonSet && policies.recoveryPolicies.find((one) => one.selectsDaemonSet(daemonSet.value));
    return { daemonSet, policies, policy };
  }

  /** Reports each news about a pod once. */
  function report({ pod, daemonSet, policy: { name: policy } }: RecoverablePod, news: RecoveryNews): void {
    pod.reportOnce(news, () => {
      const { namespace, name, value } = pod.entry;
      const subject = { policy, daemonSet, node: value.node, reason: value.reason };
      const events = recoveryEvents(news, subject);
      for (const event of events) options.recordEvent(event);
      const level = events.some(({ type }) => type === 'Warning') ? 'warn' : 'info';
      log[level]({ pod: `${namespace}/${name}` }, recoveryMessage(news, subject));
    });
  }
}

/**
 * Deletes this version of the pod. The API server deletes failed pods at once, without a grace period (CheckGracefulDelete of
 * k8s.io/kubernetes/pkg/registry/core/pod/strategy.go).
 * @returns false if the pod has changed or was deleted since
 * @throws ApiError, Error
 */
async function deletePod(client: ApiClient, { namespace, name, ...version }: Entry<unknown>): Promise<boolean> {
  return (await deleteObject(client, namespacedPath('/api/v1', namespace, 'pods', name), version)) === 'deleted';
}

import { Counter, Gauge, type Registry } from '@prometheus-io/client';
import type { PolicyKind, SelectingKind } from '../policy/policy.ts';

/** The metrics of a cluster: what the leader finds and does, and what each replica watches. */
export interface ClusterMetrics {
  /** In a cluster: how many policies of a kind cannot be used. */
  policiesInvalid(counts: Record<PolicyKind, number>): void;
  leading(leads: boolean): void;
  reconciled(controller: string, result: 'ok' | 'error'): void;
  watchState(resource: string, connected: boolean): void;
  /** The resource is currently not watched. */
  watchEnded(resource: string): void;
  /** For each policy, how many objects violate it: nodes, DaemonSets, or stuck pods. */
  violating(findings: readonly { kind: SelectingKind; policy: string; count: number }[]): void;
  /** A taint was restored, or a toleration added, outside of any request. */
  repaired(kind: 'Node' | 'DaemonSet', policy: string): void;
  recovered(policy: string): void;
  /** All reasons that prevent controllers from enforcing policies. */
  stalled(problems: readonly { kind: PolicyKind; policy: string; reason: string }[]): void;
  /** `depth` is called whenever the metrics are read. Undefined: the queue no longer exists. */
  watchQueue(controller: string, depth: (() => number) | undefined): void;
  /** A controller has checked all of its objects. `at` in milliseconds since the epoch. */
  swept(controller: string, at: number): void;
  /** This process no longer leads: metrics that only a leader has are removed. */
  leadershipEnded(): void;
  /** `dropped` is called whenever the metrics are read. */
  countDroppedEvents(dropped: () => number): void;
}

export function clusterMetrics(registers: Registry[]): ClusterMetrics {
  const invalid = new Gauge({
    name: 'taintkeeper_policies_invalid',
    help: 'In a cluster: invalid policies. Their status says why, and which earlier generation stays in force. The others are in force.',
    labelNames: ['kind'],
    registers,
  });
  const leader = new Gauge({
    name: 'taintkeeper_leader',
    help: 'In a cluster: 1 for the leader, 0 for the other replicas.',
    registers,
  });
  const reconciliations = new Counter({
    name: 'taintkeeper_reconciliations_total',
    help: "In a cluster: runs of the leader's controllers.",
    labelNames: ['controller', 'result'],
    registers,
  });
  const watches = new Gauge({
    name: 'taintkeeper_watch_connected',
    help: 'In a cluster: 1 while what is known of the resource follows the API server, 0 while it may be out of date.',
    labelNames: ['resource'],
    registers,
  });

  const drift = {
    TaintPolicy: new Gauge({
      name: 'taintkeeper_drift_nodes',
      help: 'On the leader: nodes that differ from the policy.',
      labelNames: ['policy'],
      registers,
    }),
    TolerationPolicy: new Gauge({
      name: 'taintkeeper_drift_daemonsets',
      help: 'On the leader: DaemonSets that lack a toleration of the policy.',
      labelNames: ['policy'],
      registers,
    }),
    RecoveryPolicy: new Gauge({
      name: 'taintkeeper_stuck_pods',
      help: 'On the leader: pods that the policy counts as stuck.',
      labelNames: ['policy'],
      registers,
    }),
  } satisfies Record<SelectingKind, Gauge>;
  const repairs = new Counter({
    name: 'taintkeeper_repairs_total',
    help: 'On the leader: nodes and DaemonSets that were repaired outside of requests.',
    labelNames: ['kind', 'policy'],
    registers,
  });
  const recoveries = new Counter({
    name: 'taintkeeper_recoveries_total',
    help: 'On the leader: stuck pods that were deleted.',
    labelNames: ['policy'],
    registers,
  });
  const stalled = new Gauge({
    name: 'taintkeeper_stalled',
    help: 'On the leader: 1 for each reason why it does not do what a policy says; the status of the policy has the details.',
    labelNames: ['kind', 'policy', 'reason'],
    registers,
  });
  const sweeps = new Gauge({
    name: 'taintkeeper_sweep_timestamp_seconds',
    help: 'On the leader: when the controller last completed a check of all its objects.',
    labelNames: ['controller'],
    registers,
  });
  const queues = new Map<string, () => number>();
  new Gauge({
    name: 'taintkeeper_queue_depth',
    help: 'On the leader: keys in the work queue of the controller that are due or in progress.',
    labelNames: ['controller'],
    registers,
    collect() {
      this.reset();
      for (const [controller, depth] of queues) this.set({ controller }, depth());
    },
  });

  let eventsDropped = () => 0;
  new Counter({
    name: 'taintkeeper_events_dropped_total',
    help: 'In a cluster: Events that were not written because there were too many.',
    registers,
    collect() {
      this.reset();
      this.inc(eventsDropped());
    },
  });

  return {
    policiesInvalid(counts) {
      for (const [kind, count] of Object.entries(counts)) invalid.set({ kind }, count);
    },
    leading: (leads) => leader.set(leads ? 1 : 0),
    reconciled: (controller, result) => reconciliations.inc({ controller, result }),
    watchState: (resource, connected) => watches.set({ resource }, connected ? 1 : 0),
    watchEnded: (resource) => watches.remove({ resource }),
    violating(findings) {
      for (const gauge of Object.values(drift)) gauge.reset();
      for (const { kind, policy, count } of findings) drift[kind].set({ policy }, count);
    },
    repaired: (kind, policy) => repairs.inc({ kind, policy }),
    recovered: (policy) => recoveries.inc({ policy }),
    stalled(problems) {
      stalled.reset();
      for (const { kind, policy, reason } of problems) stalled.set({ kind, policy, reason }, 1);
    },
    watchQueue(controller, depth) {
      if (depth) queues.set(controller, depth);
      else queues.delete(controller);
    },
    swept: (controller, at) => sweeps.set({ controller }, at / 1000),
    leadershipEnded() {
      for (const gauge of [...Object.values(drift), stalled, sweeps]) gauge.reset();
    },
    countDroppedEvents(dropped) {
      eventsDropped = dropped;
    },
  };
}

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Phase, Violation } from '../judge/decision.ts';
import type { PolicyKind } from '../policy/policy.ts';
import type { RecoveryStrategy } from '../policy/recovery-policy.ts';

/** What became of a request as a whole. */
export type RequestResult = 'allowed' | 'denied' | 'patched' | 'malformed' | 'error';

/** Everything that `/metrics` shows, in a registry of its own so that two servers in one process do not mix. */
export interface Metrics {
  readonly registry: Registry;
  requestStarted(): void;
  requestEnded(): void;
  handshakeFailed(): void;
  requestAnswered(phase: Phase, result: RequestResult, seconds: number): void;
  dryRunAnswered(phase: Phase): void;
  violationFound(kind: 'Node' | 'DaemonSet', violation: Violation): void;
  /** `at` is when the files were read, in milliseconds since the epoch. */
  policiesLoaded(counts: Record<PolicyKind, number>, at: number): void;
  policiesRefused(): void;
  certificateServed(certificate: 'ca' | 'serving', notAfter: Date): void;
  /** In a cluster: how many policies there are of a kind that cannot be used. */
  policiesInvalid(counts: Record<PolicyKind, number>): void;
  leading(leads: boolean): void;
  reconciled(controller: string, result: 'ok' | 'error'): void;
  watchState(resource: string, connected: boolean): void;
  /** The resource is watched no more, for now. */
  watchEnded(resource: string): void;
  /** Of all policies, how many objects are not as they want them: nodes, DaemonSets, or pods that are stuck. */
  violating(findings: readonly { kind: PolicyKind; policy: string; count: number }[]): void;
  /** Of all policies, how many of those nodes are to get a taint that evicts pods; none where there are none. */
  awaitingEviction(findings: readonly { policy: string; count: number }[]): void;
  /** A taint was put back, or a toleration appended, outside of any request. */
  repaired(kind: 'Node' | 'DaemonSet', policy: string): void;
  recovered(policy: string, strategy: RecoveryStrategy): void;
  /** What keeps controllers from doing what policies say, all of it. */
  stalled(troubles: readonly { kind: PolicyKind; policy: string; reason: string }[]): void;
  /** `depth` is asked whenever the metrics are; undefined: the queue is there no more. */
  watchQueue(controller: string, depth: (() => number) | undefined): void;
  /** A controller has looked at everything that it looks after. `at` in milliseconds since the epoch. */
  swept(controller: string, at: number): void;
  /** This process leads no more: what only a leader knows is not shown any more. */
  leadershipEnded(): void;
  /** `dropped` is asked whenever the metrics are. */
  countDroppedEvents(dropped: () => number): void;
}

/** Judging takes well under a millisecond; the API server gives up after 1-30 s. */
const DURATION_BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];

export function createMetrics(version: string): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });

  const build = new Gauge({
    name: 'taintkeeper_build_info',
    help: 'Always 1; the label says which version runs.',
    labelNames: ['version'],
    registers,
  });
  const requests = new Counter({
    name: 'taintkeeper_admission_requests_total',
    help: 'Admission reviews answered, dry runs left out.',
    labelNames: ['path', 'result'],
    registers,
  });
  const dryRuns = new Counter({
    name: 'taintkeeper_admission_dry_runs_total',
    help: 'Admission reviews answered for dry runs. They count nowhere else.',
    labelNames: ['path'],
    registers,
  });
  const duration = new Histogram({
    name: 'taintkeeper_admission_duration_seconds',
    help: 'Time from the complete request to its answer, dry runs left out.',
    labelNames: ['path'],
    buckets: DURATION_BUCKETS_SECONDS,
    registers,
  });
  const inFlight = new Gauge({
    name: 'taintkeeper_admission_in_flight',
    help: 'Requests being received, judged or answered.',
    registers,
  });
  const handshakeFailures = new Counter({
    name: 'taintkeeper_tls_handshake_failures_total',
    help: 'Connections that ended before a request: a client that does not trust the CA, or does not speak TLS.',
    registers,
  });
  const decisions = new Counter({
    name: 'taintkeeper_decisions_total',
    help: 'Violations of policies in admission requests, by what became of them, dry runs left out. With by="native": a native policy has acted, and taintkeeper found it out.',
    labelNames: ['kind', 'policy', 'mode', 'outcome', 'by'],
    registers,
  });
  const policies = new Gauge({
    name: 'taintkeeper_policies',
    help: 'Policies in force.',
    labelNames: ['kind'],
    registers,
  });
  const policiesValid = new Gauge({
    name: 'taintkeeper_policy_load_success',
    help: '1 if the policy files as they stand are in force, 0 if they are broken and the last good ones are.',
    registers,
  });
  const policiesLoadedAt = new Gauge({
    name: 'taintkeeper_policy_load_timestamp_seconds',
    help: 'When the policies in force were read.',
    registers,
  });
  const certificates = new Gauge({
    name: 'taintkeeper_certificate_expiry_timestamp_seconds',
    help: 'When the certificate expires.',
    labelNames: ['certificate'],
    registers,
  });

  const invalid = new Gauge({
    name: 'taintkeeper_policies_invalid',
    help: 'In a cluster: policies that cannot be used as they stand; their status says why, and what of them stays in force. The others are in force.',
    labelNames: ['kind'],
    registers,
  });
  const leader = new Gauge({
    name: 'taintkeeper_leader',
    help: 'In a cluster: 1 for the replica that does what must be done once, 0 for the others.',
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
      help: 'On the leader: nodes that are not as the policy wants them.',
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
  } satisfies Record<PolicyKind, Gauge>;
  const awaiting = new Gauge({
    name: 'taintkeeper_nodes_awaiting_eviction',
    help: 'On the leader: of the nodes that are not as the policy wants them, those that are to get a taint that evicts pods.',
    labelNames: ['policy'],
    registers,
  });
  const repairs = new Counter({
    name: 'taintkeeper_repairs_total',
    help: 'On the leader: nodes and DaemonSets that were put right outside of any request.',
    labelNames: ['kind', 'policy'],
    registers,
  });
  const recoveries = new Counter({
    name: 'taintkeeper_recoveries_total',
    help: 'On the leader: stuck pods that were deleted, and DaemonSets that were restarted for them.',
    labelNames: ['policy', 'strategy'],
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
    help: 'On the leader: when the controller last looked at everything that it looks after.',
    labelNames: ['controller'],
    registers,
  });
  const queues = new Map<string, () => number>();
  new Gauge({
    name: 'taintkeeper_queue_depth',
    help: 'On the leader: what the controller is to look at, and has not yet.',
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

  build.set({ version }, 1);
  return {
    registry,
    requestStarted: () => inFlight.inc(),
    requestEnded: () => inFlight.dec(),
    handshakeFailed: () => handshakeFailures.inc(),
    requestAnswered(phase, result, seconds) {
      requests.inc({ path: phase, result });
      duration.observe({ path: phase }, seconds);
    },
    dryRunAnswered: (phase) => dryRuns.inc({ path: phase }),
    violationFound: (kind, { policy, mode, outcome, by }) =>
      decisions.inc({ kind, policy, mode, outcome, ...(by ? { by } : {}) }),
    policiesLoaded(counts, at) {
      for (const [kind, count] of Object.entries(counts)) policies.set({ kind }, count);
      policiesValid.set(1);
      policiesLoadedAt.set(at / 1000);
    },
    policiesRefused: () => policiesValid.set(0),
    certificateServed: (certificate, notAfter) => certificates.set({ certificate }, notAfter.getTime() / 1000),
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
    awaitingEviction(findings) {
      awaiting.reset();
      for (const { policy, count } of findings) awaiting.set({ policy }, count);
    },
    repaired: (kind, policy) => repairs.inc({ kind, policy }),
    recovered: (policy, strategy) => recoveries.inc({ policy, strategy }),
    stalled(troubles) {
      stalled.reset();
      for (const { kind, policy, reason } of troubles) stalled.set({ kind, policy, reason }, 1);
    },
    watchQueue(controller, depth) {
      if (depth) queues.set(controller, depth);
      else queues.delete(controller);
    },
    swept: (controller, at) => sweeps.set({ controller }, at / 1000),
    leadershipEnded() {
      for (const gauge of [...Object.values(drift), awaiting, stalled, sweeps]) gauge.reset();
    },
    countDroppedEvents(dropped) {
      eventsDropped = dropped;
    },
  };
}

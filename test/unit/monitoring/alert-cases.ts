/** When an alert fires, and when not. Series as promtool writes them: `0+1x30` is 0, 1 … 30, one a minute; `_` is nothing. */
export interface AlertCase {
  readonly why: string;
  readonly alert: string;
  /** One value a minute, from minute 0 on. */
  readonly series: Readonly<Record<string, string>>;
  /** In minutes. */
  readonly at: number;
  /** What tells the firing alerts from one another; none: it does not fire. */
  readonly firing: readonly Readonly<Record<string, string>>[];
}

const AT = 'namespace="taintkeeper"';
const A = `${AT}, pod="a"`;
const B = `${AT}, pod="b"`;
const HERE = { namespace: 'taintkeeper' };
const DAY = 86_400;

// As Prometheus stores those of two API servers.
const API_SERVER = 'job="apiserver", instance="10.0.0.1:6443"';
const API_SERVER_B = 'job="apiserver", instance="10.0.0.2:6443"';
const STARTED = `process_start_time_seconds{${API_SERVER}}`;
const STARTED_B = `process_start_time_seconds{${API_SERVER_B}}`;
const failOpen = (target: string, name: string) =>
  `apiserver_admission_webhook_fail_open_count{${target}, name="${name}", type="validating"}`;
const FAIL_OPEN = failOpen(API_SERVER, 'report.taintkeeper.dev');
const FAIL_OPEN_B = failOpen(API_SERVER_B, 'report.taintkeeper.dev');
const OTHER = failOpen(API_SERVER, 'x.kyverno.svc');
const rejected = (errorType: string, code: number) =>
  `apiserver_admission_webhook_rejection_count{${API_SERVER}, name="protect.taintkeeper.dev", type="validating", operation="UPDATE", error_type="${errorType}", rejection_code="${code}"}`;
const FAIL_CLOSED = rejected('calling_webhook_error', 0);
const DENIED = rejected('no_error', 403);

/** At least one case that fires and one that does not for every alert. */
export const ALERT_CASES: readonly AlertCase[] = [
  { why: 'nothing is scraped', alert: 'TaintkeeperDown', series: {}, at: 6, firing: [{}] },
  {
    why: 'one of two replicas is scraped',
    alert: 'TaintkeeperDown',
    series: {
      [`taintkeeper_build_info{${A}, version="1"}`]: '1x20',
      [`taintkeeper_build_info{${B}, version="1"}`]: '1x3 _x17',
    },
    at: 15,
    firing: [],
  },
  {
    why: 'no replica is scraped for less than five minutes, as in an upgrade of a single replica',
    alert: 'TaintkeeperDown',
    series: { [`taintkeeper_build_info{${A}, version="1"}`]: '1x5 _x8 1x10' },
    at: 13,
    firing: [],
  },

  {
    why: 'calls fail open for longer than ten minutes',
    alert: 'TaintkeeperCallsFailing',
    series: { [FAIL_OPEN]: '_x5 1+2x20' },
    at: 20,
    firing: [{ name: 'report.taintkeeper.dev' }],
  },
  {
    why: 'calls fail closed, one every three minutes',
    alert: 'TaintkeeperCallsFailing',
    series: { [FAIL_CLOSED]: '_x3 1x2 2x2 3x2 4x2 5x2 6x2 7x2 8x2' },
    at: 20,
    firing: [{ name: 'protect.taintkeeper.dev' }],
  },
  {
    why: 'policies refuse, others fail, and old failures are over',
    alert: 'TaintkeeperCallsFailing',
    series: {
      [DENIED]: '0+9x40',
      [OTHER]: '0+9x40',
      [FAIL_OPEN]: '0+9x10 90x30',
    },
    at: 30,
    firing: [],
  },
  ...[12, 16, 20, 25].map((at) => ({
    why: `one call failed, while a replica was replaced: minute ${at}`,
    alert: 'TaintkeeperCallsFailing',
    series: { [FAIL_OPEN]: '5x10 6x30' },
    at,
    firing: [],
  })),

  // An API server creates a series at the first failure, with the count of that scrape interval.
  ...[FAIL_OPEN, FAIL_CLOSED].map((series) => ({
    why: `the first calls that fail, within one scrape interval: ${series}`,
    alert: 'TaintkeeperCallsFailed',
    series: { [STARTED]: '-86400x40', [series]: '_x10 50x20' },
    at: 15,
    firing: [{ name: series === FAIL_OPEN ? 'report.taintkeeper.dev' : 'protect.taintkeeper.dev' }],
  })),
  {
    why: 'one call more',
    alert: 'TaintkeeperCallsFailed',
    series: { [STARTED]: '-86400x40', [FAIL_OPEN]: '5x10 6x30' },
    at: 13,
    firing: [{ name: 'report.taintkeeper.dev' }],
  },
  {
    why: 'the first calls that fail after a restart of the API server, which had counted others before',
    alert: 'TaintkeeperCallsFailed',
    series: { [STARTED]: '0x10 stale _x2 840x30', [FAIL_OPEN]: '5x10 stale _x7 1x20' },
    at: 22,
    firing: [{ name: 'report.taintkeeper.dev' }],
  },
  {
    why: 'the first calls that fail at an API server that is new, as after a rollout of control planes',
    alert: 'TaintkeeperCallsFailed',
    series: { [STARTED]: '_x10 570x30', [FAIL_OPEN]: '_x12 50x30' },
    at: 14,
    firing: [{ name: 'report.taintkeeper.dev' }],
  },
  {
    why: 'the first one at one of two API servers',
    alert: 'TaintkeeperCallsFailed',
    series: { [STARTED]: '-86400x40', [STARTED_B]: '-90000x40', [FAIL_OPEN]: '5x40', [FAIL_OPEN_B]: '_x10 1x30' },
    at: 13,
    firing: [{ name: 'report.taintkeeper.dev' }],
  },
  {
    why: 'it is over, whether or not it was the first one',
    alert: 'TaintkeeperCallsFailed',
    series: { [STARTED]: '-86400x40', [FAIL_OPEN]: '5x10 6x30', [FAIL_CLOSED]: '_x10 50x30' },
    at: 25,
    firing: [],
  },
  ...[12, 16, 21, 25].map((at) => ({
    why: `a Prometheus that did not scrape the API server before finds old counts: minute ${at}`,
    alert: 'TaintkeeperCallsFailed',
    series: { [STARTED]: '_x10 -86400x30', [FAIL_OPEN]: '_x10 50x30', [FAIL_CLOSED]: '_x10 50x30' },
    at,
    firing: [],
  })),
  ...[23, 27, 32, 36].map((at) => ({
    why: `the same after a pause in which it could not scrape: minute ${at}`,
    alert: 'TaintkeeperCallsFailed',
    series: { [STARTED]: '-86400x5 stale _x15 -86400x30', [FAIL_OPEN]: '50x5 stale _x15 50x30' },
    at,
    firing: [],
  })),
  ...[12, 16, 21, 25].map((at) => ({
    why: `a target in front of several API servers leads to another one, which has old counts: minute ${at}`,
    alert: 'TaintkeeperCallsFailed',
    series: { [STARTED]: '-86400x10 -90000x30', [FAIL_OPEN]: '_x10 50x30', [FAIL_CLOSED]: '_x10 50x30' },
    at,
    firing: [],
  })),
  {
    why: 'policies refuse, and others fail',
    alert: 'TaintkeeperCallsFailed',
    series: { [STARTED]: '-86400x40', [DENIED]: '_x5 9+9x40', [OTHER]: '_x5 9+9x40' },
    at: 12,
    firing: [],
  },

  {
    why: 'replicas follow, and none leads',
    alert: 'TaintkeeperNoLeader',
    series: {
      [`taintkeeper_leader{${A}}`]: '1x4 0x20',
      [`taintkeeper_leader{${B}}`]: '0x24',
      [`taintkeeper_watch_connected{${A}, resource="TaintPolicy"}`]: '1x24',
    },
    at: 12,
    firing: [HERE],
  },
  {
    why: 'one of two leads',
    alert: 'TaintkeeperNoLeader',
    series: {
      [`taintkeeper_leader{${A}}`]: '1x20',
      [`taintkeeper_leader{${B}}`]: '0x20',
      [`taintkeeper_watch_connected{${A}, resource="TaintPolicy"}`]: '1x20',
    },
    at: 15,
    firing: [],
  },
  {
    why: 'it runs from files: there is nothing to lead',
    alert: 'TaintkeeperNoLeader',
    series: { [`taintkeeper_leader{${A}}`]: '0x20' },
    at: 15,
    firing: [],
  },

  {
    why: '13 days are left',
    alert: 'TaintkeeperCertificateExpiring',
    series: {
      [`taintkeeper_certificate_expiry_timestamp_seconds{${A}, certificate="serving"}`]: `${13 * DAY}x70`,
      [`taintkeeper_certificate_expiry_timestamp_seconds{${A}, certificate="ca"}`]: `${900 * DAY}x70`,
    },
    at: 65,
    firing: [{ ...HERE, certificate: 'serving' }],
  },
  {
    why: '20 days are left',
    alert: 'TaintkeeperCertificateExpiring',
    series: { [`taintkeeper_certificate_expiry_timestamp_seconds{${A}, certificate="serving"}`]: `${20 * DAY}x70` },
    at: 65,
    firing: [],
  },

  {
    why: 'ten a minute',
    alert: 'TaintkeeperHandshakesFailing',
    series: { [`taintkeeper_tls_handshake_failures_total{${A}}`]: '0+10x40' },
    at: 30,
    firing: [HERE],
  },
  {
    why: 'now and then one',
    alert: 'TaintkeeperHandshakesFailing',
    series: { [`taintkeeper_tls_handshake_failures_total{${A}}`]: '0+1x40' },
    at: 30,
    firing: [],
  },

  {
    why: 'some end in errors',
    alert: 'TaintkeeperRequestsFailing',
    series: {
      [`taintkeeper_admission_requests_total{${A}, path="mutate", result="error"}`]: '0+1x30',
      [`taintkeeper_admission_requests_total{${A}, path="mutate", result="allowed"}`]: '0+9x30',
    },
    at: 20,
    firing: [{ ...HERE, result: 'error' }],
  },
  {
    why: 'the first one of a process',
    alert: 'TaintkeeperRequestsFailing',
    series: { [`taintkeeper_admission_requests_total{${A}, path="mutate", result="malformed"}`]: '0x10 1x20' },
    at: 20,
    firing: [{ ...HERE, result: 'malformed' }],
  },
  {
    why: 'all are answered, also by denials',
    alert: 'TaintkeeperRequestsFailing',
    series: {
      [`taintkeeper_admission_requests_total{${A}, path="validate", result="denied"}`]: '0+9x30',
      [`taintkeeper_admission_requests_total{${A}, path="validate", result="error"}`]: '4x30',
    },
    at: 20,
    firing: [],
  },

  {
    why: 'one in the cluster, as both replicas say',
    alert: 'TaintkeeperPoliciesInvalid',
    series: {
      [`taintkeeper_policies_invalid{${A}, kind="TaintPolicy"}`]: '1x20',
      [`taintkeeper_policies_invalid{${B}, kind="TaintPolicy"}`]: '1x20',
      [`taintkeeper_policies_invalid{${A}, kind="TolerationPolicy"}`]: '0x20',
      [`taintkeeper_policy_load_success{${A}}`]: '1x20',
    },
    at: 15,
    firing: [{ ...HERE, kind: 'TaintPolicy' }],
  },
  {
    why: 'files are broken',
    alert: 'TaintkeeperPoliciesInvalid',
    series: { [`taintkeeper_policy_load_success{${A}}`]: '0x20' },
    at: 15,
    firing: [HERE],
  },
  {
    why: 'repaired within ten minutes',
    alert: 'TaintkeeperPoliciesInvalid',
    series: { [`taintkeeper_policies_invalid{${A}, kind="TaintPolicy"}`]: '1x8 0x20' },
    at: 12,
    firing: [],
  },

  {
    why: 'one replica has lost one watch',
    alert: 'TaintkeeperWatchDisconnected',
    series: {
      [`taintkeeper_watch_connected{${A}, resource="TaintPolicy"}`]: '0x20',
      [`taintkeeper_watch_connected{${B}, resource="TaintPolicy"}`]: '1x20',
    },
    at: 10,
    firing: [{ ...HERE, pod: 'a', resource: 'TaintPolicy' }],
  },
  {
    why: 'the API server restarts',
    alert: 'TaintkeeperWatchDisconnected',
    series: { [`taintkeeper_watch_connected{${A}, resource="TaintPolicy"}`]: '1x3 0x3 1x20' },
    at: 10,
    firing: [],
  },

  {
    why: 'it lasts, though another replica leads by now',
    alert: 'TaintkeeperDriftNotRepaired',
    series: {
      [`taintkeeper_drift_nodes{${A}, policy="gpu"}`]: '2x20 _x30',
      [`taintkeeper_drift_nodes{${B}, policy="gpu"}`]: '_x20 2x30',
    },
    at: 40,
    firing: [{ ...HERE, policy: 'gpu' }],
  },
  {
    why: 'taints are put back',
    alert: 'TaintkeeperDriftNotRepaired',
    series: { [`taintkeeper_drift_nodes{${A}, policy="gpu"}`]: '2x10 0x2 1x10 0x30' },
    at: 40,
    firing: [],
  },

  {
    why: 'for 15 minutes',
    alert: 'TaintkeeperStalled',
    series: {
      [`taintkeeper_stalled{${A}, kind="TolerationPolicy", policy="cni", reason="TolerationMissing"}`]: '1x20',
    },
    at: 16,
    firing: [{ ...HERE, kind: 'TolerationPolicy', policy: 'cni', reason: 'TolerationMissing' }],
  },
  {
    why: 'it is over: the series has ended',
    alert: 'TaintkeeperStalled',
    series: {
      [`taintkeeper_stalled{${A}, kind="TolerationPolicy", policy="cni", reason="TolerationMissing"}`]: '1x5 stale',
    },
    at: 16,
    firing: [],
  },

  {
    why: 'every run',
    alert: 'TaintkeeperReconciliationsFailing',
    series: { [`taintkeeper_reconciliations_total{${A}, controller="policy-status", result="error"}`]: '0+1x40' },
    at: 35,
    firing: [{ ...HERE, controller: 'policy-status' }],
  },
  {
    why: 'one conflict an hour',
    alert: 'TaintkeeperReconciliationsFailing',
    series: {
      [`taintkeeper_reconciliations_total{${A}, controller="policy-status", result="error"}`]: '0x10 1x30',
      [`taintkeeper_reconciliations_total{${A}, controller="policy-status", result="ok"}`]: '0+9x40',
    },
    at: 35,
    firing: [],
  },

  {
    why: 'never empty',
    alert: 'TaintkeeperQueueStuck',
    series: { [`taintkeeper_queue_depth{${A}, controller="node-repair"}`]: '5x40' },
    at: 31,
    firing: [{ ...HERE, controller: 'node-repair' }],
  },
  {
    why: 'busy, and empty in between',
    alert: 'TaintkeeperQueueStuck',
    series: { [`taintkeeper_queue_depth{${A}, controller="node-repair"}`]: '5x15 0 9x25' },
    at: 35,
    firing: [],
  },

  {
    why: 'the last one was at the beginning',
    alert: 'TaintkeeperSweepOld',
    series: { [`taintkeeper_sweep_timestamp_seconds{${A}, controller="node-repair"}`]: '60x60' },
    at: 45,
    firing: [HERE],
  },
  {
    why: 'one every ten minutes, and another controller has nothing to do',
    alert: 'TaintkeeperSweepOld',
    series: {
      [`taintkeeper_sweep_timestamp_seconds{${A}, controller="node-repair"}`]: '0x10 600x10 1200x10 1800x10 2400x20',
      [`taintkeeper_sweep_timestamp_seconds{${A}, controller="daemon-set-patching"}`]: '0x60',
    },
    at: 45,
    firing: [],
  },

  {
    why: 'some were',
    alert: 'TaintkeeperEventsDropped',
    series: { [`taintkeeper_events_dropped_total{${A}}`]: '0x5 4x30' },
    at: 20,
    firing: [HERE],
  },
  {
    why: 'none for hours',
    alert: 'TaintkeeperEventsDropped',
    series: { [`taintkeeper_events_dropped_total{${A}}`]: '0x5 4x200' },
    at: 150,
    firing: [],
  },
];

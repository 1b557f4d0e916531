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
    why: 'calls fail open',
    alert: 'TaintkeeperCallsFailing',
    series: {
      'apiserver_admission_webhook_fail_open_count{name="report.taintkeeper.dev", type="validating"}': '0+2x20',
    },
    at: 15,
    firing: [{ name: 'report.taintkeeper.dev' }],
  },
  {
    why: 'calls fail closed',
    alert: 'TaintkeeperCallsFailing',
    series: {
      'apiserver_admission_webhook_rejection_count{name="protect.taintkeeper.dev", error_type="calling_webhook_error"}':
        '0+1x20',
    },
    at: 15,
    firing: [{ name: 'protect.taintkeeper.dev' }],
  },
  {
    why: 'policies refuse, others fail, and old failures are over',
    alert: 'TaintkeeperCallsFailing',
    series: {
      'apiserver_admission_webhook_rejection_count{name="protect.taintkeeper.dev", error_type="no_error"}': '0+9x40',
      'apiserver_admission_webhook_fail_open_count{name="x.kyverno.svc"}': '0+9x40',
      'apiserver_admission_webhook_fail_open_count{name="report.taintkeeper.dev"}': '0+9x10 90x30',
    },
    at: 30,
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

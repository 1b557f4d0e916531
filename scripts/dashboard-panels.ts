/** A query, and how its series are called. */
export interface Query {
  readonly expr: string;
  /** Grafana's `{{label}}`s are filled in; '' leaves the name to Grafana. */
  readonly legend: string;
}

export interface Panel {
  readonly title: string;
  /** Shown behind the (i): what one sees, and when it matters. */
  readonly about: string;
  readonly type: 'stat' | 'timeseries' | 'table';
  readonly unit: string;
  readonly queries: readonly Query[];
  /** From where on it is shown in red; below it, if `alarming` says so. */
  readonly red?: { readonly at: number; readonly alarming: 'above' | 'below' };
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

const HERE = 'namespace=~"$namespace"';
const OURS = 'name=~".+[.]taintkeeper[.]dev"';

const stat = (title: string, expr: string, more: Partial<Panel> & Pick<Panel, 'about'>): Panel => ({
  type: 'stat',
  unit: 'short',
  title,
  queries: [{ expr, legend: '' }],
  ...more,
});
const graph = (title: string, unit: string, about: string, ...queries: readonly Query[]): Panel => ({
  type: 'timeseries',
  title,
  unit,
  about,
  queries,
});

/** What is on the dashboard, from top to bottom. Metrics that only the leader sets are read by `max`. */
export const ROWS: readonly Row[] = [
  {
    title: 'Health',
    panels: [
      stat('Replicas', `count(taintkeeper_build_info{${HERE}})`, {
        about: 'Replicas that are scraped.',
        red: { at: 1, alarming: 'below' },
      }),
      stat('Leaders', `sum(taintkeeper_leader{${HERE}})`, {
        about: 'One in a cluster. None with policies from files.',
        red: { at: 2, alarming: 'above' },
      }),
      stat('Policies in force', `max by (kind) (taintkeeper_policies{${HERE}})`, {
        about: 'By kind.',
        queries: [{ expr: `max by (kind) (taintkeeper_policies{${HERE}})`, legend: '{{kind}}' }],
      }),
      stat('Invalid policies', `sum(max by (kind) (taintkeeper_policies_invalid{${HERE}}))`, {
        about: 'Their condition Ready says why. The others are in force.',
        red: { at: 1, alarming: 'above' },
      }),
      stat('Serving certificate expires in', '', {
        about: 'It is renewed 30 days before it expires.',
        unit: 's',
        queries: [
          {
            expr: `min by (certificate) (taintkeeper_certificate_expiry_timestamp_seconds{${HERE}, certificate="serving"}) - time()`,
            legend: '',
          },
        ],
        red: { at: 14 * 86_400, alarming: 'below' },
      }),
      stat('Stalled policies', `count(max by (kind, policy, reason) (taintkeeper_stalled{${HERE}})) or vector(0)`, {
        about: 'Number of reasons in conditions Stalled. The table below names them.',
        red: { at: 1, alarming: 'above' },
      }),
    ],
  },
  {
    title: 'Admission',
    panels: [
      graph('Requests', 'reqps', 'Admission reviews by result, without dry runs.', {
        expr: `sum by (path, result) (rate(taintkeeper_admission_requests_total{${HERE}}[$__rate_interval]))`,
        legend: '{{path}} {{result}}',
      }),
      graph(
        'Time to answer',
        's',
        'From the complete request to its answer. The API server waits for two seconds.',
        ...[0.5, 0.99].map((quantile) => ({
          expr: `histogram_quantile(${quantile}, sum by (le, path) (rate(taintkeeper_admission_duration_seconds_bucket{${HERE}}[$__rate_interval])))`,
          legend: `{{path}} p${100 * quantile}`,
        })),
      ),
      graph('Violations', 'short', 'Violations of policies in requests, per minute, by result.', {
        expr: `60 * sum by (policy, result, audit) (rate(taintkeeper_decisions_total{${HERE}}[$__rate_interval]))`,
        legend: '{{policy}} {{result}}, audit {{audit}}',
      }),
      graph(
        'Failed calls, counted by the API server',
        'short',
        'Per minute. Passed: failurePolicy Ignore allowed the request. Refused: failurePolicy Fail refused it. A rate leaves out the first failure of an API server, which the alert TaintkeeperCallsFailed reports. Needs the API server as a target.',
        {
          expr: `60 * sum by (name) (rate(apiserver_admission_webhook_fail_open_count{${OURS}}[$__rate_interval]))`,
          legend: '{{name}} passed',
        },
        {
          expr: `60 * sum by (name) (rate(apiserver_admission_webhook_rejection_count{${OURS}, error_type!="no_error"}[$__rate_interval]))`,
          legend: '{{name}} refused',
        },
      ),
      graph(
        'Duration of calls, seen by the API server',
        's',
        'p99, with network and TLS. Needs the API server as a target.',
        {
          expr: `histogram_quantile(0.99, sum by (le, name) (rate(apiserver_admission_webhook_admission_duration_seconds_bucket{${OURS}}[$__rate_interval])))`,
          legend: '{{name}}',
        },
      ),
      graph('Failed TLS handshakes', 'short', 'Per minute. The client does not trust the CA, or does not use TLS.', {
        expr: `60 * sum by (pod) (rate(taintkeeper_tls_handshake_failures_total{${HERE}}[$__rate_interval]))`,
        legend: '{{pod}}',
      }),
    ],
  },
  {
    title: 'Repairs by the leader',
    panels: [
      graph(
        'Drift',
        'short',
        'Objects that differ from the policies now.',
        { expr: `max by (policy) (taintkeeper_drift_nodes{${HERE}})`, legend: '{{policy}}: nodes' },
        { expr: `max by (policy) (taintkeeper_drift_daemonsets{${HERE}})`, legend: '{{policy}}: DaemonSets' },
        { expr: `max by (policy) (taintkeeper_stuck_pods{${HERE}})`, legend: '{{policy}}: stuck pods' },
      ),
      graph(
        'Repairs',
        'short',
        'Repairs by the leader in the last hour. Changes of requests do not count.',
        {
          expr: `sum by (policy, kind) (increase(taintkeeper_repairs_total{${HERE}}[1h]))`,
          legend: '{{policy}}: {{kind}}',
        },
        {
          expr: `sum by (policy) (increase(taintkeeper_recoveries_total{${HERE}}[1h]))`,
          legend: '{{policy}}: stuck pods',
        },
      ),
      {
        title: 'Stalled policies',
        about: 'Why the leader cannot do what a policy declares. The condition Stalled of the policy has the details.',
        type: 'table',
        unit: 'short',
        queries: [{ expr: `max by (kind, policy, reason) (taintkeeper_stalled{${HERE}})`, legend: '' }],
      },
      graph(
        'Failed runs',
        'short',
        'Per minute, by controller. The usual cause is a request that the API server refuses.',
        {
          expr: `60 * sum by (controller) (rate(taintkeeper_reconciliations_total{${HERE}, result="error"}[$__rate_interval]))`,
          legend: '{{controller}}',
        },
      ),
      graph('Queues', 'short', 'Keys in the work queue of each controller that are due or in progress.', {
        expr: `max by (controller) (taintkeeper_queue_depth{${HERE}})`,
        legend: '{{controller}}',
      }),
      graph(
        'Time since the last full comparison',
        's',
        'The leader compares all nodes with the policies every ten minutes.',
        {
          expr: `time() - max by (controller) (taintkeeper_sweep_timestamp_seconds{${HERE}})`,
          legend: '{{controller}}',
        },
      ),
    ],
  },
  {
    title: 'The process',
    panels: [
      graph('Watches', 'bool_yes_no', 'Whether each replica receives changes from the API server.', {
        expr: `min by (pod, resource) (taintkeeper_watch_connected{${HERE}})`,
        legend: '{{pod}} {{resource}}',
      }),
      graph('Memory', 'bytes', 'Resident. The limit of the manifests is 320 MiB.', {
        expr: `process_resident_memory_bytes{${HERE}} and on (instance) taintkeeper_build_info`,
        legend: '{{pod}}',
      }),
      graph('Processor', 'percentunit', 'Of one core.', {
        expr: `rate(process_cpu_seconds_total{${HERE}}[$__rate_interval]) and on (instance) taintkeeper_build_info`,
        legend: '{{pod}}',
      }),
      graph('Event loop', 's', 'Delay of timers, p99. Above 0.1 s, requests wait.', {
        expr: `nodejs_eventloop_lag_p99_seconds{${HERE}} and on (instance) taintkeeper_build_info`,
        legend: '{{pod}}',
      }),
      graph('Requests in flight', 'short', 'Being received, judged or answered.', {
        expr: `taintkeeper_admission_in_flight{${HERE}}`,
        legend: '{{pod}}',
      }),
      graph('Events not written', 'short', 'In the last hour, because there were too many. The log has them all.', {
        expr: `sum(increase(taintkeeper_events_dropped_total{${HERE}}[1h]))`,
        legend: 'dropped',
      }),
    ],
  },
];

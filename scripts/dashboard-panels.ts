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

/** What is on the dashboard, from top to bottom. What only the leader knows is taken by `max` from whoever leads. */
export const ROWS: readonly Row[] = [
  {
    title: 'Health',
    panels: [
      stat('Replicas', `count(taintkeeper_build_info{${HERE}})`, {
        about: 'Replicas that are scraped.',
        red: { at: 1, alarming: 'below' },
      }),
      stat('Leaders', `sum(taintkeeper_leader{${HERE}})`, {
        about: 'One in a cluster; none where it runs from files.',
        red: { at: 2, alarming: 'above' },
      }),
      stat('Policies in force', `max by (kind) (taintkeeper_policies{${HERE}})`, {
        about: 'By kind.',
        queries: [{ expr: `max by (kind) (taintkeeper_policies{${HERE}})`, legend: '{{kind}}' }],
      }),
      stat('Policies that cannot be used', `sum(max by (kind) (taintkeeper_policies_invalid{${HERE}}))`, {
        about: 'Their condition Ready says why. The others are in force.',
        red: { at: 1, alarming: 'above' },
      }),
      stat('Serving certificate ends in', '', {
        about: 'It is renewed 30 days before its end.',
        unit: 's',
        queries: [
          {
            expr: `min by (certificate) (taintkeeper_certificate_expiry_timestamp_seconds{${HERE}, certificate="serving"}) - time()`,
            legend: '',
          },
        ],
        red: { at: 14 * 86_400, alarming: 'below' },
      }),
      stat(
        'What is not done as policies say',
        `count(max by (kind, policy, reason) (taintkeeper_stalled{${HERE}})) or vector(0)`,
        {
          about: 'Reasons in the condition Stalled. The table below names them.',
          red: { at: 1, alarming: 'above' },
        },
      ),
    ],
  },
  {
    title: 'Admission',
    panels: [
      graph('Requests', 'reqps', 'What became of admission reviews, dry runs left out.', {
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
      graph('Violations', 'short', 'Of policies, in requests: how many a minute, by what became of them.', {
        expr: `60 * sum by (policy, outcome) (rate(taintkeeper_decisions_total{${HERE}}[$__rate_interval]))`,
        legend: '{{policy}} {{outcome}}',
      }),
      graph(
        'Calls that failed, by the API server',
        'short',
        'How many a minute. Passed: not judged, by failurePolicy Ignore. Refused: by failurePolicy Fail. Needs the API server as a target.',
        {
          expr: `60 * sum by (name) (rate(apiserver_admission_webhook_fail_open_count{${OURS}}[$__rate_interval]))`,
          legend: '{{name}} passed',
        },
        {
          expr: `60 * sum by (name) (rate(apiserver_admission_webhook_rejection_count{${OURS}, error_type!="no_error"}[$__rate_interval]))`,
          legend: '{{name}} refused',
        },
      ),
      graph('Time that the API server waits', 's', 'p99, network and TLS included. Needs the API server as a target.', {
        expr: `histogram_quantile(0.99, sum by (le, name) (rate(apiserver_admission_webhook_admission_duration_seconds_bucket{${OURS}}[$__rate_interval])))`,
        legend: '{{name}}',
      }),
      graph(
        'Connections without a request',
        'short',
        'A minute: a client that does not trust the CA, or does not speak TLS.',
        {
          expr: `60 * sum by (pod) (rate(taintkeeper_tls_handshake_failures_total{${HERE}}[$__rate_interval]))`,
          legend: '{{pod}}',
        },
      ),
    ],
  },
  {
    title: 'Repairs (of the leader)',
    panels: [
      graph(
        'Drift',
        'short',
        'What differs from the policies now.',
        { expr: `max by (policy) (taintkeeper_drift_nodes{${HERE}})`, legend: '{{policy}}: nodes' },
        { expr: `max by (policy) (taintkeeper_drift_daemonsets{${HERE}})`, legend: '{{policy}}: DaemonSets' },
        { expr: `max by (policy) (taintkeeper_stuck_pods{${HERE}})`, legend: '{{policy}}: stuck pods' },
      ),
      graph(
        'Repairs',
        'short',
        'How many in the last hour, outside of any request.',
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
        title: 'What is not done as policies say',
        about: 'What keeps the leader from it. The condition Stalled in the policy has the details.',
        type: 'table',
        unit: 'short',
        queries: [{ expr: `max by (kind, policy, reason) (taintkeeper_stalled{${HERE}})`, legend: '' }],
      },
      graph('Runs that failed', 'short', 'A minute, by controller. Mostly the API server refuses something.', {
        expr: `60 * sum by (controller) (rate(taintkeeper_reconciliations_total{${HERE}, result="error"}[$__rate_interval]))`,
        legend: '{{controller}}',
      }),
      graph('Queues', 'short', 'What is to be looked at, and has not been yet.', {
        expr: `max by (controller) (taintkeeper_queue_depth{${HERE}})`,
        legend: '{{controller}}',
      }),
      graph(
        'Time since the last look at everything',
        's',
        'All nodes are compared with the policies every ten minutes.',
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
      graph('Watches', 'bool_yes_no', 'Whether each replica follows the API server.', {
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
      graph('Event loop', 's', 'By how much timers are late, p99: above 0.1 s, requests wait.', {
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

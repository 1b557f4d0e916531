const Text = { type: 'string' };
const Whole = { type: 'integer' };
const record = (properties: object, required?: readonly string[]) => ({
  ...{ type: 'object', properties },
  ...(required ? { required } : {}),
});
const OUTCOMES = ['pass', 'fail', 'warn', 'error', 'skip'];

/** v1.ObjectReference. */
const Reference = {
  ...record({
    apiVersion: Text,
    fieldPath: Text,
    kind: Text,
    name: Text,
    namespace: Text,
    resourceVersion: Text,
    uid: Text,
  }),
  'x-kubernetes-map-type': 'atomic',
};

const Result = record(
  {
    source: Text,
    policy: Text,
    rule: Text,
    category: Text,
    severity: { ...Text, enum: ['critical', 'high', 'low', 'medium', 'info'] },
    timestamp: record({ seconds: { ...Whole, format: 'int64' }, nanos: { ...Whole, format: 'int32' } }, [
      'nanos',
      'seconds',
    ]),
    result: { ...Text, enum: OUTCOMES },
    scored: { type: 'boolean' },
    resources: { type: 'array', items: Reference },
    message: Text,
    properties: { type: 'object', additionalProperties: Text },
  },
  ['policy'],
);

/**
 * The ClusterReports of OpenReports (github.com/openreports/reports-api, v1alpha1), written from the facts of their definition: fields,
 * types, what is required, what a field may say. Selectors, which taintkeeper does not write, are left out.
 */
export const CLUSTER_REPORT_DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'clusterreports.openreports.io' },
  spec: {
    group: 'openreports.io',
    scope: 'Cluster',
    names: {
      kind: 'ClusterReport',
      listKind: 'ClusterReportList',
      plural: 'clusterreports',
      singular: 'clusterreport',
      shortNames: ['creps'],
    },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        additionalPrinterColumns: ['pass', 'fail', 'warn', 'error', 'skip'].map((outcome) => ({
          name: outcome,
          type: 'integer',
          jsonPath: `.summary.${outcome}`,
        })),
        schema: {
          openAPIV3Schema: record({
            apiVersion: Text,
            kind: Text,
            metadata: { type: 'object' },
            source: Text,
            scope: Reference,
            configuration: record(
              {
                limits: record({
                  maxResults: Whole,
                  statusFilter: { type: 'array', items: { ...Text, enum: OUTCOMES } },
                }),
              },
              ['limits'],
            ),
            summary: record({ pass: Whole, fail: Whole, warn: Whole, error: Whole, skip: Whole }),
            results: { type: 'array', items: Result },
          }),
        },
      },
    ],
  },
};

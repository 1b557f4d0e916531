/** The rules of `manifests/monitoring/alerts.yaml` as an object of Prometheus Operator, comments and all. */
export function prometheusRule(alerts: string): string {
  const lines = alerts.split('\n');
  const groups = lines.slice(lines.findIndex((line) => line.startsWith('groups:')));
  return [
    '# Generated from alerts.yaml by `npm run generate`: change that one, not this file.',
    'apiVersion: monitoring.coreos.com/v1',
    'kind: PrometheusRule',
    'metadata:',
    '  name: taintkeeper',
    '  namespace: taintkeeper',
    '  labels:',
    '    app.kubernetes.io/name: taintkeeper',
    'spec:',
    ...groups.map((line) => (line === '' ? '' : `  ${line}`)),
  ].join('\n');
}

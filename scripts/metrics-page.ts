import { createMetrics } from '../src/replica/metrics.ts';

/** The reference page of the metrics, from their registry. */
export async function metricsPage(): Promise<string> {
  const { registry } = createMetrics('');
  const found = await registry.getMetricsAsJSON();
  const own = found.filter(({ name }) => name.startsWith('taintkeeper_'));
  const labels = (name: string) => registry.getSingleMetric(name) as unknown as { labelNames: string[] };
  const rows = own.map(({ name, type, help }) => {
    const names = labels(name)
      .labelNames.map((label) => `\`${label}\``)
      .join(', ');
    return `| \`${name}\` | ${type} | ${names} | ${help} |`;
  });
  return [
    '# Metrics\n',
    'Served as `/metrics` on the admin listener, next to the usual `process_…` and `nodejs_…` metrics of `@prometheus-io/client`.\n',
    '| metric | type | labels | meaning |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

import { vi } from 'vitest';
import { addProcessMetrics, createMetrics } from '../../../src/replica/metrics.ts';

/** Of k8s.io/apiserver (pkg/admission/metrics), with the labels that are used here. */
const API_SERVER: Readonly<Record<string, readonly string[]>> = {
  apiserver_admission_webhook_fail_open_count: ['name', 'type'],
  apiserver_admission_webhook_rejection_count: ['name', 'type', 'operation', 'error_type', 'rejection_code'],
  apiserver_admission_webhook_admission_duration_seconds: ['name', 'type', 'operation', 'rejected'],
};

/** What Prometheus adds to every series of a target. */
const TARGET_LABELS = ['cluster', 'namespace', 'pod', 'instance', 'job'];

const metrics = createMetrics('');
// On a clock that is taken away: its timers would go on in all later tests of this worker.
vi.useFakeTimers();
addProcessMetrics(metrics);
vi.useRealTimers();
const { registry } = metrics;
const own = await registry.getMetricsAsJSON();
/** The label names of each metric. */
const KNOWN = new Map<string, readonly string[]>([
  ...Object.entries(API_SERVER),
  ...own.map(({ name }): [string, readonly string[]] => {
    const { labelNames } = registry.getSingleMetric(name) as unknown as { labelNames: readonly string[] };
    return [name, labelNames];
  }),
]);

/** What is wrong with the metrics of a PromQL expression: names that nobody registers, and labels that they do not have. */
export function unknownMetrics(expr: string): string[] {
  const texts = expr.replaceAll(/"[^"]*"/g, '""');
  const used = [...texts.matchAll(/\b((?:taintkeeper|apiserver|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)];
  return used.flatMap(([, name = '', selector = '']) => {
    const labels = KNOWN.get(name) ?? KNOWN.get(name.replace(/_(bucket|sum|count)$/, ''));
    if (labels === undefined) return [`${name}: there is no such metric`];
    const asked = [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label);
    return asked
      .filter((label) => ![...labels, ...TARGET_LABELS, 'le'].includes(label))
      .map((label) => `${name} has no label ${label}`);
  });
}

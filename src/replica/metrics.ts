import { collectDefaultMetrics, Gauge, Registry } from '@prometheus-io/client';
import { type ClusterMetrics, clusterMetrics } from '../controllers/cluster-metrics.ts';
import { type AdmissionMetrics, admissionMetrics } from '../server/metrics.ts';

/** Everything that `/metrics` shows but {@link addProcessMetrics}, in a registry of its own so that two servers in one process do not mix. */
export interface Metrics extends AdmissionMetrics, ClusterMetrics {
  readonly registry: Registry;
}

/** How often the event loop is sampled for a histogram and a summary. The library's 100 ms are meant to find peaks. */
const UTILIZATION_INTERVAL_MS = 1000;

export function createMetrics(version: string): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const build = new Gauge({
    name: 'taintkeeper_build_info',
    help: 'Always 1; the label says which version runs.',
    labelNames: ['version'],
    registers,
  });
  build.set({ version }, 1);
  return { registry, ...admissionMetrics(registers), ...clusterMetrics(registers) };
}

/** Adds the metrics of Node.js and of the process. Call it once in a process: their timers never end. */
export function addProcessMetrics({ registry }: Pick<Metrics, 'registry'>): void {
  collectDefaultMetrics({ register: registry, eventLoopUtilizationTimeout: UTILIZATION_INTERVAL_MS });
}

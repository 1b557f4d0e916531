import { Registry } from '@prometheus-io/client';
import type { Logger } from 'pino';
import type { Run } from '../../../src/controllers/controller.ts';
import { type ClusterMetrics, clusterMetrics } from '../../../src/server/cluster-metrics.ts';

/** A run whose metrics nobody reads, but for those that are given. */
export function runOf(stopping: AbortController, log: Logger, metrics: Partial<ClusterMetrics> = {}): Run {
  return { signal: stopping.signal, metrics: { ...clusterMetrics([new Registry()]), ...metrics }, log };
}

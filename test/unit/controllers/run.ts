import { Registry } from '@prometheus-io/client';
import type { Logger } from 'pino';
import { onTestFinished } from 'vitest';
import { type ClusterMetrics, clusterMetrics } from '../../../src/controllers/cluster-metrics.ts';
import type { Controller, Run } from '../../../src/controllers/controller.ts';

/** A run whose metrics nobody reads, but for those that are given. */
export function runOf(stopping: AbortController, log: Logger, metrics: Partial<ClusterMetrics> = {}): Run {
  return { signal: stopping.signal, metrics: { ...clusterMetrics([new Registry()]), ...metrics }, log };
}

/** Starts a controller, which stops with the running test. */
export function startInTest<T extends Controller>(log: Logger, start: (run: Run) => T): T {
  const stopping = new AbortController();
  const controller = start(runOf(stopping, log));
  onTestFinished(() => {
    stopping.abort();
    return controller.stop();
  });
  return controller;
}

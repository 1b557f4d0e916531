import { readFileSync } from 'node:fs';
import { INSTALL } from '../../scripts/chart.ts';
import { deploymentOf, objectsOf } from '../e2e/kubernetes-objects.ts';
import type { ProbeOptions } from './readiness-probe.ts';

const deployed = () => deploymentOf(objectsOf(readFileSync(INSTALL, 'utf8'))).container;

/** How the kubelet asks the Deployment's pods whether they are ready. */
export function deployedProbe(): ProbeOptions {
  const { periodSeconds, timeoutSeconds, failureThreshold } = deployed().readinessProbe;
  return { periodMs: 1_000 * periodSeconds, timeoutMs: 1_000 * timeoutSeconds, failureThreshold };
}

/** How the Deployment sets up V8 and malloc: environment variables. */
export function deployedEnvironment(): Record<string, string> & { NODE_OPTIONS: string } {
  const { env } = deployed();
  const memory = env.filter(({ name }) => name === 'NODE_OPTIONS' || name.startsWith('MALLOC_'));
  const { NODE_OPTIONS, ...malloc } = Object.fromEntries(memory.map(({ name, value = '' }) => [name, value]));
  if (!NODE_OPTIONS) throw new Error(`${INSTALL} does not say how memory is kept`);
  return { ...malloc, NODE_OPTIONS };
}

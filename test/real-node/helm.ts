import { CHART, IMAGE, NAMESPACE } from '../../scripts/chart.ts';
import { runHelm } from '../control-plane/helm.ts';
import { admin } from '../control-plane/users.ts';
import { policiesReady, productReady } from './product.ts';
import type { RealCluster } from './real-cluster.ts';

/** Runs helm in the product's namespace. @throws Error with what it printed on stderr when it fails */
export async function helm(cluster: RealCluster, ...args: readonly string[]): Promise<void> {
  const kubeconfigFile = await cluster.kubeconfigFile(admin);
  const { code, stderr } = await runHelm(['--namespace', NAMESPACE, ...args], { kubeconfigFile });
  if (code !== 0) throw new Error(`helm ${args.join(' ')}: ${stderr}`);
}

/** The arguments that install the chart as a release, or bring that to other values, with the image that the nodes have. */
export function release(verb: 'install' | 'upgrade', ...values: readonly string[]): string[] {
  const set = [`image.repository=${IMAGE}`, ...values].flatMap((value) => ['--set', value]);
  return [verb, 'taintkeeper', CHART, ...(verb === 'install' ? ['--create-namespace'] : []), ...set];
}

/** Installs the chart, and waits until its replicas are ready and all policies in force. */
export async function installByHelm(cluster: RealCluster, ...values: readonly string[]): Promise<void> {
  await helm(cluster, ...release('install', ...values));
  await productReady(cluster, 2);
  await policiesReady(cluster);
}

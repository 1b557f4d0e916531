import { runHelm } from '../../test/control-plane/helm.ts';
import { admin } from '../../test/control-plane/users.ts';
import { dropTaints, kubectl, policiesReady, productReady } from '../../test/real-node/product.ts';
import { startRealCluster } from '../../test/real-node/real-cluster.ts';
import { NAMESPACE } from '../chart.ts';

/**
 * Installs the packed chart on a real node that has the image of the archive, and waits until a taint cannot be dropped.
 * @throws Error with what came in its place
 */
export async function tryOnRealNode(chart: string, productImage: string, repository: string): Promise<string> {
  await using cluster = await startRealCluster({ productImage });
  const kubeconfigFile = await cluster.kubeconfigFile(admin);
  const { code, stderr } = await runHelm(
    [
      'install',
      'taintkeeper',
      chart,
      '--namespace',
      NAMESPACE,
      '--create-namespace',
      '--set',
      `image.repository=${repository},image.digest=`,
    ],
    { kubeconfigFile },
  );
  if (code !== 0) throw new Error(`helm install: ${stderr}`);
  await productReady(cluster, 2);
  await policiesReady(cluster);
  const role = 'node-role.kubernetes.io/control-plane';
  await kubectl(cluster, ['label', 'node', 'n1', `${role}=`]);
  await kubectl(cluster, ['taint', 'node', 'n1', `${role}:NoSchedule`]);
  const { status } = await dropTaints(cluster, 'n1');
  if (status !== 403) throw new Error(`a taint could be dropped: ${status}`);
  return `two replicas Ready; dropping the taint of n1 is refused with ${status}`;
}

import { helm } from '../../test/real-node/helm.ts';
import { kubectl, policiesReady, productPods, productReady, removeTaints } from '../../test/real-node/product.ts';
import { startRealCluster } from '../../test/real-node/real-cluster.ts';

/**
 * Installs the packed chart on a real node that has the image of the archive, by its digest, runs `helm test`, and checks that a protected
 * taint cannot be removed.
 * @param image the archive, and the name and digest that the image has in a registry
 * @throws Error with what happened instead
 */
export async function tryOnRealNode(
  chart: string,
  image: { readonly archive: string; readonly repository: string; readonly tag: string; readonly digest: string },
): Promise<string> {
  const { archive, repository, tag, digest } = image;
  const pinned = `${repository}@${digest}`;
  await using cluster = await startRealCluster({
    productImage: archive,
    imageAliases: [{ of: `${repository}:${tag}`, name: pinned }],
  });
  const values = `image.repository=${repository},image.digest=${digest}`;
  await helm(cluster, 'install', 'taintkeeper', chart, '--create-namespace', '--set', values);
  await productReady(cluster, 2);
  await policiesReady(cluster);
  const running = new Set((await productPods(cluster)).flatMap(({ spec }) => spec.containers.map((one) => one.image)));
  if ([...running].join() !== pinned) throw new Error(`the pods run ${[...running].join(', ')}, not ${pinned}`);
  await helm(cluster, 'test', 'taintkeeper');
  const role = 'node-role.kubernetes.io/control-plane';
  await kubectl(cluster, ['label', 'node', 'n1', `${role}=`]);
  await kubectl(cluster, ['taint', 'node', 'n1', `${role}:NoSchedule`]);
  const { status } = await removeTaints(cluster, 'n1');
  if (status !== 403) throw new Error(`a protected taint could be removed: ${status}`);
  return `installed by Helm on a real node by digest, helm test passes, removing a protected taint is denied (${status})`;
}

import { buildModules } from '../../control-plane/build.ts';
import { KUBERNETES } from '../../control-plane/kubernetes.ts';
import { missingPackages, obstacleToNamespaces, obstacleToRealNode } from '../../real-node/obstacle.ts';
import { provideRealNode } from '../../real-node/provide.ts';
import { provideKubeadmImages, provideNextImages } from './images.ts';
import { KUBEADM_MODULES, obstacleToKubeadm, obstacleToUpgrade } from './programs.ts';

/** What a cluster of kubeadm's needs besides the control plane. What cannot be had is no error: see {@link obstacleToCluster}. */
export async function provideKubeadm(report: (line: string) => void): Promise<void> {
  if (obstacleToNamespaces()) return;
  await provideRealNode(report);
  if (missingPackages().length > 0) return;
  // Its pods have these programs, whatever control plane the other tests use.
  await buildModules([KUBERNETES, ...KUBEADM_MODULES], report);
  try {
    if (obstacleToCluster() === undefined) provideKubeadmImages(report);
    if (obstacleToUpgrade() === undefined) provideNextImages();
  } catch (error) {
    // The tests try again, and fail with it.
    report(`an image did not build: ${error instanceof Error ? error.message : error}`);
  }
}

/** Why no cluster of kubeadm's can run here; `undefined` when one can. */
export function obstacleToCluster(): string | undefined {
  return obstacleToRealNode() ?? obstacleToKubeadm();
}

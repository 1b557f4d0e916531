import { buildModules } from '../../control-plane/build.ts';
import { CONTAINERD, NODE_PROGRAMS, obstacleToNodePrograms } from '../../control-plane/node-programs.ts';
import { missingPackages, obstacleToNamespaces } from '../../real-node/obstacle.ts';
import { installPackages } from '../../runner/debian-packages.ts';
import { obstacleToTalos, TALOS } from './programs.ts';

/** What machines with Talos need besides the control plane. What cannot be had is no error: see {@link obstacleToTalosMachines}. */
export async function provideTalos(report: (line: string) => void): Promise<void> {
  if (obstacleToNamespaces()) return;
  installPackages(missingPackages(), report);
  await buildModules([TALOS, CONTAINERD, NODE_PROGRAMS], report);
}

/** Why no machine with Talos can run here; `undefined` when one can. */
export function obstacleToTalosMachines(): string | undefined {
  const [missing] = missingPackages();
  return (
    obstacleToNamespaces() ??
    (missing && `there is no ${missing}`) ??
    obstacleToTalos(Object.keys(TALOS.packages)) ??
    obstacleToNodePrograms()
  );
}

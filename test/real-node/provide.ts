import { buildModules } from '../control-plane/build.ts';
import { KUBERNETES } from '../control-plane/kubernetes.ts';
import { CONTAINERD, NODE_PROGRAMS } from '../control-plane/node-programs.ts';
import { exitFor } from '../control-plane/provide-or-exit.ts';
import { installPackages } from '../runner/debian-packages.ts';
import { noteImageFailure, provideImages } from './images.ts';
import { missingPackages, obstacleToNamespaces, obstacleToRealNode } from './obstacle.ts';

/**
 * What real nodes need besides the control plane, on a machine that can have some. What cannot be had is no error: see obstacle.ts.
 *
 * @param report gets one line for each thing that is built or installed
 */
export async function provideRealNode(report: (line: string) => void): Promise<void> {
  if (obstacleToNamespaces()) return;
  installPackages(missingPackages(), report);
  if (missingPackages().length > 0) return;
  await buildModules([NODE_PROGRAMS, CONTAINERD], report);
  try {
    provideImages(report);
  } catch (error) {
    const reason = (error instanceof Error ? error.message : `${error}`).trim().split('\n').at(-1) ?? '';
    noteImageFailure(reason);
    report(`the image did not build: ${reason}`);
  }
}

/** For programs that people start by hand: all that real nodes need, or the end of this process with one line that says what is missing. */
export async function provideRealNodeOrExit(): Promise<void> {
  const report = (line: string) => process.stderr.write(`${line}\n`);
  if (!obstacleToNamespaces()) await buildModules([KUBERNETES], report);
  await provideRealNode(report);
  const obstacle = obstacleToRealNode();
  if (obstacle !== undefined) exitFor(obstacle);
}

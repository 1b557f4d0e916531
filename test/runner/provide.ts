import { findChromium } from '../browser/chromium.ts';
import { buildAll } from '../control-plane/build.ts';
import type { Need } from '../control-plane/kubernetes.ts';
import { PLACES } from '../places/places.ts';
import { provideRealNode } from '../real-node/provide.ts';
import { installPackages } from './debian-packages.ts';

/**
 * What tests need besides Node.js, as far as it can be had: a browser, and what is built from Go modules. A thing that cannot be
 * had is no error here: the tests that need it say so.
 *
 * @param report gets one line for each thing that is built or installed
 * @throws Error when KUBEBUILDER_ASSETS names a folder without etcd, kube-apiserver or kubectl, or with another version
 */
export async function provide(
  report: (line: string) => void,
  { browser, realNodes, places, ...needs }: Need,
): Promise<void> {
  installPackages(!browser || findChromium() ? [] : ['chromium'], report);
  await buildAll(report, needs);
  if (realNodes) await provideRealNode(report);
  for (const place of places) await PLACES[place]?.provide(report);
}

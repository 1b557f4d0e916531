import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Component } from './components.ts';
import { cacheFolder, lockedVersion, unbuilt } from './go-modules.ts';
import { BINARIES, type Binary, KUBERNETES, OLDER_KUBERNETES } from './kubernetes.ts';

/** Without these no control plane starts; they are also all that envtest's ready-made bundles hold. */
const REQUIRED: readonly Binary[] = ['etcd', 'kube-apiserver', 'kubectl'];

/** Which API server: the newest, or the older one. */
export type KubernetesChoice = 'newest' | '1.34';

/** The binaries of a control plane: the required three at least. */
export interface Assets {
  readonly choice: KubernetesChoice;
  readonly folder: string;
  /** The API server's own path: an older one is in a folder of its own. */
  readonly apiServer: string;
  readonly missing: readonly Binary[];
}

/**
 * The binaries at hand: those of KUBEBUILDER_ASSETS if that is set, else what build.ts has built. The older API server
 * always is a built one.
 *
 * @returns `undefined` when nothing is built yet
 * @throws Error when KUBEBUILDER_ASSETS names a folder without etcd, kube-apiserver or kubectl
 */
export function findAssets(choice = kubernetesChoice()): Assets | undefined {
  const given = process.env.KUBEBUILDER_ASSETS;
  const newest = inspect(given || cacheFolder(KUBERNETES));
  const lacking = REQUIRED.filter((binary) => newest.missing.includes(binary));
  if (lacking.length > 0) {
    if (given) throw new Error(`KUBEBUILDER_ASSETS=${given} has no ${lacking.join(', no ')}`);
    return undefined;
  }
  if (choice === 'newest') return newest;
  if (unbuilt(OLDER_KUBERNETES).length > 0) return undefined;
  return { ...newest, choice, apiServer: join(cacheFolder(OLDER_KUBERNETES), 'kube-apiserver') };
}

/** The path of one binary. */
export function binaryPath(assets: Assets, binary: Binary): string {
  return binary === 'kube-apiserver' ? assets.apiServer : join(assets.folder, binary);
}

/**
 * Why these components cannot run with these binaries; `undefined` when they can. No component may be newer than the
 * API server: https://kubernetes.io/releases/version-skew-policy/. Our kubelets are of no version, and always at hand.
 */
export function obstacleTo(components: readonly Component[], assets: Assets): string | undefined {
  const binaries = components.filter((component) => component !== 'kubelets');
  if (binaries.length > 0 && assets.choice !== 'newest') {
    return `${binaries.join(', ')} of ${lockedVersion(KUBERNETES)} must not be newer than the API server`;
  }
  const missing = binaries.filter((binary) => assets.missing.includes(binary));
  return missing.length > 0 ? `${assets.folder} has no ${missing.join(', no ')}` : undefined;
}

/** Which binaries a folder holds. */
function inspect(folder: string): Assets {
  return {
    choice: 'newest',
    folder,
    apiServer: join(folder, 'kube-apiserver'),
    missing: BINARIES.filter((binary) => !existsSync(join(folder, binary))),
  };
}

/** The API server of this run of the tests: a project of vitest.config.ts asks for the older one. */
function kubernetesChoice(): KubernetesChoice {
  const asked = process.env.TAINTKEEPER_TEST_KUBERNETES;
  if (!asked) return 'newest';
  if (asked === '1.34') return asked;
  throw new Error(`TAINTKEEPER_TEST_KUBERNETES=${asked}: there is only 1.34 besides the newest`);
}

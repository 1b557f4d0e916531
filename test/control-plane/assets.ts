import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Component } from './components.ts';
import { cacheFolder, programName, unbuilt } from './go-modules.ts';
import { BINARIES, type Binary, KUBERNETES, OLDER_KUBERNETES } from './kubernetes.ts';
import { whyNotBuilt } from './not-built.ts';

/** Without these no control plane starts; they are also all that envtest's ready-made bundles hold. */
const REQUIRED: readonly Binary[] = ['etcd', 'kube-apiserver', 'kubectl'];

/** Which API server: the newest, or the older one. */
export type KubernetesChoice = 'newest' | '1.34';

/** The binaries of a control plane, as far as they are there. */
export interface Assets {
  readonly choice: KubernetesChoice;
  readonly folder: string;
  /** The API server's own path: an older one is in a folder of its own. */
  readonly apiServer: string;
  /** Why each of the others is not there. */
  readonly missing: ReadonlyMap<Binary, string>;
}

/**
 * The binaries at hand: those of KUBEBUILDER_ASSETS if that is set, else what build.ts has built. The older API server
 * always is a built one.
 *
 * @throws Error when KUBEBUILDER_ASSETS names a folder without etcd, kube-apiserver or kubectl
 */
export function findAssets(choice = kubernetesChoice()): Assets {
  const given = process.env.KUBEBUILDER_ASSETS;
  const newest = given ? inspectGiven(given) : inspectCache();
  if (choice === 'newest') return newest;
  const missing = new Map(newest.missing);
  missing.delete('kube-apiserver');
  const [older] = unbuilt(OLDER_KUBERNETES);
  if (older) missing.set('kube-apiserver', whyNotBuilt(OLDER_KUBERNETES, older));
  return { ...newest, choice, apiServer: join(cacheFolder(OLDER_KUBERNETES), 'kube-apiserver'), missing };
}

/** The path of one binary. */
export function binaryPath(assets: Assets, binary: Binary): string {
  return binary === 'kube-apiserver' ? assets.apiServer : join(assets.folder, binary);
}

/**
 * Why no control plane with these components can run on these binaries; `undefined` when it can. No component may be newer than
 * the API server: https://kubernetes.io/releases/version-skew-policy/. Our kubelets are of no version, and always at hand.
 */
export function obstacleTo(components: readonly Component[], assets: Assets): string | undefined {
  const binaries = components.filter((component) => component !== 'kubelets');
  const [absent] = [...REQUIRED, ...binaries].flatMap((binary) => assets.missing.get(binary) ?? []);
  if (absent !== undefined) return absent;
  const [newer] = assets.choice === 'newest' ? [] : binaries;
  return newer && `${programName(KUBERNETES, newer)} must not be newer than the API server`;
}

function inspectCache(): Assets {
  const missing = unbuilt(KUBERNETES).map((binary) => [binary as Binary, whyNotBuilt(KUBERNETES, binary)] as const);
  return inFolder(cacheFolder(KUBERNETES), new Map(missing));
}

function inspectGiven(folder: string): Assets {
  const absent = BINARIES.filter((binary) => !existsSync(join(folder, binary)));
  const lacking = REQUIRED.filter((binary) => absent.includes(binary));
  if (lacking.length > 0) throw new Error(`KUBEBUILDER_ASSETS=${folder} has no ${lacking.join(', no ')}`);
  return inFolder(folder, new Map(absent.map((binary) => [binary, `KUBEBUILDER_ASSETS has no ${binary}`])));
}

function inFolder(folder: string, missing: ReadonlyMap<Binary, string>): Assets {
  return { choice: 'newest', folder, apiServer: join(folder, 'kube-apiserver'), missing };
}

/** The API server of this run of the tests: a project of vitest.config.ts asks for the older one. */
function kubernetesChoice(): KubernetesChoice {
  const asked = process.env.TAINTKEEPER_TEST_KUBERNETES;
  if (!asked) return 'newest';
  if (asked === '1.34') return asked;
  throw new Error(`TAINTKEEPER_TEST_KUBERNETES=${asked}: there is only 1.34 besides the newest`);
}

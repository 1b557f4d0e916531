import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** What the control plane is made of, and the Go package each is built from. */
export const PACKAGES = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  'kube-scheduler': 'k8s.io/kubernetes/cmd/kube-scheduler',
  kwok: 'sigs.k8s.io/kwok/cmd/kwok',
} as const;

export type Binary = keyof typeof PACKAGES;

export const BINARIES = Object.keys(PACKAGES) as Binary[];

/** Without these no control plane starts; they are also all that envtest's ready-made bundles hold. */
const REQUIRED: readonly Binary[] = ['etcd', 'kube-apiserver', 'kubectl'];

/** A folder with binaries of a control plane: the required three at least. */
export interface Assets {
  readonly folder: string;
  readonly missing: readonly Binary[];
}

/**
 * The binaries at hand: those of KUBEBUILDER_ASSETS if that is set, else what build.ts has built.
 *
 * @returns `undefined` when nothing is built yet
 * @throws Error when KUBEBUILDER_ASSETS names a folder without etcd, kube-apiserver or kubectl
 */
export function findAssets(): Assets | undefined {
  const given = process.env.KUBEBUILDER_ASSETS;
  const assets = inspect(given || cacheFolder());
  const lacking = REQUIRED.filter((binary) => assets.missing.includes(binary));
  if (lacking.length === 0) return assets;
  if (given) throw new Error(`KUBEBUILDER_ASSETS=${given} has no ${lacking.join(', no ')}`);
  return undefined;
}

/** The path of one binary. */
export function binaryPath(assets: Assets, binary: Binary): string {
  return join(assets.folder, binary);
}

/** Which binaries a folder holds. */
export function inspect(folder: string): Assets {
  return { folder, missing: BINARIES.filter((binary) => !existsSync(join(folder, binary))) };
}

/**
 * Where build.ts puts its binaries: a folder for each set of locked versions. Go's own version is not part of the key,
 * so that a cache made elsewhere is found without Go; `go` in go.mod gives the oldest that will do.
 */
export function cacheFolder(): string {
  const base =
    process.env.TAINTKEEPER_CONTROL_PLANE_CACHE ||
    join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'taintkeeper', 'control-plane');
  const key = createHash('sha256').update(`${process.platform} ${process.arch}\n`);
  for (const file of ['go.mod', 'go.sum']) key.update(readFileSync(join(import.meta.dirname, file)));
  return join(base, key.digest('hex').slice(0, 16));
}

/** The version of Kubernetes in go.mod, such as `v1.36.3`. */
export function kubernetesVersion(): string {
  return fromGoMod(/^\s*k8s\.io\/kubernetes (v\d+\.\d+\.\d+)/m);
}

/** The oldest Go that go.mod is content with, such as `1.26`. */
export function oldestGo(): string {
  return fromGoMod(/^go (\d+\.\d+)/m);
}

function fromGoMod(pattern: RegExp): string {
  const found = pattern.exec(readFileSync(join(import.meta.dirname, 'go.mod'), 'utf8'))?.[1];
  if (found === undefined) throw new Error(`go.mod has nothing like ${pattern}`);
  return found;
}

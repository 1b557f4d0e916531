import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Component } from './components.ts';
import { cacheFolder, programName, unbuilt } from './go-modules.ts';
import {
  askedVersion,
  BINARIES,
  type Binary,
  isOlder,
  KUBERNETES,
  type OtherVersion,
  OUR_MINOR,
  otherKubernetes,
  REQUIRED,
} from './kubernetes.ts';
import { whyNotBuilt } from './not-built.ts';

/** The binaries of a control plane, as far as they are there. */
export interface Assets {
  readonly folder: string;
  /** The API server's own path: one of another version is in a folder of its own. */
  readonly apiServer: string;
  /** Whether it is older than the other components. */
  readonly isOlder: boolean;
  /** Why each of the others is not there. */
  readonly missing: ReadonlyMap<Binary, string>;
}

/**
 * The binaries at hand: those of {@link givenFolder}, or else what build.ts has built. An API server of another version always is a
 * built one.
 *
 * @throws Error when KUBEBUILDER_ASSETS names a folder without etcd, kube-apiserver or kubectl, or with an API server of another version
 */
export function findAssets(version: OtherVersion | 'newest' = askedVersion() ?? 'newest'): Assets {
  const given = givenFolder();
  const newest = given ? inspectGiven(given) : inspectCache();
  if (version === 'newest') return newest;
  const other = otherKubernetes(version);
  const missing = new Map(newest.missing);
  missing.delete('kube-apiserver');
  const [absent] = unbuilt(other);
  if (absent) missing.set('kube-apiserver', whyNotBuilt(other, absent, `npm run control-plane:build ${version}`));
  return { ...newest, apiServer: join(cacheFolder(other), 'kube-apiserver'), isOlder: isOlder(version), missing };
}

/**
 * The folder whose binaries are used as they are: the one that KUBEBUILDER_ASSETS names, or a folder of the PATH that has all of
 * {@link REQUIRED}, with an API server of our minor version.
 */
export function givenFolder(): string | undefined {
  if (process.env.KUBEBUILDER_ASSETS) return process.env.KUBEBUILDER_ASSETS;
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.find(
    (folder) => REQUIRED.every((binary) => existsSync(join(folder, binary))) && minorIn(folder) === OUR_MINOR,
  );
}

const minors = new Map<string, string | undefined>();

/** The minor version of the API server in a folder, such as `1.36`; undefined where it does not say one. */
function minorIn(folder: string): string | undefined {
  if (!minors.has(folder)) {
    const { stdout } = spawnSync(join(folder, 'kube-apiserver'), ['--version'], { encoding: 'utf8' });
    minors.set(folder, /^Kubernetes v(\d+\.\d+)\./.exec(stdout ?? '')?.[1]);
  }
  return minors.get(folder);
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
  const [newer] = assets.isOlder ? binaries : [];
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
  const minor = minorIn(folder);
  if (minor !== OUR_MINOR) {
    const found = minor ? `of ${minor}` : 'that does not say its version';
    throw new Error(
      `KUBEBUILDER_ASSETS=${folder} has a kube-apiserver ${found}: unset it, or name a folder with ${OUR_MINOR} (see CONTRIBUTING.md)`,
    );
  }
  return inFolder(folder, new Map(absent.map((binary) => [binary, `${whereGiven()} has no ${binary}`])));
}

function whereGiven(): string {
  return process.env.KUBEBUILDER_ASSETS ? 'KUBEBUILDER_ASSETS' : 'the folder of the PATH with kube-apiserver';
}

function inFolder(folder: string, missing: ReadonlyMap<Binary, string>): Assets {
  return { folder, apiServer: join(folder, 'kube-apiserver'), isOlder: false, missing };
}

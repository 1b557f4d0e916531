import { mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { binaryPath, findAssets, obstacleTo } from '../../control-plane/assets.ts';
import { cacheFolder, type GoModule, programName, unbuilt } from '../../control-plane/go-modules.ts';
import { HELM } from '../../control-plane/helm.ts';
import { KARPENTER } from '../../control-plane/karpenter.ts';
import {
  BINARIES,
  KUBERNETES,
  OTHER_VERSIONS,
  OUR_MINOR,
  otherKubernetes,
  REQUIRED,
} from '../../control-plane/kubernetes.ts';
import { PROMTOOL } from '../../control-plane/promtool.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

let cache: string;

beforeEach(() => {
  cache = temporaryDirectory();
  vi.stubEnv('TAINTKEEPER_CONTROL_PLANE_CACHE', cache);
  vi.stubEnv('KUBEBUILDER_ASSETS', '');
  vi.stubEnv('TAINTKEEPER_TEST_KUBERNETES', '');
});

afterEach(() => vi.unstubAllEnvs());

/** Writes empty files, and never over anything: outside of our own cache there are real binaries that others use. */
function pretendToBuild(module: GoModule, programs = Object.keys(module.packages)): void {
  const folder = cacheFolder(module);
  if (dirname(folder) !== cache) throw new Error(`${folder} is not in this test's cache`);
  mkdirSync(folder, { recursive: true });
  for (const program of programs) writeFileSync(join(folder, program), '', { flag: 'wx' });
}

/** Writes what no control plane can do without, of that version. */
function pretendToHave(folder: string, version: string): void {
  for (const binary of REQUIRED) {
    writeFileSync(join(folder, binary), `#!/bin/sh\necho Kubernetes v${version}\n`, { mode: 0o755, flag: 'wx' });
  }
}

it('each module has a cache folder and a locked version of its own', () => {
  const modules = [KUBERNETES, ...OTHER_VERSIONS.map(otherKubernetes), PROMTOOL, KARPENTER];
  expect(new Set(modules.map(cacheFolder)).size).toBe(modules.length);
  expect(cacheFolder(HELM)).toBe(cacheFolder(KUBERNETES));
  expect(
    [...modules, HELM].flatMap((module) => Object.keys(module.packages).map((name) => programName(module, name))),
  ).toEqual([
    expect.stringMatching(/^etcd 3\.\d+\.\d+$/),
    expect.stringMatching(/^kube-apiserver 1\.\d+\.\d+$/),
    expect.stringMatching(/^kubectl 1\.\d+\.\d+$/),
    expect.stringMatching(/^kube-controller-manager 1\.\d+\.\d+$/),
    expect.stringMatching(/^kube-scheduler 1\.\d+\.\d+$/),
    expect.stringMatching(/^kube-apiserver 1\.33\.\d+$/),
    expect.stringMatching(/^kube-apiserver 1\.34\.\d+$/),
    expect.stringMatching(/^kube-apiserver 1\.35\.\d+$/),
    expect.stringMatching(/^kube-apiserver 1\.37\.\d+$/),
    expect.stringMatching(/^promtool 0\.\d+\.\d+$/),
    expect.stringMatching(/^karpenter 1\.\d+\.\d+$/),
    expect.stringMatching(/^helm 4\.\d+\.\d+$/),
  ]);
});

it('what is not built is named, and without the necessary binaries no control plane runs', () => {
  expect(unbuilt(KUBERNETES)).toEqual(BINARIES);
  expect(obstacleTo([], findAssets())).toMatch(/^etcd 3\.\d+\.\d+: not built; run `npm run control-plane:build`$/);
  pretendToBuild(KUBERNETES, ['etcd', 'kube-apiserver', 'kubectl']);
  expect(unbuilt(KUBERNETES)).toEqual(['kube-controller-manager', 'kube-scheduler']);
  const assets = findAssets();
  expect([...assets.missing.keys()]).toEqual(unbuilt(KUBERNETES));
  expect(obstacleTo(['kube-scheduler'], assets)).toMatch(/^kube-scheduler 1\.\d+\.\d+: not built/);
  expect(obstacleTo([], assets)).toBeUndefined();
});

it('an older API server is found once it is built, and runs with nothing newer than it', () => {
  const older = otherKubernetes('1.34');
  vi.stubEnv('TAINTKEEPER_TEST_KUBERNETES', '1.34');
  pretendToBuild(KUBERNETES);
  expect(obstacleTo([], findAssets())).toMatch(
    /^kube-apiserver 1\.34\.\d+: not built; run `npm run control-plane:build 1\.34`$/,
  );
  pretendToBuild(older);
  const assets = findAssets();
  expect(dirname(binaryPath(assets, 'kube-apiserver'))).toBe(cacheFolder(older));
  expect(dirname(binaryPath(assets, 'etcd'))).toBe(cacheFolder(KUBERNETES));
  expect(obstacleTo([], assets)).toBeUndefined();
  expect(obstacleTo(['kube-scheduler'], assets)).toContain('must not be newer than the API server');
  expect(obstacleTo(['kubelets'], assets)).toBeUndefined();
  expect(findAssets('newest').apiServer).toBe(join(cacheFolder(KUBERNETES), 'kube-apiserver'));
});

it('a newer API server runs with the other components', () => {
  vi.stubEnv('TAINTKEEPER_TEST_KUBERNETES', '1.37');
  pretendToBuild(KUBERNETES);
  pretendToBuild(otherKubernetes('1.37'));
  expect(obstacleTo(['kube-controller-manager', 'kube-scheduler'], findAssets())).toBeUndefined();
});

it('a version that there is not is an error, not the newest', () => {
  vi.stubEnv('TAINTKEEPER_TEST_KUBERNETES', '1.12');
  expect(() => findAssets()).toThrow(
    'TAINTKEEPER_TEST_KUBERNETES=1.12: there are only 1.33, 1.34, 1.35, 1.37 besides 1.36',
  );
});

it('a folder given by KUBEBUILDER_ASSETS must have what no control plane can do without', () => {
  vi.stubEnv('KUBEBUILDER_ASSETS', cache);
  for (const binary of ['etcd', 'kubectl']) writeFileSync(join(cache, binary), '', { flag: 'wx' });
  expect(() => findAssets()).toThrow('has no kube-apiserver');
});

it('what a given folder lacks besides is an obstacle to those that need it', () => {
  vi.stubEnv('KUBEBUILDER_ASSETS', cache);
  pretendToHave(cache, `${OUR_MINOR}.1`);
  expect(obstacleTo([], findAssets())).toBeUndefined();
  expect(obstacleTo(['kube-scheduler'], findAssets())).toBe('KUBEBUILDER_ASSETS has no kube-scheduler');
});

it('a folder given by KUBEBUILDER_ASSETS must have our version', () => {
  vi.stubEnv('KUBEBUILDER_ASSETS', cache);
  pretendToHave(cache, '1.20.1');
  expect(() => findAssets()).toThrow(
    `KUBEBUILDER_ASSETS=${cache} has a kube-apiserver of 1.20: unset it, or name a folder with ${OUR_MINOR} (see CONTRIBUTING.md)`,
  );
});

it.each([
  { version: `${OUR_MINOR}.9`, isUsed: true },
  { version: '1.20.1', isUsed: false },
])('binaries on the PATH of version $version are used: $isUsed', ({ version, isUsed }) => {
  const bin = temporaryDirectory();
  pretendToHave(bin, version);
  vi.stubEnv('PATH', `${temporaryDirectory()}${delimiter}${bin}${delimiter}${process.env.PATH}`);
  const assets = findAssets();
  expect(assets.folder === bin).toBe(isUsed);
  expect(assets.missing.get('kube-scheduler')).toMatch(
    isUsed ? /^the folder of the PATH with kube-apiserver has no/ : /not built/,
  );
});

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { binaryPath, findAssets, obstacleTo } from '../../control-plane/assets.ts';
import { cacheFolder, type GoModule, lockedVersion, unbuilt } from '../../control-plane/go-modules.ts';
import { HELM } from '../../control-plane/helm.ts';
import { BINARIES, KUBERNETES, OLDER_KUBERNETES } from '../../control-plane/kubernetes.ts';
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

it('each module has a cache folder and a locked version of its own', () => {
  const modules = [KUBERNETES, OLDER_KUBERNETES, HELM, PROMTOOL];
  expect(new Set(modules.map(cacheFolder)).size).toBe(modules.length);
  expect(modules.map(lockedVersion)).toEqual([
    expect.stringMatching(/^v1\.\d+\.\d+$/),
    expect.stringMatching(/^v1\.34\.\d+$/),
    expect.stringMatching(/^v4\.\d+\.\d+$/),
    expect.stringMatching(/^v0\.\d+\.\d+$/),
  ]);
});

it('what is not built is named, and without the necessary binaries no control plane is found', () => {
  expect(unbuilt(KUBERNETES)).toEqual(BINARIES);
  expect(findAssets()).toBeUndefined();
  pretendToBuild(KUBERNETES, ['etcd', 'kube-apiserver', 'kubectl']);
  expect(unbuilt(KUBERNETES)).toEqual(['kube-controller-manager', 'kube-scheduler']);
  const assets = findAssets();
  expect(assets?.missing).toEqual(unbuilt(KUBERNETES));
  expect(assets && obstacleTo(['kube-scheduler'], assets)).toContain('has no kube-scheduler');
  expect(assets && obstacleTo([], assets)).toBeUndefined();
});

it('the older API server is found once it is built, and runs with nothing newer than it', () => {
  vi.stubEnv('TAINTKEEPER_TEST_KUBERNETES', '1.34');
  pretendToBuild(KUBERNETES);
  expect(findAssets()).toBeUndefined();
  pretendToBuild(OLDER_KUBERNETES);
  const assets = findAssets();
  if (!assets) throw new Error('the older API server was not found');
  expect(dirname(binaryPath(assets, 'kube-apiserver'))).toBe(cacheFolder(OLDER_KUBERNETES));
  expect(dirname(binaryPath(assets, 'etcd'))).toBe(cacheFolder(KUBERNETES));
  expect(obstacleTo([], assets)).toBeUndefined();
  expect(obstacleTo(['kube-scheduler'], assets)).toContain('must not be newer than the API server');
  expect(obstacleTo(['kubelets'], assets)).toBeUndefined();
  expect(findAssets('newest')?.apiServer).toBe(join(cacheFolder(KUBERNETES), 'kube-apiserver'));
});

it('a version that there is not is an error, not the newest', () => {
  vi.stubEnv('TAINTKEEPER_TEST_KUBERNETES', '1.12');
  expect(() => findAssets()).toThrow('TAINTKEEPER_TEST_KUBERNETES=1.12');
});

it('a folder given by KUBEBUILDER_ASSETS must have what no control plane can do without', () => {
  vi.stubEnv('KUBEBUILDER_ASSETS', cache);
  for (const binary of ['etcd', 'kubectl']) writeFileSync(join(cache, binary), '', { flag: 'wx' });
  expect(() => findAssets()).toThrow('has no kube-apiserver');
});

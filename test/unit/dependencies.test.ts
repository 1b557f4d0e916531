import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lockedPackages } from '../../scripts/locked-packages.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const manifest = JSON.parse(read('package.json')) as Record<
  'dependencies' | 'devDependencies' | 'allowScripts',
  Record<string, string | boolean>
>;
const packages = lockedPackages();
const named = ({ name, version }: { name: string; version: string }) => `${name}@${version}`;

it('every package is locked by a SHA-512 of its content, and comes from the registry: none from a place of its own', () => {
  expect(packages.length).toBeGreaterThan(100);
  expect(packages.filter(({ integrity }) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? '')).map(named)).toEqual(
    [],
  );
  const REGISTRY = /^https:\/\/registry\.npmjs\.org\/.*\.tgz$/;
  expect(packages.filter(({ resolved }) => resolved !== undefined && !REGISTRY.test(resolved)).map(named)).toEqual([]);
});

it('what package.json asks for is one version each, and that is the locked one', () => {
  const asked = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
  const locked = new Set(packages.map(named));
  expect(asked.filter(([name, version]) => !locked.has(`${name}@${version}`))).toEqual([]);
});

it('one package alone may run a script when it is installed, and is no part of what runs', () => {
  const scripted = packages.filter(({ hasInstallScript }) => hasInstallScript);
  expect(scripted.map(({ name, dev }) => [name, dev])).toEqual([['node', true]]);
  expect(manifest.allowScripts).toEqual({ node: true });
});

/** They ask for their notice to be kept, at most. Another one takes a look by a person. */
const ALLOWED = ['0BSD', 'Apache-2.0', 'BSD-3-Clause', 'ISC', 'MIT', 'PSF-2.0', 'Unlicense'];

it('what runs is under licences that are known to go together with Apache-2.0', () => {
  // Of `(A AND B)`, each.
  const isAllowed = (license = '') =>
    license
      .replace(/^\((.*)\)$/, '$1')
      .split(' AND ')
      .every((each) => ALLOWED.includes(each));
  const others = packages.filter(({ dev, license }) => !dev && !isAllowed(license));
  expect(others.map((each) => `${named(each)}: ${each.license}`)).toEqual([]);
});

it('building the image runs no install script, the program itself once, and the image is made by copying alone', () => {
  const stages = read('Dockerfile')
    .split(/^FROM .*$/m)
    .slice(1);
  const commands = stages.map((stage) => [...stage.matchAll(/^RUN (.*)$/gm)].map(([, command]) => command));

  expect(commands).toEqual([
    [expect.stringMatching(/^npm ci .*--ignore-scripts\b/), 'npm run build'],
    // The runtime, which the next two stages begin with.
    [],
    ['["/nodejs/bin/node", "/fill-compile-cache.ts", "/app/taintkeeper.cjs", "/tmp/compile-cache"]'],
    [],
  ]);
});

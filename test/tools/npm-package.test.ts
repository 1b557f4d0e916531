import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { buildBundle } from '../../scripts/release/bundle.ts';
import { installNpmPackage, packNpmPackage } from '../../scripts/release/npm-package.ts';
import { VERSION } from '../../src/version.ts';
import { temporaryDirectory } from '../unit/temporary-directory.ts';

/** Bundles, packs and installs: a bound against what hangs. */
const TIMEOUT_MS = 120_000;

it('the npm package runs where nothing else is installed, and brings neither sources nor dependencies', {
  timeout: TIMEOUT_MS,
}, () => {
  const folder = temporaryDirectory();
  const empty = join(folder, 'empty');
  const command = installNpmPackage(packNpmPackage(buildBundle(folder), folder), empty);
  const run = (...args: string[]) =>
    spawnSync(command, args, {
      cwd: empty,
      encoding: 'utf8',
      env: { PATH: `${dirname(process.execPath)}:/usr/bin:/bin` },
    });

  expect(readdirSync(join(empty, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['taintkeeper']);
  const installed = join(empty, 'node_modules', 'taintkeeper');
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  expect(manifest).toMatchObject({ version: VERSION, bin: { taintkeeper: 'taintkeeper.cjs' } });
  for (const field of ['dependencies', 'devDependencies', 'scripts', 'private'])
    expect(manifest).not.toHaveProperty(field);
  expect(readdirSync(installed).filter((file) => file.endsWith('.ts'))).toEqual([]);
  expect(readdirSync(installed)).toEqual(expect.arrayContaining(['LICENSE', 'THIRD-PARTY-NOTICES.txt']));

  expect(run('--version').stdout).toBe(`${VERSION}\n`);
  const example = join(import.meta.dirname, '..', '..', 'examples', 'remove-control-plane-taint.json');
  const { status, stdout, stderr } = run('review', example);
  expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
  expect(stdout).toContain('denied node-role.kubernetes.io/control-plane:NoSchedule');
});

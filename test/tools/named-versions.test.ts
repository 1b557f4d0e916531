import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { namedVersions } from '../../scripts/release/versions.ts';
import { VERSION } from '../../src/version.ts';

const ROOT = join(import.meta.dirname, '..', '..');

it('every file that names the image with the version is one that a change of the version changes', () => {
  const OTHERS = [
    'package-lock.json',
    'scripts/release/node/package-lock.json',
    // Fixtures: any version would do.
    'test/unit/doctor/facts.ts',
    'test/unit/doctor/facts/cluster-facts.test.ts',
    'test/unit/doctor/network-checks.test.ts',
    'test/unit/scheduling/only-loadable.test.ts',
  ];
  const tracked = execFileSync('git', ['grep', '--files-with-matches', '--fixed-strings', `taintkeeper:${VERSION}`], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  const changed = namedVersions().map(({ file }) => file);
  const files = tracked.trim().split('\n');
  expect(files).toContain('docs/install.md');
  expect(files.filter((file) => !changed.includes(file) && !OTHERS.includes(file))).toEqual([]);
});

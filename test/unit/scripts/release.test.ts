import { describe, expect, it } from 'vitest';
import { changesOf } from '../../../scripts/release/chart.ts';
import { krewManifest } from '../../../scripts/release/krew.ts';
import { releaseNotes } from '../../../scripts/release/notes.ts';
import { imagesOf, namedVersions } from '../../../scripts/release/versions.ts';

const CHANGELOG = `# Changelog

## 0.2.0 - 2027-01-02

### Added

- One thing,
  on two lines.

### Fixed

- Another.

## [0.1.0]

- First.
`;

describe('release notes', () => {
  it('are the section of the version', () => {
    expect(releaseNotes(CHANGELOG, '0.2.0')).toBe(
      '### Added\n\n- One thing,\n  on two lines.\n\n### Fixed\n\n- Another.\n',
    );
    expect(releaseNotes(CHANGELOG, '0.1.0')).toBe('- First.\n');
  });

  it('are asked for where there are none', () => {
    expect(() => releaseNotes(CHANGELOG, '0.3.0')).toThrow('CHANGELOG.md has no notes for 0.3.0');
  });

  it('become the list of changes of Artifact Hub', () => {
    expect(changesOf(releaseNotes(CHANGELOG, '0.2.0'))).toEqual([
      { kind: 'added', description: 'One thing, on two lines.' },
      { kind: 'fixed', description: 'Another.' },
    ]);
  });
});

it('every place that names the version says the same', () => {
  const named = namedVersions();
  expect(named.map(({ place }) => place)).toContain('install.yaml image');
  expect(new Set(named.map(({ version }) => version)).size).toBe(1);
});

it('the images of a manifest are those of its Deployments', () => {
  expect(imagesOf('kind: Namespace\n---\nspec: {template: {spec: {containers: [{image: a:1}]}}}\n')).toEqual(['a:1']);
});

it("krew's manifest names each archive with its sum", () => {
  const archive = { os: 'linux', arch: 'amd64', url: 'https://example.com/a.tar.gz', sha256: 'ab12' };
  const manifest = krewManifest('1.2.3', 'https://example.com', [archive]);
  expect(manifest).toContain('version: v1.2.3');
  expect(manifest).toContain('uri: https://example.com/a.tar.gz');
  expect(manifest).toContain('sha256: ab12');
});

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { changesOf } from '../../../scripts/release/chart.ts';
import { isOfGlibc, neededLibraries } from '../../../scripts/release/elf.ts';
import { checkLibraries, EMULATION, LIBRARIES, TARGETS } from '../../../scripts/release/executable.ts';
import { KREW_MANIFEST, krewManifest } from '../../../scripts/release/krew.ts';
import { checkIsDated, releaseNotes, textForGitHub } from '../../../scripts/release/notes.ts';
import { checkPagesSayPublished } from '../../../scripts/release/unpublished-pages.ts';
import { agreedVersion, imagesOf, namedVersions } from '../../../scripts/release/versions.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');

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

  it('are published under a heading with a date alone', () => {
    expect(() => checkIsDated(CHANGELOG, '0.2.0')).not.toThrow();
    expect(() => checkIsDated('## [0.2.0] - 2027-01-02\n', '0.2.0')).not.toThrow();
    const undated = '## 0.2.0 - not released yet\n\n- One thing.\n';
    expect(() => checkIsDated(undated, '0.2.0')).toThrow('CHANGELOG.md has no heading "## 0.2.0 - YYYY-MM-DD"');
    expect(() => checkIsDated(CHANGELOG, '0.1.0')).toThrow('"## 0.1.0 - YYYY-MM-DD"');
  });

  it('are a link to the changelog if GitHub would refuse them for their length', () => {
    const url = 'https://example.com/blob/v1.2.3/CHANGELOG.md';
    const longest = 'x'.repeat(120_000);
    expect(textForGitHub(longest, url)).toBe(longest);
    expect(textForGitHub(`${longest}x`, url)).toBe(
      `The changes are too many for this page. They are in [CHANGELOG.md](${url}).\n`,
    );
  });

  it('are not published while a page says that there is no image', () => {
    const folder = temporaryDirectory();
    mkdirSync(join(folder, 'docs'));
    writeFileSync(join(folder, 'README.md'), 'The image is example.com/taintkeeper.\n');
    const page = join(folder, 'docs', 'install.md');
    writeFileSync(page, 'No image is published yet. Build one.\n');
    expect(() => checkPagesSayPublished(folder)).toThrow(
      '"No image is published" is in docs/install.md: name the image',
    );
    writeFileSync(page, 'Pull the image.\n');
    expect(() => checkPagesSayPublished(folder)).not.toThrow();
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

it('places that name different versions are refused, each with what it says', () => {
  const named = (version: string) => ({ file: 'f', place: `place of ${version}`, version });
  expect(agreedVersion([named('1.2.3'), named('1.2.3')])).toBe('1.2.3');
  expect(() => agreedVersion([named('1.2.3'), named('1.2.2')])).toThrow(
    'place of 1.2.3 says 1.2.3, place of 1.2.2 says 1.2.2',
  );
});

it('the images of a manifest are those of its Deployments', () => {
  expect(imagesOf('kind: Namespace\n---\nspec: {template: {spec: {containers: [{image: a:1}]}}}\n')).toEqual(['a:1']);
});

it('the manifest for krew keeps its rules, which its own validation checks', () => {
  const archives = TARGETS.map(({ arch }) => ({
    os: 'linux',
    arch,
    url: `https://example.com/${arch}.tar.gz`,
    sha256: 'ab'.repeat(32),
  }));
  const { metadata, spec } = parse(krewManifest('1.2.3', 'https://example.com', archives)) as {
    metadata: { name: string };
    spec: { version: string; shortDescription: string; platforms: object[] };
  };
  // `kubectl taintkeeper`.
  expect(metadata.name).toBe('taintkeeper');
  expect(KREW_MANIFEST).toBe(`${metadata.name}.yaml`);
  expect(spec.version).toBe('v1.2.3');
  expect(spec.shortDescription).toMatch(/^\S.{10,48}\S$/);
  expect(spec.platforms).toEqual(
    archives.map(({ os, arch, url, sha256 }) => ({
      selector: { matchLabels: { os, arch } },
      uri: url,
      sha256,
      bin: 'taintkeeper',
    })),
  );
});

// The Node.js that runs this may be an older one, which needs fewer of them.
it.skipIf(process.platform !== 'linux')('the emulation of arm64 has all libraries that Node.js needs', () => {
  const needed = neededLibraries(process.execPath);
  expect(needed).toContain('libc.so.6');
  const files = Object.values(EMULATION).map((file) => basename(file));
  expect(needed.filter((library) => !isOfGlibc(library) && !files.includes(library))).toEqual([]);
});

it('an executable is refused that needs a library which the page on installing does not name', () => {
  expect(() => checkLibraries(['libm.so.6', ...Object.keys(LIBRARIES)])).not.toThrow();
  expect(() => checkLibraries(['libc.so.6', 'libssl.so.3'])).toThrow('the executable needs libssl.so.3');
  const page = readFileSync(join(ROOT, 'docs/install.md'), 'utf8');
  expect(Object.keys(LIBRARIES).filter((library) => !page.includes(`\`${library}\``))).toEqual([]);
  expect(page).toContain(`apt-get install ${Object.values(LIBRARIES).join(' ')}`);
});

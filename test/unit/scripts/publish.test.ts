import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MANIFEST, type Release, readRelease, SUMS, sealRelease, sha256 } from '../../../scripts/release/manifest.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

const PUBLISH = join(import.meta.dirname, '..', '..', '..', 'scripts', 'release', 'publish.ts');
const CHART_DIGEST = `sha256:${'c'.repeat(64)}`;
const IMAGE_FILE = 'taintkeeper-image-1.2.3.tar';

interface Built {
  readonly folder: string;
  readonly release: Release;
}

/** A release as build.ts leaves it, with an empty image. */
function build({ onStandIns = false } = {}): Built {
  const folder = temporaryDirectory();
  const texts = {
    'release-notes.md': '- New.\n',
    'taintkeeper.cdx.json': '{}\n',
    'install.yaml': 'kind: List\n',
    'taintkeeper-1.2.3.tgz': 'chart',
  };
  for (const [file, text] of Object.entries(texts)) writeFileSync(join(folder, file), text);
  const release: Release = {
    version: '1.2.3',
    tag: 'v1.2.3',
    revision: 'abc',
    image: {
      repository: 'registry.example/taintkeeper',
      platforms: ['linux/amd64', 'linux/arm64'],
      verified: 'seen',
      ...(onStandIns ? {} : { built: { file: IMAGE_FILE, digest: writeImage(join(folder, IMAGE_FILE)) } }),
    },
    chart: 'taintkeeper-1.2.3.tgz',
    files: Object.keys(texts).map((file) => ({ file, sha256: sha256(join(folder, file)), verified: 'seen' })),
  };
  sealRelease(folder, release);
  return { folder, release };
}

/** Writes an OCI archive. @returns the digest of what it holds */
function writeImage(archive: string, content = '{}'): string {
  const folder = temporaryDirectory();
  const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`;
  writeFileSync(join(folder, 'index.json'), JSON.stringify({ manifests: [{ digest }] }));
  execFileSync('tar', ['--create', '--file', archive, '--directory', folder, 'index.json']);
  return digest;
}

/** Runs publish.ts with programs that only note how they were called. */
function publish({ folder }: Built, args: readonly string[], changes: Readonly<Record<string, string>> = {}) {
  const programs = temporaryDirectory();
  const log = join(programs, 'log');
  mkdirSync(join(programs, 'bin'));
  for (const program of ['skopeo', 'helm', 'cosign', 'gh']) {
    const file = join(programs, 'bin', program);
    const says = program === 'helm' ? `echo 'Digest: ${CHART_DIGEST}'` : 'cat > /dev/null';
    writeFileSync(file, `#!/bin/sh\necho "${program} $*" >> ${log}\n${says}\n`);
    chmodSync(file, 0o755);
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, [PUBLISH, ...args, folder], {
    encoding: 'utf8',
    env: {
      PATH: `${join(programs, 'bin')}:/usr/bin:/bin`,
      RELEASE_DIGEST: sha256(join(folder, MANIFEST)),
      IMAGE_REPOSITORY: 'registry.example/taintkeeper',
      CHART_REPOSITORY: 'registry.example/charts',
      REGISTRY_USER: 'publisher',
      REGISTRY_TOKEN: 'a-token',
      GH_TOKEN: 'a-token',
      GITHUB_REF_NAME: 'v1.2.3',
      GITHUB_REPOSITORY: 'example/taintkeeper',
      ...changes,
    },
  });
  const called = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
  return { status, stdout, stderr, called };
}

describe('publish', () => {
  it('uploads the image that was built, by its digest and with the tag that the chart expects, then signs it', () => {
    const built = build();
    const { status, stderr, called } = publish(built, []);
    expect({ status, stderr }).toMatchObject({ status: 0 });
    const image = `registry.example/taintkeeper@${built.release.image.built?.digest}`;
    const shown = called.map((line) =>
      line.replaceAll(built.folder, 'FOLDER').replaceAll(/\/\S+\/release-\w+/g, 'OWN'),
    );
    expect(shown).toEqual([
      'skopeo login --authfile OWN/config.json --username publisher --password-stdin registry.example',
      `skopeo copy --all --preserve-digests --authfile OWN/config.json oci-archive:FOLDER/${IMAGE_FILE} docker://registry.example/taintkeeper:1.2.3`,
      `cosign sign --yes --recursive ${image}`,
      `cosign attest --yes --type cyclonedx --predicate FOLDER/taintkeeper.cdx.json ${image}`,
      'helm push FOLDER/taintkeeper-1.2.3.tgz oci://registry.example/charts --registry-config OWN/config.json',
      `cosign sign --yes registry.example/charts/taintkeeper@${CHART_DIGEST}`,
      `cosign sign-blob --yes --bundle OWN/${SUMS}.sigstore.json FOLDER/${SUMS}`,
      expect.stringMatching(/^gh release create v1\.2\.3 --repo example\/taintkeeper --verify-tag /),
    ]);
  });

  it('uploads the files of the release and their sums to it, and nothing else', () => {
    const { folder, release } = build();
    const provenance = join(temporaryDirectory(), 'attestation.json');
    writeFileSync(provenance, '{}\n');
    const { called } = publish({ folder, release }, [], { PROVENANCE: provenance });
    const [, uploaded = ''] = /--notes-file \S+ (.*)$/.exec(called.at(-1) ?? '') ?? [];
    expect(uploaded.split(' ').map((file) => basename(file))).toEqual([
      ...release.files.map(({ file }) => file),
      SUMS,
      `${SUMS}.sigstore.json`,
      'taintkeeper-1.2.3.intoto.jsonl',
    ]);
  });

  it('--dry-run checks the same, lists each upload with its digest, and uploads nothing', () => {
    const { folder, release } = build();
    const { status, stdout, called } = publish({ folder, release }, ['--dry-run'], { GH_TOKEN: '' });
    expect({ status, called }).toEqual({ status: 0, called: [] });
    expect(stdout).toContain(
      `| image registry.example/taintkeeper:1.2.3 (linux/amd64, linux/arm64) | \`${release.image.built?.digest}\` | seen |`,
    );
    for (const { file, sha256: sum } of release.files) expect(stdout).toContain(`| file ${file} | \`${sum}\` | seen |`);
  });

  it('refuses a release whose image was built on stand-ins', () => {
    const built = build({ onStandIns: true });
    const { status, stderr, called } = publish(built, []);
    expect({ status, called }).toEqual({ status: 1, called: [] });
    expect(stderr).toContain('nothing is published: its image was built on stand-ins for the base images');
  });

  it.each<[string, Readonly<Record<string, string>>, string]>([
    ['another tag', { GITHUB_REF_NAME: 'v1.2.4' }, 'the tag is v1.2.4, the release is v1.2.3'],
    [
      'another repository',
      { IMAGE_REPOSITORY: 'registry.example/other' },
      'the release was built for registry.example/taintkeeper',
    ],
    ['a variable that is not set', { IMAGE_REPOSITORY: '' }, 'IMAGE_REPOSITORY not set'],
    ['no sum of the manifest', { RELEASE_DIGEST: '' }, 'release.json is not the one that was built'],
    ['a manifest of another build', { RELEASE_DIGEST: '0'.repeat(64) }, 'release.json is not the one that was built'],
  ])('publishes nothing with %s', (_what, changes, problem) => {
    const { status, stderr, called } = publish(build(), [], changes);
    expect({ status, called }).toEqual({ status: 1, called: [] });
    expect(stderr).toContain(problem);
  });
});

describe('what is in the folder of a release', () => {
  it('is what the manifest names: an image on stand-ins, for example, is not', () => {
    const { folder } = build();
    writeFileSync(join(folder, 'taintkeeper-image-amd64.tar'), 'stand-in');
    expect(() => readRelease(folder)).toThrow('files that are no part of the release: taintkeeper-image-amd64.tar');
  });

  it('has the sums of the manifest', () => {
    const { folder } = build();
    writeFileSync(join(folder, 'install.yaml'), 'kind: Other\n');
    expect(() => readRelease(folder)).toThrow('install.yaml is not what was built');
  });

  it('has the image of the manifest', () => {
    const { folder } = build();
    writeImage(join(folder, IMAGE_FILE), '{"other": true}');
    expect(() => readRelease(folder)).toThrow(`${IMAGE_FILE} has the digest`);
  });

  it('has the sums that others check', () => {
    const { folder, release } = build();
    const { status, stdout } = spawnSync('sha256sum', ['--check', SUMS], { cwd: folder, encoding: 'utf8' });
    expect({ status, lines: stdout.trim().split('\n').length }).toEqual({ status: 0, lines: release.files.length });
  });

  it('has a tag with a v, and a version without', () => {
    const { folder, release } = build();
    expect(() => sealRelease(folder, { ...release, version: 'v1.2.3' })).toThrow('tag v1.2.3 is not version v1.2.3');
  });
});

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { digestOfArchive } from './oci-archive.ts';

/* Imports nothing but Node.js: publish.ts runs without packages. */

/** What a release consists of, as build.ts has made it and publish.ts uploads it: nothing else leaves the folder. */
export interface Release {
  /** Such as 1.2.3: the tag of image and chart. */
  readonly version: string;
  /** Such as v1.2.3: the tag in Git, and the release's name. */
  readonly tag: string;
  readonly revision: string;
  readonly image: ReleasedImage;
  /** The file of the chart. */
  readonly chart: string;
  readonly files: readonly ReleasedFile[];
}

export interface ReleasedImage {
  readonly repository: string;
  readonly platforms: readonly string[];
  /** Its OCI archive and the digest that it has in a registry; undefined where the base images were stand-ins. */
  readonly built?: { readonly file: string; readonly digest: string };
  readonly verified: string;
}

export interface ReleasedFile {
  readonly file: string;
  readonly sha256: string;
  /** What was seen when it was tried. */
  readonly verified: string;
}

export const MANIFEST = 'release.json';
export const SUMS = 'SHA256SUMS';

export function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

/**
 * Writes the manifest and the sums beside the files of a release.
 * @throws Error when the folder holds anything that the release does not name
 */
export function sealRelease(folder: string, release: Release): void {
  writeFileSync(join(folder, SUMS), sumsOf(release));
  writeFileSync(join(folder, MANIFEST), `${JSON.stringify(release, undefined, 2)}\n`);
  checkRelease(folder, release);
}

/**
 * @param expected the sum of the manifest; without it, any is taken
 * @throws Error when a file is not what the manifest says, or is not named by it
 */
export function readRelease(folder: string, expected?: string): Release {
  const file = join(folder, MANIFEST);
  if (expected !== undefined && sha256(file) !== expected) {
    throw new Error(`${MANIFEST} is not the one that was built: its sum is ${sha256(file)}, not ${expected}`);
  }
  const release = JSON.parse(readFileSync(file, 'utf8')) as Release;
  checkRelease(folder, release);
  return release;
}

function checkRelease(folder: string, release: Release): void {
  const { built } = release.image;
  const named = [...release.files.map(({ file }) => file), ...(built ? [built.file] : []), MANIFEST, SUMS];
  const strangers = readdirSync(folder).filter((file) => !named.includes(file));
  if (strangers.length > 0) throw new Error(`${folder} has files that are no part of the release: ${strangers}`);
  for (const { file, sha256: sum } of release.files) {
    const found = sha256(join(folder, file));
    if (found !== sum) throw new Error(`${file} is not what was built: its sum is ${found}, not ${sum}`);
  }
  if (readFileSync(join(folder, SUMS), 'utf8') !== sumsOf(release)) throw new Error(`${SUMS} differs from ${MANIFEST}`);
  if (release.tag !== `v${release.version}`) throw new Error(`tag ${release.tag} is not version ${release.version}`);
  if (!built) return;
  const digest = digestOfArchive(join(folder, built.file));
  if (digest !== built.digest) throw new Error(`${built.file} has the digest ${digest}, not ${built.digest}`);
}

function sumsOf({ files }: Release): string {
  return files.map(({ file, sha256: sum }) => `${sum}  ${file}\n`).join('');
}

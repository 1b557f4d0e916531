import { execFileSync } from 'node:child_process';

/* Imports nothing but Node.js: publish.ts runs without packages. */

interface Descriptor {
  readonly digest: string;
}

/** The digest of the image, or list of images, that an OCI archive holds. @throws Error when it is not one */
export function digestOfArchive(archive: string): string {
  const { manifests } = read(archive, 'index.json') as { manifests: readonly Descriptor[] };
  const [only, ...others] = manifests;
  if (!only || others.length > 0) throw new Error(`${archive} holds ${manifests.length} images, and not one`);
  return only.digest;
}

/** The digests of the layers of each image of a list. */
export function layersOfArchive(archive: string): string[][] {
  const blob = (digest: string) => read(archive, `blobs/${digest.replace(':', '/')}`);
  const { manifests } = blob(digestOfArchive(archive)) as { manifests: readonly Descriptor[] };
  return manifests.map(({ digest }) => {
    const { layers } = blob(digest) as { layers: readonly Descriptor[] };
    return layers.map((layer) => layer.digest);
  });
}

function read(archive: string, file: string): unknown {
  return JSON.parse(execFileSync('tar', ['--extract', '--to-stdout', '--file', archive, file], { encoding: 'utf8' }));
}

import { join } from 'node:path';
import { createWorkspace } from '../../test/control-plane/workspace.ts';
import { createBuildah } from '../../test/image/buildah.ts';
import { buildBaseImages, buildProductImage } from '../../test/image/product-image.ts';
import { run } from './run.ts';

export interface BuiltImage {
  /** An OCI archive. */
  readonly archive: string;
  /** Of its manifest: `sha256:…`. */
  readonly digest: string;
  /** That of a second build of the same sources. */
  readonly digestAgain: string;
  /** How many layers both have, and which are not the same, by their number, from 1. */
  readonly layers: number;
  readonly differingLayers: readonly number[];
}

/**
 * Builds the image of the Dockerfile twice, for this machine's platform, on stand-ins for the base images, which can only be pulled.
 * @param timestamp of all its files, in seconds since 1970
 */
export function buildImage(folder: string, tag: string, revision: string, timestamp: number): BuiltImage {
  const workspace = createWorkspace('release');
  try {
    const buildah = createBuildah(workspace);
    const bases = buildBaseImages(buildah, workspace);
    const build = (archive: string) => {
      buildProductImage(buildah, bases, tag, { revision, timestamp });
      buildah.save(tag, archive);
      return readArchive(archive);
    };
    const archive = join(folder, 'taintkeeper-image-amd64.tar');
    const first = build(archive);
    const again = build(workspace.path('again.tar'));
    return {
      archive,
      digest: first.digest,
      digestAgain: again.digest,
      layers: first.layers.length,
      differingLayers: first.layers.flatMap((layer, index) => (layer === again.layers[index] ? [] : [index + 1])),
    };
  } finally {
    workspace.remove();
  }
}

interface Descriptor {
  readonly digest: string;
}

function readArchive(archive: string): { digest: string; layers: readonly string[] } {
  const read = (file: string) => JSON.parse(run('tar', ['--extract', '--to-stdout', '--file', archive, file]));
  const { manifests } = read('index.json') as { manifests: readonly Descriptor[] };
  const digest = manifests[0]?.digest ?? '';
  const { layers } = read(`blobs/${digest.replace(':', '/')}`) as { layers: readonly Descriptor[] };
  return { digest, layers: layers.map((layer) => layer.digest) };
}

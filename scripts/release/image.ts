import type { Workspace } from '../../test/control-plane/workspace.ts';
import { createBuildah } from '../../test/image/buildah.ts';
import { baseImagesOf, buildProductImages, dockerfileOnStandIns } from '../../test/image/product-image.ts';
import { digestOfArchive, imagesOfArchive, machineOf } from './oci-archive.ts';

export interface BuiltImage {
  /** An OCI archive of a list with an image for each platform, in the workspace. */
  readonly archive: string;
  /** That of the list: `sha256:…`. */
  readonly digest: string;
  readonly platforms: readonly string[];
  /** It was built on stand-ins for its base images, and nobody else may get it. */
  readonly onStandIns: boolean;
  /** What a second build of the same sources showed. */
  readonly reproducible: string;
}

const PLATFORMS = ['linux/amd64', 'linux/arm64'];

/** Why the base images cannot be pulled; undefined if they are there. */
export function obstacleToBaseImages(workspace: Workspace): string | undefined {
  const buildah = createBuildah(workspace);
  try {
    for (const image of baseImagesOf()) for (const platform of PLATFORMS) buildah.pull(image, platform);
    return undefined;
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    return (stderr ?? `${error}`).trim().split('\n').at(-1);
  }
}

/**
 * Builds the image of the Dockerfile twice, from its base images for all platforms, or on stand-ins for this machine's alone.
 * @param timestamp of all its files, in seconds since 1970
 * @throws Error with what was printed when the build fails, or when the second build differs from the first
 */
export function buildImage(
  workspace: Workspace,
  tag: string,
  revision: string,
  timestamp: number,
  onStandIns: boolean,
): BuiltImage {
  const buildah = createBuildah(workspace);
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const platforms = onStandIns ? [`linux/${arch}`] : PLATFORMS;
  const from = onStandIns ? { dockerfile: dockerfileOnStandIns(buildah, workspace) } : {};
  const build = (name: string, file: string) => {
    buildProductImages(buildah, workspace, name, platforms, { revision, timestamp, ...from });
    const archive = workspace.path(file);
    buildah.saveList(name, archive);
    return archive;
  };
  const archive = build(tag, 'image.tar');
  checkPlatforms(archive, platforms);
  const again = build(`${tag}-again`, 'again.tar');
  return {
    archive,
    digest: digestOfArchive(archive),
    platforms,
    onStandIns,
    reproducible: compare(layersOf(archive), layersOf(again)),
  };
}

/** @throws Error when an image says that it is for another platform, or has a Node.js for another one */
export function checkPlatforms(archive: string, platforms: readonly string[]): void {
  const found = imagesOfArchive(archive).map(({ platform, layers }) => {
    const machine = machineOf(archive, layers, 'nodejs/bin/node');
    return platform === `linux/${machine}` ? platform : `${platform} with Node.js for ${machine}`;
  });
  if (found.join() !== platforms.join()) throw new Error(`its images are for ${found}, not for ${platforms}`);
}

function layersOf(archive: string): string[][] {
  return imagesOfArchive(archive).map(({ layers }) => [...layers]);
}

/** @throws Error when another layer than the last one differs */
function compare(first: readonly string[][], again: readonly string[][]): string {
  const differing = first.flatMap((layers, image) =>
    layers.flatMap((layer, index) => (layer === again[image]?.[index] ? [] : [{ index, last: layers.length - 1 }])),
  );
  if (differing.length === 0) return 'built twice, equal';
  // V8's compile cache depends on what was compiled when.
  if (differing.every(({ index, last }) => index === last)) {
    return "built twice, only the layer of V8's compile cache differs";
  }
  throw new Error(`built twice, it differs in layers ${differing.map(({ index }) => index + 1).join(', ')}`);
}

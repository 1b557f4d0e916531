import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../../src/version.ts';
import type { Workspace } from '../control-plane/workspace.ts';
import { fillBuildBase, fillRuntimeBase } from './base-images.ts';
import type { Buildah } from './buildah.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const DOCKERFILE = join(ROOT, 'Dockerfile');
export const RUNTIME_BASE = 'localhost/runtime-base';

/** The images of registries that a Dockerfile starts from, with their digests, in its order. */
export function baseImagesOf(dockerfile = readFileSync(DOCKERFILE, 'utf8')): string[] {
  return [...dockerfile.matchAll(/^FROM (?:--\S+ )?(\S+[/@]\S+)/gm)].map(([, image = '']) => image);
}

/**
 * Builds stand-ins for the base images.
 * @returns the Dockerfile that has them in the place of the base images
 */
export function dockerfileOnStandIns(buildah: Buildah, workspace: Workspace): string {
  const base = (name: string, fill: (folder: string) => void) => {
    const context = workspace.path(name);
    fill(context);
    const dockerfile = workspace.write(
      `${name}.Dockerfile`,
      'FROM scratch\nCOPY . /\nENV PATH=/usr/bin:/bin HOME=/root\n',
    );
    buildah.build(`localhost/${name}`, { dockerfile, context });
    return `localhost/${name}`;
  };
  const nativeModules = globSync(join(ROOT, 'node_modules/@rolldown/binding-*/*.node'));
  const standIns = [
    base('build-base', (folder) => fillBuildBase(folder, nativeModules)),
    base('runtime-base', fillRuntimeBase),
  ];
  const text = readFileSync(DOCKERFILE, 'utf8');
  const bases = baseImagesOf(text);
  if (bases.length !== standIns.length) throw new Error(`the Dockerfile has ${bases.length} base images: ${bases}`);
  const replaced = bases.reduce((now, image, index) => now.replace(image, standIns[index] as string), text);
  return workspace.write('Dockerfile', replaced);
}

export interface ProductImageBuild {
  /** For its label. */
  readonly revision: string;
  /** As {@link ImageBuild} has it. */
  readonly timestamp?: number;
  /** The project's own pulls its base images. */
  readonly dockerfile?: string;
  /** Such as `linux/arm64`: the result is then a list of images. */
  readonly platforms?: readonly string[];
}

/**
 * Builds the project's image.
 * @throws Error with what was printed when the build fails
 */
export function buildProductImage(
  buildah: Buildah,
  tag: string,
  { revision, dockerfile = DOCKERFILE, ...build }: ProductImageBuild,
): void {
  const pull = dockerfile === DOCKERFILE;
  buildah.build(tag, { dockerfile, context: ROOT, args: { VERSION, REVISION: revision }, pull, ...build });
}

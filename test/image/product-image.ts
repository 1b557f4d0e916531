import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../../src/version.ts';
import type { Workspace } from '../control-plane/workspace.ts';
import { fillBuildBase, fillRuntimeBase } from './base-images.ts';
import type { Buildah } from './buildah.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const DOCKERFILE = join(ROOT, 'Dockerfile');
export const RUNTIME_BASE = 'localhost/runtime-base';

/** The images of registries that a Dockerfile starts from, with their digests if it has them, in its order. */
export function baseImagesOf(dockerfile = readFileSync(DOCKERFILE, 'utf8')): string[] {
  return [...dockerfile.matchAll(/^FROM (?:--\S+ )?(\S+[/@]\S+)/gm)].map(([, image = '']) => image);
}

/** Those without a digest: whoever can push to their registry chooses what is built on. */
export function unpinnedBaseImages(dockerfile?: string): string[] {
  return baseImagesOf(dockerfile).filter((image) => !/@sha256:[0-9a-f]{64}$/.test(image));
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

/**
 * Builds a list with the project's image for each platform, such as `linux/arm64`. The stage that bundles the program is built by itself, for
 * this machine: buildah 1.28 gives the `--platform` of one FROM to the stages after it, and the image for arm64 then has programs for amd64.
 *
 * @throws Error with what was printed when the build fails
 */
export function buildProductImages(
  buildah: Buildah,
  workspace: Workspace,
  tag: string,
  platforms: readonly string[],
  { revision, dockerfile = DOCKERFILE, timestamp }: ProductImageBuild,
): void {
  const text = readFileSync(dockerfile, 'utf8');
  const [, ...stages] = text.split(/^(?=FROM )/m);
  if (!/^FROM --platform=\$BUILDPLATFORM \S+ AS build$/m.test(stages[0] ?? '')) {
    throw new Error('the first stage of the Dockerfile is not the one that bundles the program');
  }
  const common = { pull: dockerfile === DOCKERFILE, ...(timestamp === undefined ? {} : { timestamp }) };
  const bundled = `${tag}-bundle`;
  const first = workspace.write('bundle.Dockerfile', (stages[0] ?? '').replace('--platform=$BUILDPLATFORM ', ''));
  buildah.build(bundled, { dockerfile: first, context: ROOT, ...common });
  const others = workspace.write('images.Dockerfile', stages.slice(1).join('').replaceAll('--from=build ', ''));
  const args = { VERSION, REVISION: revision };
  buildah.build(tag, { dockerfile: others, context: buildah.mount(bundled), args, platforms, ...common });
}

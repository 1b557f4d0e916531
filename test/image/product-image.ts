import { globSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../../src/version.ts';
import type { Workspace } from '../control-plane/workspace.ts';
import { fillBuildBase, fillRuntimeBase } from './base-images.ts';
import type { Buildah } from './buildah.ts';

const ROOT = join(import.meta.dirname, '..', '..');
export const RUNTIME_BASE = 'localhost/runtime-base';

/** The arguments of the Dockerfile that name its base images. */
export type BaseImages = Readonly<Record<'BUILD_IMAGE' | 'RUNTIME_IMAGE', string>>;

/** Builds stand-ins for the base images. */
export function buildBaseImages(buildah: Buildah, workspace: Workspace): BaseImages {
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
  return {
    BUILD_IMAGE: base('build-base', (folder) => fillBuildBase(folder, nativeModules)),
    RUNTIME_IMAGE: base('runtime-base', fillRuntimeBase),
  };
}

/**
 * Builds the project's Dockerfile.
 * @param build `revision` for its label, `timestamp` as {@link ImageBuild} has it
 * @throws Error with what was printed when the build fails
 */
export function buildProductImage(
  buildah: Buildah,
  bases: BaseImages,
  tag: string,
  { revision, ...build }: { readonly revision: string; readonly timestamp?: number },
): void {
  const args = { ...bases, VERSION, REVISION: revision };
  buildah.build(tag, { dockerfile: join(ROOT, 'Dockerfile'), context: ROOT, args, ...build });
}

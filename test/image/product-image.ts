import { globSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../../src/version.ts';
import type { Workspace } from '../control-plane/workspace.ts';
import { fillBuildBase, fillRuntimeBase } from './base-images.ts';
import type { Buildah } from './buildah.ts';

const ROOT = join(import.meta.dirname, '..', '..');
export const RUNTIME_BASE = 'localhost/runtime-base';

/** Builds the project's Dockerfile on stand-ins for its base images. @throws Error with what was printed when the build fails */
export function buildProductImage(buildah: Buildah, workspace: Workspace, tag: string, revision: string): void {
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
  const args = {
    BUILD_IMAGE: base('build-base', (folder) => fillBuildBase(folder, nativeModules)),
    RUNTIME_IMAGE: base('runtime-base', fillRuntimeBase),
    VERSION,
    REVISION: revision,
  };
  buildah.build(tag, { dockerfile: join(ROOT, 'Dockerfile'), context: ROOT, args });
}

import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { IMAGE } from '../../scripts/chart.ts';
import { VERSION } from '../../src/version.ts';
import { cacheBase } from '../control-plane/go-modules.ts';
import { createWorkspace } from '../control-plane/workspace.ts';
import { createBuildah } from '../image/buildah.ts';
import { buildProductImage, dockerfileOnStandIns } from '../image/product-image.ts';
import { SANDBOX_IMAGE } from './node-files.ts';

const ROOT = join(import.meta.dirname, '..', '..');
export const BUSYBOX = '/bin/busybox';
/** What goes into the image, as .dockerignore has it, and what it is made with. */
const INGREDIENTS = [
  ...[
    'bin/**',
    'manifests/policies/**',
    'src/**',
    'LICENSE',
    'package.json',
    'package-lock.json',
    'rolldown.config.ts',
  ],
  ...['scripts/*.ts', 'Dockerfile', 'test/image/base-images.ts', 'test/image/product-image.ts'],
];

/** The name by which manifests/install.yaml asks for this project's image. */
const PRODUCT_IMAGE = `${IMAGE}:${VERSION}`;

const MAX_KEPT = 4;
const FAILURE_VARIABLE = 'TAINTKEEPER_IMAGE_FAILURE';

/** Notes why an image cannot be built, for this process and those that it starts. */
export function noteImageFailure(reason: string): void {
  process.env[FAILURE_VARIABLE] = reason;
}

/** Why there are no images, if somebody has tried. */
export function obstacleToImages(): string | undefined {
  const reason = process.env[FAILURE_VARIABLE];
  return reason && `the image did not build: ${reason}`;
}

/**
 * Archives of the images that every node is given, each made when there is none of its ingredients yet.
 * @param product one of {@link PRODUCT_IMAGE} that is there already
 */
export function provideImages(report: (line: string) => void, product = productImage(report)): string[] {
  return [sandboxImage(), product];
}

/** The project's own image, built from its Dockerfile on stand-ins for its base images. */
function productImage(report: (line: string) => void): string {
  const hash = createHash('sha256').update(process.version);
  for (const file of globSync(INGREDIENTS, { cwd: ROOT, withFileTypes: true }).filter((entry) => entry.isFile())) {
    const path = join(file.parentPath, file.name);
    hash.update(path.slice(ROOT.length)).update(readFileSync(path));
  }
  return cached(`taintkeeper-${hash.digest('hex').slice(0, 16)}.tar`, (archive) => {
    const started = performance.now();
    const workspace = createWorkspace('image');
    try {
      const buildah = createBuildah(workspace);
      const dockerfile = dockerfileOnStandIns(buildah, workspace);
      buildProductImage(buildah, PRODUCT_IMAGE, { revision: 'test', dockerfile });
      buildah.save(PRODUCT_IMAGE, archive);
    } finally {
      workspace.remove();
    }
    report(`image built in ${Math.round((performance.now() - started) / 1000)} s`);
  });
}

/** One static program, which waits as a pod's sandbox, and is a shell for the pods of tests. */
function sandboxImage(): string {
  const key = createHash('sha256').update(readFileSync(BUSYBOX)).digest('hex').slice(0, 16);
  return cached(`busybox-${key}.tar`, (archive) => {
    const workspace = createWorkspace('image');
    try {
      const buildah = createBuildah(workspace);
      const dockerfile = workspace.write(
        'Dockerfile',
        'FROM scratch\nCOPY busybox /bin/busybox\nENTRYPOINT ["/bin/busybox"]\nCMD ["sleep", "infinity"]\n',
      );
      buildah.build(SANDBOX_IMAGE, { dockerfile, context: '/bin' });
      buildah.save(SANDBOX_IMAGE, archive);
    } finally {
      workspace.remove();
    }
  });
}

/** Makes a file of the cache beside its place and moves it in, so that half of one is never taken for it. */
export function cached(name: string, make: (file: string) => void): string {
  const folder = join(cacheBase(), 'images');
  const file = join(folder, name);
  if (!existsSync(file)) {
    mkdirSync(folder, { recursive: true });
    const scratch = `${file}.${process.pid}`;
    make(scratch);
    renameSync(scratch, file);
    discardOld(folder, name);
  }
  return file;
}

/** Each state of the sources has an image of its own, of 50 MB: the last few are kept. */
function discardOld(folder: string, newest: string): void {
  const kindOf = (name: string) => name.slice(0, name.lastIndexOf('-'));
  const files = readdirSync(folder).filter((name) => name.endsWith('.tar') && kindOf(name) === kindOf(newest));
  const byAge = files.map((name) => join(folder, name)).sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  for (const old of byAge.slice(MAX_KEPT)) rmSync(old, { force: true });
}

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { createWorkspace } from '../control-plane/workspace.ts';
import { createBuildah } from '../image/buildah.ts';
import { cached } from './images.ts';

/**
 * The archive of an image that has only the files that it is given. It is built once for each state of its ingredients.
 *
 * @param ingredients the files that it is made from, that of the caller among them
 * @param fill puts the files into the image's root, and returns the instructions of its Dockerfile that follow `COPY`
 * @throws Error with what buildah printed when the build fails
 */
export function imageOfFiles(name: string, ingredients: readonly string[], fill: (root: string) => string): string {
  const key = createHash('sha256')
    .update(name)
    .update(readFileSync(import.meta.filename));
  for (const file of ingredients) key.update(readFileSync(file));
  const kind = name.slice(name.indexOf('/') + 1).replace(/\W+/g, '-');
  return cached(`${kind}-${key.digest('hex').slice(0, 16)}.tar`, (archive) => {
    const workspace = createWorkspace('image');
    try {
      const root = workspace.path('root');
      mkdirSync(root);
      const instructions = fill(root);
      const dockerfile = workspace.write('Dockerfile', `FROM scratch\nCOPY . /\n${instructions}`);
      const buildah = createBuildah(workspace);
      buildah.build(name, { dockerfile, context: root });
      buildah.save(name, archive);
    } finally {
      workspace.remove();
    }
  });
}

/** A program and the libraries that it loads, as the loader finds them: none for a static program, such as Docker's runc. */
export function withLibraries(program: string): string[] {
  const { stdout } = spawnSync('ldd', [program], { encoding: 'utf8' });
  return [program, ...[...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, library = '']) => library)];
}

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { conformanceFile } from '../../control-plane/conformance.ts';
import { createWorkspace } from '../../control-plane/workspace.ts';
import { createBuildah } from '../../image/buildah.ts';
import { BUSYBOX, cached } from '../images.ts';
import type { ImageAlias } from '../real-node.ts';

const AGNHOST = 'localhost/agnhost:1';
const SHELL = 'localhost/shell:1';

/** The image that stands in for each image of the tests, by a part of its name. */
const STAND_INS: readonly { readonly name: RegExp; readonly image: string }[] = [
  { name: /\/agnhost:/, image: AGNHOST },
  // It only waits for a signal, as agnhost does without arguments.
  { name: /\/pause:/, image: AGNHOST },
  { name: /\/busybox:/, image: SHELL },
];

const PASSWD = 'root:x:0:0::/root:/bin/sh\nuser-defined-in-image:x:1000:1000::/:/bin/sh\n';
const GROUP = 'root:x:0:\nuser-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n';

/** Archives of the images that the tests' pods run, and the names by which the tests ask for them. */
export interface TestImages {
  readonly archives: readonly string[];
  readonly aliases: readonly ImageAlias[];
}

/** @throws Error when an image does not build */
export function provideTestImages(): TestImages {
  return { archives: [agnhostImage(), shellImage()], aliases: aliases() };
}

/**
 * Kubernetes publishes agnhost on Alpine. This one has the same program and, of Alpine, only BusyBox: the tests' probes and hooks need a
 * shell.
 */
function agnhostImage(): string {
  const program = conformanceFile('agnhost');
  return buildImage(AGNHOST, [program], (root) => {
    addShell(root);
    copyFileSync(program, join(root, 'agnhost'));
    symlinkSync('agnhost', join(root, 'agnhost-2'));
    mkdirSync(join(root, 'uploads'));
    for (const file of ['localhost.crt', 'localhost.key']) {
      copyFileSync(conformanceFile(file), join(root, file));
    }
    return 'ENTRYPOINT ["/agnhost"]\nCMD ["pause"]\n';
  });
}

function shellImage(): string {
  return buildImage(SHELL, [], (root) => {
    addShell(root);
    return 'CMD ["sh"]\n';
  });
}

/** BusyBox under all of its names, and the folders and users that Alpine has. */
function addShell(root: string): void {
  for (const folder of ['bin', 'etc', 'root', 'tmp', 'var/tmp']) mkdirSync(join(root, folder), { recursive: true });
  copyFileSync(BUSYBOX, join(root, 'bin', 'busybox'));
  const applets = execFileSync(BUSYBOX, ['--list'], { encoding: 'utf8' }).trim().split('\n');
  for (const applet of applets) if (applet !== 'busybox') symlinkSync('busybox', join(root, 'bin', applet));
  writeFileSync(join(root, 'etc', 'passwd'), PASSWD);
  writeFileSync(join(root, 'etc', 'group'), GROUP);
}

/** @param fill puts the files into the image's root, and gives the end of its Dockerfile */
function buildImage(name: string, programs: readonly string[], fill: (root: string) => string): string {
  const key = createHash('sha256').update(readFileSync(import.meta.filename));
  for (const file of [BUSYBOX, ...programs]) key.update(readFileSync(file));
  const [kind] = name.replace('localhost/', '').split(':');
  return cached(`${kind}-${key.digest('hex').slice(0, 16)}.tar`, (archive) => {
    const workspace = createWorkspace('image');
    try {
      const root = workspace.path('root');
      mkdirSync(root);
      const end = fill(root);
      const dockerfile = workspace.write('Dockerfile', `FROM scratch\nCOPY . /\nENV PATH=/bin:/\n${end}`);
      const buildah = createBuildah(workspace);
      buildah.build(name, { dockerfile, context: root });
      buildah.save(name, archive);
    } finally {
      workspace.remove();
    }
  });
}

/** The names that the tests were compiled with. */
function aliases(): ImageAlias[] {
  const listed = execFileSync(conformanceFile('e2e.test'), ['--list-images'], { encoding: 'utf8' });
  return listed.split('\n').flatMap((line) => {
    const name = line.trim();
    const found = STAND_INS.find((one) => one.name.test(name));
    return found ? [{ of: found.image, name }] : [];
  });
}

import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { conformanceFile } from '../../control-plane/conformance.ts';
import { imageOfFiles, withLibraries } from '../image-of-files.ts';
import { BUSYBOX } from '../images.ts';
import type { ImageAlias } from '../real-node.ts';

const AGNHOST = 'localhost/agnhost:1';
const SHELL = 'localhost/shell:1';
const WEB = 'localhost/web:1';
const NO_NEW_PRIVILEGES = 'localhost/no-new-privileges:1';

/**
 * Programs of this machine that the pods' commands call. The shell is bash, because Debian's BusyBox keeps variables such as `data-1` from the
 * programs that it starts.
 */
const PROGRAMS = ['/usr/bin/curl', '/bin/bash'];

/** The image that stands in for each image of the tests, by a part of its name. */
const STAND_INS: readonly { readonly name: RegExp; readonly image: string }[] = [
  { name: /\/agnhost:/, image: AGNHOST },
  // It only waits for a signal, as agnhost does without arguments.
  { name: /\/pause:/, image: AGNHOST },
  { name: /\/busybox:/, image: SHELL },
  { name: /\/nginx:/, image: WEB },
  { name: /\/nonewprivs:/, image: NO_NEW_PRIVILEGES },
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
  return { archives: [agnhostImage(), shellImage(), webImage(), noNewPrivilegesImage()], aliases: aliases() };
}

/**
 * Kubernetes publishes agnhost on Alpine. This one has the same program and, of Alpine, only what the tests' probes and hooks call.
 */
function agnhostImage(): string {
  const program = conformanceFile('agnhost');
  return imageOf(AGNHOST, [program], (root) => {
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
  return imageOf(SHELL, [], (root) => {
    addShell(root);
    return 'CMD ["sh"]\n';
  });
}

/** It answers at port 80. */
function webImage(): string {
  return imageOf(WEB, [], (root) => {
    addShell(root);
    return 'CMD ["httpd", "-f", "-p", "80"]\n';
  });
}

/** Its program has the bit that gives it the rights of its owner, unless the pod does not allow that. */
function noNewPrivilegesImage(): string {
  const program = conformanceFile('agnhost');
  return imageOf(NO_NEW_PRIVILEGES, [program], (root) => {
    const copy = join(root, 'agnhost');
    copyFileSync(program, copy);
    chmodSync(copy, 0o4755);
    return 'CMD ["/agnhost", "nonewprivs"]\n';
  });
}

function imageOf(name: string, programs: readonly string[], fill: (root: string) => string): string {
  const path = 'ENV PATH=/bin:/\n';
  return imageOfFiles(name, [import.meta.filename, BUSYBOX, ...PROGRAMS, ...programs], (root) => path + fill(root));
}

/** BusyBox under all of its names, {@link PROGRAMS}, and the folders and users that Alpine has. */
function addShell(root: string): void {
  for (const folder of ['bin', 'etc', 'root', 'tmp', 'var/tmp']) mkdirSync(join(root, folder), { recursive: true });
  copyFileSync(BUSYBOX, join(root, 'bin', 'busybox'));
  const applets = execFileSync(BUSYBOX, ['--list'], { encoding: 'utf8' }).trim().split('\n');
  for (const applet of applets) if (applet !== 'busybox') symlinkSync('busybox', join(root, 'bin', applet));
  rmSync(join(root, 'bin', 'sh'));
  symlinkSync('bash', join(root, 'bin', 'sh'));
  for (const file of new Set(PROGRAMS.flatMap(withLibraries))) {
    const copy = join(root, file.replace('/usr/bin/', '/bin/'));
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(file, copy);
  }
  writeFileSync(join(root, 'etc', 'passwd'), PASSWD);
  writeFileSync(join(root, 'etc', 'group'), GROUP);
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

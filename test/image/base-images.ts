import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

/*
 * Stand-ins for the base images, which cannot be pulled everywhere, made of this machine's own files: the same paths, and
 * nothing in them that the build or the program does not need.
 */

/** For the first stage: a shell, Node.js, npm, and what npm needs to reach its registry. */
export function fillBuildBase(root: string, nativeModules: readonly string[]): void {
  for (const file of ['/bin/sh', '/usr/bin/env']) copyWithLibraries(root, file);
  copyWithLibraries(root, process.execPath, '/usr/bin/node');
  for (const file of nativeModules) copyLibraries(root, file);
  const npm = dirname(dirname(realpathSync(commandPath('npm'))));
  cpSync(npm, join(root, 'usr/lib/npm'), { recursive: true });
  symlinkSync('../lib/npm/bin/npm-cli.js', join(root, 'usr/bin/npm'));
  write(root, '/etc/passwd', 'root:x:0:0::/root:/bin/sh\n');
  // Only what says where the registry is: the settings of whoever runs this may hold tokens.
  const settings = [`registry=${npmSetting('registry')}`];
  const authorities = [process.env.NODE_EXTRA_CA_CERTS ?? '', npmSetting('cafile')].find((file) => existsSync(file));
  if (authorities) {
    copy(root, authorities, '/etc/ssl/certs/ca-certificates.crt');
    settings.push('cafile=/etc/ssl/certs/ca-certificates.crt');
  }
  write(root, '/root/.npmrc', `${settings.join('\n')}\n`);
  makeTmp(root);
}

/** For the second stage: like distroless, Node.js in /nodejs and its libraries, no shell. */
export function fillRuntimeBase(root: string): void {
  copyWithLibraries(root, process.execPath, '/nodejs/bin/node');
  write(root, '/etc/passwd', 'root:x:0:0::/root:/sbin/nologin\nnonroot:x:65532:65532::/home/nonroot:/sbin/nologin\n');
  makeTmp(root);
}

function copyWithLibraries(root: string, file: string, target = file): void {
  copy(root, file, target);
  copyLibraries(root, file);
}

/** The shared libraries that a program or a native module is linked to, where the loader looks for them. */
function copyLibraries(root: string, file: string): void {
  const linked = execFileSync('ldd', [file], { encoding: 'utf8' });
  for (const [library] of linked.matchAll(/\/\S+/g)) if (!library.endsWith(':')) copy(root, library, library);
}

function copy(root: string, file: string, target: string): void {
  const copied = join(root, target);
  mkdirSync(dirname(copied), { recursive: true });
  copyFileSync(realpathSync(file), copied);
}

function write(root: string, file: string, text: string): void {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
}

function makeTmp(root: string): void {
  mkdirSync(join(root, 'tmp'));
  chmodSync(join(root, 'tmp'), 0o1777);
}

function commandPath(name: string): string {
  return execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
}

function npmSetting(name: string): string {
  return execFileSync('npm', ['config', 'get', name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { thirdPartyNotices } from '../third-party-notices.ts';
import { isOfGlibc } from './elf.ts';
import { ROOT, run } from './run.ts';

/** A platform that gets an executable. */
export interface Target {
  /** As Go and krew name it. */
  readonly arch: 'amd64' | 'arm64';
  /** As Node.js names it. */
  readonly nodeArch: 'x64' | 'arm64';
}

/** No macOS: an executable for it has to be signed by `codesign`, which runs on a Mac. */
export const TARGETS: readonly Target[] = [
  { arch: 'amd64', nodeArch: 'x64' },
  { arch: 'arm64', nodeArch: 'arm64' },
];

/** What Node.js looks for in its own executable (its documentation, Single executable applications). */
const SENTINEL = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
const LICENCES = ['LICENSE', 'THIRD-PARTY-NOTICES.txt', 'NODE-LICENSE.txt'];

/** What the executables of all targets are made of. */
export interface Ingredients {
  readonly scratch: string;
  /** The folder of the packages of `node/package-lock.json`. */
  readonly packages: string;
  /** The program in one file. */
  readonly main: string;
}

/** Fetches Node.js and bundles the program. */
export function prepareExecutables(scratch: string): Ingredients {
  const packages = fetchNode(join(scratch, 'node'));
  const main = join(scratch, 'main.cjs');
  run('npx', ['--no-install', 'rolldown', '--config', 'scripts/release/executable.config.ts', '--file', main], {
    cwd: ROOT,
  });
  return { scratch, packages, main };
}

/**
 * Makes an archive with one file that runs without Node.js, and the licences of all that is in it, by Node's own single-executable
 * feature. The Node.js of each target is locked in `node/`.
 *
 * @param timestamp of all files, in seconds since 1970
 * @returns the path of the executable
 */
export function packExecutable(
  archive: string,
  { scratch, packages, main }: Ingredients,
  target: Target,
  timestamp: number,
): string {
  const folder = join(scratch, target.arch);
  mkdirSync(folder, { recursive: true });
  const blob = join(folder, 'blob');
  const config = join(folder, 'sea.json');
  // V8 takes code that was compiled on the same architecture only.
  const useCodeCache = target.nodeArch === process.arch;
  writeFileSync(config, JSON.stringify({ main, output: blob, disableExperimentalSEAWarning: true, useCodeCache }));
  const own = nodeOf(packages, process.arch);
  run(own, ['--experimental-sea-config', config]);

  const contents = join(folder, 'contents');
  mkdirSync(contents);
  const executable = join(contents, 'taintkeeper');
  cpSync(nodeOf(packages, target.nodeArch), executable);
  run(own, [
    join(packages, 'postject', 'dist', 'cli.js'),
    executable,
    'NODE_SEA_BLOB',
    blob,
    '--sentinel-fuse',
    SENTINEL,
  ]);
  cpSync(join(ROOT, 'LICENSE'), join(contents, 'LICENSE'));
  writeFileSync(join(contents, 'THIRD-PARTY-NOTICES.txt'), thirdPartyNotices());
  cpSync(join(packages, `node-linux-${target.nodeArch}`, 'LICENSE'), join(contents, 'NODE-LICENSE.txt'));
  run('tar', [
    ...['--create', '--gzip', '--file', archive, '--directory', contents],
    ...['--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX', `--mtime=@${timestamp}`],
    ...['taintkeeper', ...LICENCES],
  ]);
  return executable;
}

/** The command that runs an executable here. */
export function commandOf(executable: string, target: Target): string[] {
  if (target.nodeArch === process.arch) return [executable];
  return ['qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu', executable];
}

/** The libraries that Node.js loads beside those of glibc, each with its package in Debian. docs/install.md names them. */
export const LIBRARIES: Readonly<Record<string, string>> = {
  'libatomic.so.1': 'libatomic1',
  'libgcc_s.so.1': 'libgcc-s1',
  'libstdc++.so.6': 'libstdc++6',
};

/** Debian's packages by which {@link commandOf} runs what is for another architecture. */
export const EMULATION: Readonly<Record<string, string>> = {
  'qemu-user-static': '/usr/bin/qemu-aarch64-static',
  'libc6-arm64-cross': '/usr/aarch64-linux-gnu/lib/libc.so.6',
  ...Object.fromEntries(
    Object.entries(LIBRARIES).map(([file, name]) => [`${name}-arm64-cross`, `/usr/aarch64-linux-gnu/lib/${file}`]),
  ),
};

/**
 * @param needed the libraries without which an executable does not start
 * @throws Error when one is not in {@link LIBRARIES}: users would not know that they need it
 */
export function checkLibraries(needed: readonly string[]): void {
  const unnamed = needed.filter((library) => !isOfGlibc(library) && !(library in LIBRARIES));
  if (unnamed.length === 0) return;
  throw new Error(
    `the executable needs ${unnamed.join(', ')}: add it to LIBRARIES (executable.ts) and to docs/install.md`,
  );
}

/** @throws Error when a licence is not in the archive */
export function checkLicences(archive: string): void {
  const files = run('tar', ['--list', '--file', archive]).trim().split('\n');
  const missing = LICENCES.filter((file) => !files.includes(file));
  if (missing.length > 0) throw new Error(`the archive has no ${missing.join(', ')}`);
}

/** The version of Node.js that executables carry. */
export function lockedNode(): string {
  const file = join(import.meta.dirname, 'node', 'package.json');
  const { dependencies } = JSON.parse(readFileSync(file, 'utf8')) as { dependencies: Record<string, string> };
  const versions = new Set(TARGETS.map(({ nodeArch }) => dependencies[`node-linux-${nodeArch}`] ?? ''));
  if (versions.size !== 1) throw new Error(`${file} has several versions of Node.js: ${[...versions].join(', ')}`);
  return [...versions][0] as string;
}

function nodeOf(packages: string, arch: string): string {
  return join(packages, `node-linux-${arch}`, 'bin', 'node');
}

/** Installs what `node/package-lock.json` has, and runs none of its scripts. @returns the folder of the packages */
function fetchNode(folder: string): string {
  mkdirSync(folder, { recursive: true });
  for (const file of ['package.json', 'package-lock.json']) {
    cpSync(join(import.meta.dirname, 'node', file), join(folder, file));
  }
  // --force: that of another architecture as well.
  run('npm', ['ci', '--force', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder });
  return join(folder, 'node_modules');
}

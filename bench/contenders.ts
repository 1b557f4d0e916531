import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..');
export const BUNDLE = join(ROOT, 'dist', 'taintkeeper.cjs');

/** Builds taintkeeper's bundle as releases do. */
export function buildBundle(): void {
  execFileSync('npm', ['run', 'build', '--silent'], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** What takes part in a bench besides the bundle of this checkout, and the Node.js that runs it. */
export interface ContenderFlags {
  /** A folder with the bundle of an earlier version (its `dist`). */
  readonly before?: string | undefined;
  /** Other executables of Node.js. */
  readonly node?: readonly string[] | undefined;
}

export interface NodeVersion {
  /** The executable. */
  readonly node: string;
  /** For example `Node.js v26.10.0`. */
  readonly version: string;
}

/** A bundle of taintkeeper, on a Node.js. */
export interface Contender extends NodeVersion {
  readonly name: string;
  readonly program: string;
  readonly isBefore: boolean;
}

export function nodeVersions({ node = [] }: ContenderFlags): NodeVersion[] {
  return [process.execPath, ...node].map((file) => ({
    node: file,
    version: `Node.js ${execFileSync(file, ['--version'], { encoding: 'utf8' }).trim()}`,
  }));
}

/** Both bundles on each Node.js. */
export function contendersOf(flags: ContenderFlags): Contender[] {
  const { before } = flags;
  return nodeVersions(flags).flatMap((version): Contender[] => [
    ...(before === undefined
      ? []
      : [{ ...version, name: `before, ${version.version}`, program: join(before, 'taintkeeper.cjs'), isBefore: true }]),
    { ...version, name: version.version, program: BUNDLE, isBefore: false },
  ]);
}

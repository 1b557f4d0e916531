import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** A go.mod with its go.sum, and the programs that are built from it. */
export interface GoModule {
  /** Where go.mod and go.sum are. */
  readonly folder: string;
  /** The Go package of each program. */
  readonly packages: Readonly<Record<string, string>>;
  /** Files and folders of the module that has the programs, by their path in it: they are put beside the programs. */
  readonly files?: readonly string[];
  /** The programs that are a package's compiled tests (`go test -c`), not a `main` package. */
  readonly compiledTests?: readonly string[];
  /** Build tags, if any. */
  readonly tags?: readonly string[];
  /** Changes of the source of the module that has the programs. */
  readonly patches?: readonly SourcePatch[];
  /** What a release build sets by `-X`, given the program's version as `v1.36.1`. */
  linkerVariables(version: string): Readonly<Record<string, string>>;
}

/** One text of a source file, and what replaces it. */
export interface SourcePatch {
  /** The path in the module. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** A program's version as go.mod locks it, such as `v1.36.1`: that of the module which has its package. */
export function lockedVersion(module: GoModule, program: string): string {
  return lockedModule(module, program).version;
}

/** The module that has a program's package, with its version as go.mod locks it. */
export function lockedModule({ folder, packages }: GoModule, program: string): { path: string; version: string } {
  const lines = readGoMod(folder).matchAll(/^(?:require)?\s*(\S+) (v\S+)/gm);
  const required = new Map([...lines].map(([, path = '', version = '']) => [path, version]));
  const path = moduleOf(required.keys(), packages[program] ?? '') ?? '';
  const version = required.get(path);
  if (version === undefined) throw new Error(`${folder}/go.mod requires no module that has ${packages[program]}`);
  return { path, version };
}

/** The module of a package: of those that are required, the one with the longest path that the package's path begins with. */
export function moduleOf(required: Iterable<string>, goPackage: string): string | undefined {
  const holding = [...required].filter((path) => `${goPackage}/`.startsWith(`${path}/`));
  return holding.sort((a, b) => b.length - a.length)[0];
}

/** How a program is called wherever people read of it: `etcd 3.6.16`. */
export function programName(module: GoModule, program: string): string {
  return `${program} ${lockedVersion(module, program).slice(1)}`;
}

/** The oldest Go that a module is content with, such as `1.26`. */
export function oldestGo({ folder }: GoModule): string {
  const found = /^go (\d+\.\d+)/m.exec(readGoMod(folder))?.[1];
  if (found === undefined) throw new Error(`${folder}/go.mod does not say which Go it needs`);
  return found;
}

/**
 * Where build.ts puts a module's programs: a folder for each set of locked versions and patches. Go's own version is not part of
 * the key, so that a cache made elsewhere is found without Go; `go` in go.mod gives the oldest that will do.
 */
export function cacheFolder({ folder, patches = [] }: GoModule): string {
  const key = createHash('sha256').update(`${process.platform} ${process.arch}\n`);
  for (const file of ['go.mod', 'go.sum']) key.update(readFileSync(join(folder, file)));
  if (patches.length > 0) key.update(JSON.stringify(patches));
  return join(cacheBase(), key.digest('hex').slice(0, 16));
}

/** The folder with all that is made once for many runs. */
export function cacheBase(): string {
  return (
    process.env.TAINTKEEPER_CONTROL_PLANE_CACHE ||
    join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'taintkeeper', 'control-plane')
  );
}

/** Which of a module's programs are not built yet. */
export function unbuilt(module: GoModule): string[] {
  const folder = cacheFolder(module);
  return Object.keys(module.packages).filter((program) => !existsSync(join(folder, program)));
}

function readGoMod(folder: string): string {
  return readFileSync(join(folder, 'go.mod'), 'utf8');
}

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** A go.mod with its go.sum, and the programs that are built from it. */
export interface GoModule {
  readonly title: string;
  /** Where go.mod and go.sum are. */
  readonly folder: string;
  /** The module that gives the version, such as `k8s.io/kubernetes`. */
  readonly versionOf: string;
  /** The Go package of each program. */
  readonly packages: Readonly<Record<string, string>>;
  /** Build tags, if any. */
  readonly tags?: readonly string[];
  /** What a release build sets by `-X`, given the version as `v1.36.3`. */
  linkerVariables(version: string): Readonly<Record<string, string>>;
}

/** A module's version as go.mod locks it, such as `v1.36.3`. */
export function lockedVersion({ folder, versionOf }: GoModule): string {
  return fromGoMod(
    folder,
    new RegExp(`^(?:require)?\\s*${versionOf.replaceAll('.', '\\.')} (v\\d+\\.\\d+\\.\\d+)`, 'm'),
  );
}

/** The oldest Go that a module is content with, such as `1.26`. */
export function oldestGo({ folder }: GoModule): string {
  return fromGoMod(folder, /^go (\d+\.\d+)/m);
}

/**
 * Where build.ts puts a module's programs: a folder for each set of locked versions. Go's own version is not part of
 * the key, so that a cache made elsewhere is found without Go; `go` in go.mod gives the oldest that will do.
 */
export function cacheFolder({ folder }: GoModule): string {
  const base =
    process.env.TAINTKEEPER_CONTROL_PLANE_CACHE ||
    join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'taintkeeper', 'control-plane');
  const key = createHash('sha256').update(`${process.platform} ${process.arch}\n`);
  for (const file of ['go.mod', 'go.sum']) key.update(readFileSync(join(folder, file)));
  return join(base, key.digest('hex').slice(0, 16));
}

/** Which of a module's programs are not built yet. */
export function unbuilt(module: GoModule): string[] {
  const folder = cacheFolder(module);
  return Object.keys(module.packages).filter((program) => !existsSync(join(folder, program)));
}

function fromGoMod(folder: string, pattern: RegExp): string {
  const found = pattern.exec(readFileSync(join(folder, 'go.mod'), 'utf8'))?.[1];
  if (found === undefined) throw new Error(`${folder}/go.mod has nothing like ${pattern}`);
  return found;
}

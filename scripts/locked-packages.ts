import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A package that `npm ci` installs. */
export interface LockedPackage {
  readonly name: string;
  /** From the project's folder, where it is installed. */
  readonly path: string;
  readonly version: string;
  /** SPDX, as its author has it. */
  readonly license?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
  /** Only to build and to test: no part of what runs. */
  readonly dev: boolean;
}

type Entry = Omit<LockedPackage, 'name' | 'path' | 'dev'> & {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
};

/** Every package of package-lock.json, in its order. */
export function lockedPackages(): LockedPackage[] {
  const text = readFileSync(join(import.meta.dirname, '..', 'package-lock.json'), 'utf8');
  const { packages } = JSON.parse(text) as { packages: Record<string, Entry> };
  return Object.entries(packages)
    .filter(([path]) => path !== '')
    .map(([path, { dev, devOptional, ...entry }]) => ({
      ...entry,
      path,
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      dev: dev === true || devOptional === true,
    }));
}

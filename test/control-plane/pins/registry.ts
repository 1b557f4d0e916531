import { type Go, parseObjects } from './go.ts';
import { parseMissing } from './missing.ts';

/**
 * The versions that the registry lists, oldest first; for a module without tags, its newest commit. That one is listed
 * does not mean that it is served. Empty when the registry does not know the module any more.
 *
 * @throws Error when the registry cannot be asked
 */
export async function listVersions(go: Go, module: string): Promise<string[]> {
  // Without -retracted it reads the newest version's go.mod, and so says nothing at all when that one is lost.
  const listed = await go.run(['list', '-m', '-versions', '-retracted', '-f', '{{join .Versions " "}}', module]);
  if (listed.code !== 0) return refuse(listed.stderr);
  const versions = listed.stdout.trim();
  if (versions !== '') return versions.split(' ');
  const latest = await go.run(['list', '-m', '-f', '{{.Version}}', `${module}@latest`]);
  return latest.code === 0 ? [latest.stdout.trim()] : refuse(latest.stderr);
}

/** Where the go.mod of a served version is. */
export interface Served {
  readonly version: string;
  readonly goMod: string;
}

/**
 * The first of some versions that is served whole, source and all; `undefined` when none is.
 *
 * @throws Error when the registry cannot be asked
 */
export async function firstServed(go: Go, module: string, versions: readonly string[]): Promise<Served | undefined> {
  for (const version of versions) {
    const { stdout, stderr } = await go.run(['mod', 'download', '-json', `${module}@${version}`]);
    const [download] = parseObjects<{ GoMod?: string; Error?: string }>(stdout);
    if (download?.GoMod && !download.Error) return { version, goMod: download.GoMod };
    const error = download?.Error ?? stderr;
    if (parseMissing(error).length === 0) throw new Error(error.trim());
  }
  return undefined;
}

/** Go names the module alone where there is no version to name. */
function refuse(error: string): [] {
  if (/: reading \S+@(v\/list|latest): (400|403|404|410) /.test(error)) return [];
  throw new Error(error.trim());
}

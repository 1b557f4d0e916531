import { join } from 'node:path';
import { TALOS } from '../../places/talos/programs.ts';
import { PROMTOOL } from '../promtool.ts';
import { type Go, parseObjects } from './go.ts';
import { type GoMod, readGoMod } from './go-mod.ts';
import { type Missing, parseMissing } from './missing.ts';

/** What building the programs of a go.mod takes, as far as it could be found out. */
export interface Needs {
  /** The modules that are needed and are there, as `path@version`. */
  readonly modules: readonly string[];
  /** Behind a missing module may be more that are: nobody knows what it imports. */
  readonly missing: readonly Missing[];
  /** Go's words where something else is wrong, such as a go.sum that lacks lines. */
  readonly complaints: readonly string[];
}

/**
 * Finds out whether the programs of a go.mod could be built, on the present platform.
 *
 * It lets `go list -deps` follow the imports from the programs on, which needs just what `go build` takes: an import that
 * cannot be resolved is one that the build would fail on. `go mod download` would be both too strict, as it needs
 * what only tests and other platforms need, and too lax, as it takes no notice of a package that its module has not got.
 *
 * @param tags that the programs are built with
 */
export async function findNeeds(go: Go, folder: string, tags: readonly string[]): Promise<Needs> {
  const args = ['list', '-e', '-deps', '-json=ImportPath,Module,Error', '-tags', tags.join(',')];
  const { code, stdout, stderr } = await go.run(
    [...args, programs(await readGoMod(go, join(folder, 'go.mod')))],
    folder,
  );
  const packages = parseObjects<Package>(stdout);
  const errors = packages.flatMap((each) => (each.Error ? [`${each.ImportPath}: ${each.Error.Err}`] : []));
  if (code !== 0) errors.push(stderr.trim());
  const modules = packages.flatMap((each) => (each.Module?.Version && !each.Error ? [each.Module] : []));
  return {
    modules: [...new Set(modules.map(({ Replace, ...own }) => `${(Replace ?? own).Path}@${(Replace ?? own).Version}`))],
    missing: parseMissing(errors.join('\n')),
    complaints: errors.filter((error) => parseMissing(error).length === 0),
  };
}

/** The tags that a module's programs are built with: they decide what is imported. */
export function buildTags(folder: string): readonly string[] {
  return [PROMTOOL, TALOS].find((module) => module.folder === folder)?.tags ?? [];
}

/** As a pattern of Go's. */
function programs({ Tool }: GoMod): string {
  return Tool && Tool.length > 0 ? 'tool' : './...';
}

interface Package {
  ImportPath: string;
  Module?: { Path: string; Version?: string; Replace?: { Path: string; Version?: string } };
  Error?: { Err: string };
}

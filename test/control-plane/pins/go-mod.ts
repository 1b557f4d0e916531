import { moduleOf } from '../go-modules.ts';
import type { Go } from './go.ts';

/** What we read of a go.mod: `go help mod edit` has the rest. */
export interface GoMod {
  readonly Module: { readonly Path: string };
  readonly Go?: string;
  readonly Require: readonly ModuleVersion[] | null;
  readonly Exclude: readonly ModuleVersion[] | null;
  readonly Replace: readonly { readonly Old: Partial<ModuleVersion>; readonly New: Partial<ModuleVersion> }[] | null;
  readonly Tool: readonly { readonly Path: string }[] | null;
}

interface ModuleVersion {
  readonly Path: string;
  readonly Version: string;
}

/** @throws Error when it is no go.mod */
export async function readGoMod(go: Go, file: string): Promise<GoMod> {
  const { code, stdout, stderr } = await go.run(['mod', 'edit', '-json', file]);
  if (code !== 0) throw new Error(`${file}: ${stderr.trim()}`);
  return JSON.parse(stdout) as GoMod;
}

/** The version that go.mod asks for; `undefined` where it asks for none. */
export function requiredVersion(goMod: GoMod, module: string): string | undefined {
  return goMod.Require?.find(({ Path }) => Path === module)?.Version;
}

/** The module of a tool. */
export function moduleOfTool({ Require }: GoMod, tool: string): string | undefined {
  return moduleOf(
    (Require ?? []).map(({ Path }) => Path),
    tool,
  );
}

/**
 * The modules that are folders of Kubernetes' own repository, and are published beside it. k8s.io/kubernetes replaces
 * each by its folder, or asks for v0.0.0 of it: neither means anything to another module.
 */
export function stagingModules({ Replace, Require }: GoMod): string[] {
  const replaced = (Replace ?? []).filter(({ New }) => New.Path?.startsWith('./staging/')).map(({ Old }) => Old.Path);
  const unversioned = (Require ?? []).filter(({ Path, Version }) => /^k8s\.io\//.test(Path) && Version === 'v0.0.0');
  return [...new Set([...replaced, ...unversioned.map(({ Path }) => Path)])]
    .filter((path) => path !== undefined)
    .sort();
}

/** What is another version in `after`: one line each, such as `k8s.io/api v0.36.1 -> v0.36.3`. */
export function differences(before: GoMod, after: GoMod): string[] {
  const [old, now] = [pins(before), pins(after)];
  return [...new Set([...old.keys(), ...now.keys()])]
    .filter((module) => old.get(module) !== now.get(module))
    .sort()
    .map((module) => `${module} ${old.get(module) ?? '(none)'} -> ${now.get(module) ?? '(none)'}`);
}

/** The version that is taken of each module: a replacement's, where there is one. */
function pins({ Go, Require, Exclude, Replace }: GoMod): Map<string, string> {
  const pinned = new Map(Require?.map(({ Path, Version }) => [Path, Version]));
  for (const { Old, New } of Replace ?? []) {
    if (Old.Path) pinned.set(Old.Path, [...(New.Path === Old.Path ? [] : [New.Path]), New.Version].join(' '));
  }
  for (const { Path, Version } of Exclude ?? []) pinned.set(`${Path}@${Version}`, 'excluded');
  if (Go) pinned.set('go', Go);
  return pinned;
}

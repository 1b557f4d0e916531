import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Workspace } from '../workspace.ts';
import { createDraft, type Draft } from './draft.ts';
import type { Go } from './go.ts';
import { type GoMod, moduleOfTool, readGoMod, requiredVersion, stagingModules } from './go-mod.ts';
import { firstServed, listVersions, type Served } from './registry.ts';
import { repair } from './repair.ts';
import { settle } from './settle.ts';
import { Unobtainable } from './unobtainable.ts';
import { minorOf, patchesOf } from './versions.ts';

const KUBERNETES_MODULE = 'k8s.io/kubernetes';

/**
 * The go.mod of a minor version of Kubernetes with the newest patch that is served with all that it is built of, and so
 * with the other tools, each within its minor version.
 *
 * @param folder of this minor version, such as `…/kubernetes-1.36`; it need not be there
 * @param minor such as `1.36`
 * @param template the folder whose tools a new one has
 * @param report gets one line for each patch that cannot be had
 * @throws Unobtainable when there is no such patch
 */
export async function draftKubernetes(
  go: Go,
  workspace: Workspace,
  {
    folder,
    minor,
    template,
    report,
  }: { folder: string; minor: string; template: string; report: (line: string) => void },
): Promise<Draft> {
  const present = existsSync(folder) && requiredVersion(await readGoMod(go, join(folder, 'go.mod')), KUBERNETES_MODULE);
  const listed = await listVersions(go, KUBERNETES_MODULE);
  // What is not listed any more may be served all the same.
  const patches = patchesOf([...new Set([...listed, ...(present ? [present] : [])])], minor);
  for (const version of patches) {
    const served = await firstServed(go, KUBERNETES_MODULE, [version]);
    try {
      if (!served) throw new Unobtainable(`${KUBERNETES_MODULE} ${version} is listed but not served`);
      return existsSync(folder)
        ? await raise(go, createDraft(workspace, folder), folder, served)
        : await begin(go, createDraft(workspace, template, folder), folder, served);
    } catch (error) {
      if (!(error instanceof Unobtainable)) throw error;
      report(`Kubernetes ${version} cannot be had: ${error.message}`);
    }
  }
  throw new Unobtainable(`no patch of Kubernetes ${minor} can be had (${patches.join(', ') || 'there is none'})`);
}

async function raise(go: Go, draft: Draft, folder: string, kubernetes: Served): Promise<Draft> {
  const { edits, held } = await pin(go, await readGoMod(go, join(draft.folder, 'go.mod')), kubernetes);
  if (edits.length === 0) {
    await repair(go, draft, folder, held);
  } else {
    await edit(go, draft, edits);
    await settle(go, draft.folder, held);
  }
  return draft;
}

/** From another one's go.mod: only its comment, its tools and the modules of these are of use. */
async function begin(go: Go, draft: Draft, folder: string, kubernetes: Served): Promise<Draft> {
  const template = await readGoMod(go, join(draft.folder, 'go.mod'));
  const tools = (template.Tool ?? []).map(({ Path }) => moduleOfTool(template, Path));
  await edit(go, draft, [
    `-module=${dirname(template.Module.Path)}/${basename(folder)}`,
    ...(template.Require ?? []).filter(({ Path }) => !tools.includes(Path)).map(({ Path }) => `-droprequire=${Path}`),
    ...(template.Exclude ?? []).map(({ Path, Version }) => `-dropexclude=${Path}@${Version}`),
  ]);
  return raise(go, draft, folder, kubernetes);
}

/** What is to be changed of a go.mod for this version: nothing, if it has it already. */
async function pin(go: Go, goMod: GoMod, kubernetes: Served): Promise<{ edits: string[]; held: string[] }> {
  const staging = stagingModules(await readGoMod(go, kubernetes.goMod));
  const replacement = kubernetes.version.replace(/^v1\./, 'v0.');
  const replaced = new Map((goMod.Replace ?? []).map(({ Old, New }) => [Old.Path, New.Version]));
  const isStale = (module = '') => module.startsWith('k8s.io/') && !staging.includes(module);
  const outdated =
    requiredVersion(goMod, KUBERNETES_MODULE) !== kubernetes.version ||
    staging.some((module) => replaced.get(module) !== replacement);
  const edits = outdated
    ? [
        `-require=${KUBERNETES_MODULE}@${kubernetes.version}`,
        ...staging.map((module) => `-replace=${module}=${module}@${replacement}`),
        ...[...replaced.keys()].filter(isStale).map((module) => `-dropreplace=${module}`),
        // What go.mod asks for besides is of no effect, and would look like another version.
        ...staging.map((module) => `-droprequire=${module}`),
      ]
    : [];
  for (const [module, version] of await newestOfTools(go, goMod)) {
    if (requiredVersion(goMod, module) !== version) edits.push(`-require=${module}@${version}`);
  }
  return { edits, held: [KUBERNETES_MODULE, ...staging] };
}

/** The newest served patch of the module of each tool that is not of Kubernetes, such as etcd. */
async function newestOfTools(go: Go, goMod: GoMod): Promise<Map<string, string>> {
  const newest = new Map<string, string>();
  for (const { Path } of goMod.Tool ?? []) {
    const module = moduleOfTool(goMod, Path);
    const present = module && requiredVersion(goMod, module);
    if (!module || !present || module === KUBERNETES_MODULE) continue;
    const versions = [...new Set([...(await listVersions(go, module)), present])];
    const served = await firstServed(go, module, patchesOf(versions, minorOf(present)));
    if (!served) throw new Unobtainable(`no patch of ${module} ${minorOf(present)} is served`);
    newest.set(module, served.version);
  }
  return newest;
}

async function edit(go: Go, draft: Draft, edits: readonly string[]): Promise<void> {
  const { code, stderr } = await go.run(['mod', 'edit', ...edits], draft.folder);
  if (code !== 0) throw new Error(`\`go mod edit\`: ${stderr.trim()}`);
}

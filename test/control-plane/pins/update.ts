import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CONFORMANCE_FOLDER } from '../conformance.ts';
import { OTHER_VERSIONS, OUR_MINOR, otherKubernetes } from '../kubernetes.ts';
import { createWorkspace, type Workspace } from '../workspace.ts';
import { createDraft, type Draft } from './draft.ts';
import { type Go, startGo } from './go.ts';
import { differences, readGoMod } from './go-mod.ts';
import { goModFolders } from './go-mod-folders.ts';
import { draftKubernetes } from './kubernetes-pins.ts';
import { repair } from './repair.ts';

/**
 * Brings go.mod and go.sum to what is served. Those of Kubernetes get the newest patch of their minor version, of
 * etcd's and of Helm's; in all of them another version is taken of what is not served any more.
 *
 *     npm run control-plane:update                     all of them
 *     npm run control-plane:update 1.36 promtool       these: a minor version of Kubernetes, or a folder's name
 *     npm run control-plane:update 1.38                a minor version that has no folder yet gets one, with kube-apiserver alone
 */
const CONTROL_PLANE = join(import.meta.dirname, '..');

const KUBERNETES_FOLDER = /^kubernetes-(\d+\.\d+)$/;

async function update(names: readonly string[]): Promise<void> {
  const folders = goModFolders();
  const targets = names.length === 0 ? folders : names.map((name) => resolveTarget(name, folders));
  const workspace = createWorkspace('pins');
  try {
    const go = await startGo(workspace);
    for (const folder of targets) {
      try {
        await updateOne(go, workspace, folder);
      } catch (error) {
        // The others are repaired all the same.
        fail(`${basename(folder)} stays as it is: ${error instanceof Error ? error.message : error}`);
      }
    }
  } finally {
    workspace.remove();
  }
}

async function updateOne(go: Go, workspace: Workspace, folder: string): Promise<void> {
  const name = basename(folder);
  const isNew = !existsSync(folder);
  const minor = folder === CONFORMANCE_FOLDER ? OUR_MINOR : KUBERNETES_FOLDER.exec(name)?.[1];
  const draft = minor
    ? await draftKubernetes(go, workspace, {
        folder,
        minor,
        template: otherKubernetes(OTHER_VERSIONS[0]).folder,
        report: print,
      })
    : await repaired(go, createDraft(workspace, folder), folder);
  if (!draft.isChanged()) return print(`${name}: nothing to change`);
  const after = await readGoMod(go, join(draft.folder, 'go.mod'));
  const lines = isNew ? [] : differences(await readGoMod(go, join(folder, 'go.mod')), after);
  draft.install();
  if (isNew) {
    const kubernetes = after.Require?.find(({ Path }) => Path === 'k8s.io/kubernetes')?.Version;
    print(`${name}: a new folder, with Kubernetes ${kubernetes}; test/control-plane/kubernetes.ts has to name it`);
  } else {
    print(`${name}: ${lines.length > 0 ? 'changed' : 'only go.sum changed'}`);
    for (const line of lines) print(`  ${line}`);
  }
}

async function repaired(go: Go, draft: Draft, folder: string): Promise<Draft> {
  await repair(go, draft, folder);
  return draft;
}

/** @throws Error when there is no such folder */
function resolveTarget(name: string, folders: readonly string[]): string {
  if (/^\d+\.\d+$/.test(name)) return join(CONTROL_PLANE, `kubernetes-${name}`);
  const found = folders.find((folder) => basename(folder) === name);
  if (!found)
    throw new Error(
      `${name} is no minor version, such as 1.36, and none of ${folders.map((folder) => basename(folder)).join(', ')}`,
    );
  return found;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function fail(reason: string): void {
  process.stderr.write(`error: ${reason}\n`);
  process.exitCode = 1;
}

try {
  await update(process.argv.slice(2));
} catch (error) {
  fail(error instanceof Error ? error.message : `${error}`);
}

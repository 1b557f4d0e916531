import { createWorkspace } from '../workspace.ts';
import { startGo } from './go.ts';
import { goModFolders, goModName } from './go-mod-folders.ts';
import { buildTags, findNeeds } from './needs.ts';

/**
 * Whether a machine that has nothing yet could build all that is built from Go modules. Downloads every module that
 * takes, 2.5 GB unpacked, into a temporary folder, and names what the registry does not serve any more.
 *
 *     npm run control-plane:check
 */
async function check(): Promise<void> {
  const workspace = createWorkspace('pins');
  try {
    const go = await startGo(workspace);
    const folders = goModFolders();
    const there = new Set<string>();
    const missing = new Map<string, string[]>();
    const complaints: string[] = [];
    for (const folder of folders) {
      const needs = await findNeeds(go, folder, buildTags(folder));
      const name = goModName(folder);
      for (const module of needs.modules) there.add(module);
      for (const { module, version, word } of needs.missing) {
        const line = `${module} ${version}: ${word}`;
        missing.set(line, [...(missing.get(line) ?? []), name]);
      }
      const [complaint, ...more] = needs.complaints;
      if (complaint) complaints.push(`${name}: ${complaint}${more.length > 0 ? `\n  (and ${more.length} more)` : ''}`);
    }
    for (const [line, names] of missing) print(`${line} (${names.join(', ')})`);
    for (const complaint of complaints) print(complaint);
    if (missing.size + complaints.length === 0) {
      print(`all that is needed is served: ${there.size} modules for ${folders.length} go.mod files`);
      return;
    }
    if (missing.size > 0)
      print('more may be missing behind these; `npm run control-plane:update` takes other versions');
    process.exitCode = 1;
  } finally {
    workspace.remove();
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

try {
  await check();
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}

import { join } from 'node:path';
import type { Go } from './go.ts';
import { readGoMod, requiredVersion } from './go-mod.ts';
import type { Missing } from './missing.ts';
import { parseMissing } from './missing.ts';
import { firstServed, listVersions } from './registry.ts';
import { remedyFor } from './remedy.ts';
import { Unobtainable } from './unobtainable.ts';
import { substitutesFor } from './versions.ts';

/** Each round comes one missing module further at least. A tree that has lost more is beyond repair. */
const MOST_ROUNDS = 100;

/**
 * Makes go.mod and go.sum complete with versions that are served: tidies, takes other versions of what is missing, and
 * tidies again until Go is content.
 *
 * @param held modules that keep the version they have: it belongs to that of another one
 * @throws Unobtainable when there is nothing instead of what is missing
 * @throws Error when something else is wrong, in Go's words
 */
export async function settle(go: Go, folder: string, held: readonly string[]): Promise<void> {
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const tidied = await go.run(['mod', 'tidy'], folder);
    if (tidied.code === 0) return;
    const error = tidied.stderr.replaceAll(/^go: downloading .*\n/gm, '').trim();
    const missing = parseMissing(error);
    if (missing.length === 0) throw new Error(`\`go mod tidy\`: ${error}`);
    for (const each of missing) await repair(go, folder, each, held);
  }
  throw new Unobtainable(`after ${MOST_ROUNDS} rounds there still are modules that are not served`);
}

async function repair(go: Go, folder: string, missing: Missing, held: readonly string[]): Promise<void> {
  const { module, version } = missing;
  const lost = `${module} ${version} is not served (${missing.word})`;
  if (held.includes(module)) throw new Unobtainable(lost);
  const goMod = await readGoMod(go, join(folder, 'go.mod'));
  const exclusion = `-exclude=${module}@${version}`;
  let edit = exclusion;
  if (remedyFor(missing, goMod) === 'require') {
    const substitute = await firstServed(go, module, substitutesFor(version, await listVersions(go, module)));
    if (!substitute) throw new Unobtainable(`${lost}, and no other version is`);
    // An earlier one that is required already is of no use while another module asks for the missing one. Excluded, it is
    // asked for no more, and whether the earlier one will do is for the build to tell.
    const requirement = `-require=${module}@${substitute.version}`;
    edit = substitute.version === requiredVersion(goMod, module) ? exclusion : requirement;
  }
  const { code, stderr } = await go.run(['mod', 'edit', edit], folder);
  if (code !== 0) throw new Error(`\`go mod edit ${edit}\`: ${stderr.trim()}`);
}

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { exitFor } from '../control-plane/provide-or-exit.ts';
import { PLACES } from './places.ts';

/**
 * Runs the tests of places, in the way of `npm test`. Linux only, as root.
 *
 *     npm run test:places                       of all places
 *     npm run test:places -- talos [OPTION...]  of one; with any option of `vitest run`
 */
const args = process.argv.slice(2);
const firstOption = args.findIndex((arg) => arg.startsWith('-'));
const [asked, options] = firstOption < 0 ? [args, []] : [args.slice(0, firstOption), args.slice(firstOption)];
const unknown = asked.filter((name) => !Object.hasOwn(PLACES, name));
if (unknown.length > 0) {
  const known = Object.entries(PLACES).map(([name, { what }]) => `${name} (${what})`);
  exitFor(`no place ${unknown.join(', ')}: there are ${known.join(', ')}`);
}
const runner = join(import.meta.dirname, '..', 'runner', 'run.ts');
const folders = asked.map((name) => `test/places/${name}/`);
const command = [runner, '--project', 'places', ...folders, ...options];
const { status } = spawnSync(process.execPath, command, { stdio: 'inherit' });
process.exitCode = status ?? 1;

import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, run } from './run.ts';

/** What of this project's package.json goes into that of the package. */
const KEPT = [
  'name',
  'version',
  'description',
  'license',
  'keywords',
  'repository',
  'homepage',
  'bugs',
  'engines',
  'type',
];

/**
 * Packs the bundle as an npm package without dependencies and without install scripts: what is needed is in it.
 * @param bundle the folder that rolldown has written
 * @param folder where the package's files are laid out, and the archive is written
 * @returns the archive's path
 */
export function packNpmPackage(bundle: string, folder: string): string {
  const contents = join(folder, 'npm');
  mkdirSync(contents, { recursive: true });
  for (const file of readdirSync(bundle)) cpSync(join(bundle, file), join(contents, file));
  for (const file of ['LICENSE', 'README.md', 'CHANGELOG.md']) cpSync(join(ROOT, file), join(contents, file));
  writeFileSync(join(contents, 'package.json'), `${JSON.stringify(manifest(), undefined, 2)}\n`);
  const packed = run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: contents });
  const { filename } = (Object.values(JSON.parse(packed)) as { filename: string }[])[0] ?? { filename: '' };
  return join(folder, filename);
}

function manifest(): Record<string, unknown> {
  const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, unknown>;
  const kept = Object.fromEntries(KEPT.filter((field) => field in own).map((field) => [field, own[field]]));
  return { ...kept, type: 'commonjs', bin: { taintkeeper: 'taintkeeper.cjs' } };
}

/**
 * Installs the archive into an empty folder, without a registry.
 * @returns the path of the command
 */
export function installNpmPackage(archive: string, folder: string): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{}\n');
  run('npm', ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', archive], { cwd: folder });
  return join(folder, 'node_modules', '.bin', 'taintkeeper');
}

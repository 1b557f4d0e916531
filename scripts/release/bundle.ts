import { join } from 'node:path';
import { ROOT, run } from './run.ts';

/** Bundles the program as it is shipped, without touching `dist`. @returns the folder */
export function buildBundle(folder: string): string {
  const bundle = join(folder, 'bundle');
  run('npx', ['--no-install', 'rolldown', '--config', 'rolldown.config.ts', '--dir', bundle], { cwd: ROOT });
  return bundle;
}

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..', '..');

/** The folders of all our go.mod files, those that are not committed yet among them. */
export function goModFolders(): string[] {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', '*go.mod'];
  const files = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).split('\n').filter(Boolean);
  return [...new Set(files.map((file) => join(ROOT, dirname(file))))].filter((folder) =>
    existsSync(join(folder, 'go.mod')),
  );
}

/** As it is named from the root of the project. */
export function goModName(folder: string): string {
  return join(folder, 'go.mod').slice(ROOT.length + 1);
}

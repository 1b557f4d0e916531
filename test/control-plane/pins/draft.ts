import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Workspace } from '../workspace.ts';

const FILES = ['go.mod', 'go.sum'];

/** A copy of a folder with a go.mod to work on. */
export interface Draft {
  readonly folder: string;
  isChanged(): boolean;
  /** Puts go.mod and go.sum in the place of those in the folder, which is made if there is none. */
  install(): void;
}

/**
 * Copies a folder, so that nothing is lost when the work on it fails.
 *
 * @param to where the result will be; the folder itself, if it is not another one
 */
export function createDraft(workspace: Workspace, from: string, to = from): Draft {
  const folder = workspace.path(`draft-${basename(to)}`);
  cpSync(from, folder, { recursive: true, force: true });
  const read = (place: string) => FILES.map((file) => readFileSync(join(place, file), 'utf8')).join('\0');
  return {
    folder,
    isChanged: () => !existsSync(to) || read(folder) !== read(to),
    install: () => {
      mkdirSync(to, { recursive: true });
      // Both are written before the first is put in its place: what is left to fail then is next to nothing.
      for (const file of FILES) writeFileSync(join(to, `.${file}.new`), readFileSync(join(folder, file)));
      for (const file of FILES) renameSync(join(to, `.${file}.new`), join(to, file));
    },
  };
}

import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { InputError } from '../files/input-error.ts';
import { makeDirectory } from '../files/make-directory.ts';
import type { NativeCapabilities } from '../policy/native/kubernetes-version.ts';
import { type ExportedManifests, formatExport } from './export-output.ts';

const FOLDERS = { validating: 'ValidatingAdmissionPolicy', mutating: 'MutatingAdmissionPolicy' } as const;
const FILE = 'taintkeeper.yaml';

/**
 * Writes the manifests for the API server, which reads each kind from a folder of its own and refuses to start over any other. A
 * running one reads a changed file at once, and so never sees half of it. Where there is nothing of a kind the file is empty.
 * @returns the paths of the files
 * @throws InputError if it cannot write
 */
export async function writeStaticManifests(
  directory: string,
  exported: readonly ExportedManifests[],
  capabilities: NativeCapabilities,
): Promise<string[]> {
  return Promise.all(
    Object.entries(FOLDERS).map(async ([folder, kind]) => {
      const ofKind = exported
        .map((one) => ({ ...one, manifests: one.manifests.filter((manifest) => manifest.kind.startsWith(kind)) }))
        .filter(({ manifests }) => manifests.length > 0);
      const path = join(directory, folder, FILE);
      try {
        await makeDirectory(join(directory, folder));
        await writeFile(`${path}.new`, formatExport(ofKind, capabilities));
        await rename(`${path}.new`, path);
      } catch (error) {
        throw new InputError([`cannot write ${path}: ${(error as Error).message}`]);
      }
      return path;
    }),
  );
}

import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { KUBECTL_YAML } from '../../files/documents.ts';
import { InputError } from '../../files/input-error.ts';
import { makeDirectory } from '../../files/make-directory.ts';
import { yamlText } from '../../files/printed-data.ts';
import { reasonOf } from '../../files/text-files.ts';
import type { ExportedPolicy } from '../../native/export-policies.ts';
import type { NativeManifest } from '../../native/manifests.ts';
import type { NativeCapabilities } from '../../native/native-capabilities.ts';
import { purposeOf } from '../../native/native-parts.ts';
import { printable } from '../../text/printable.ts';
import { asComments } from '../output/format.ts';

/** The objects of a policy, and what they do not do. */
export interface ExportedManifests extends Pick<ExportedPolicy, 'source' | 'limits'> {
  readonly manifests: readonly NativeManifest[];
}

/** A YAML stream for `kubectl apply`, with comments on the purpose of each object, and on what none of them does. */
export function formatExport(exported: readonly ExportedManifests[], { version }: NativeCapabilities): string {
  return exported
    .flatMap(({ source, limits, manifests }) => {
      const heading = [
        `${source.kind} ${source.name}, for Kubernetes ${version}; written by taintkeeper export.`,
        ...(limits.length > 0 ? ['What the policy does and these objects do not:', ...limits.map(formatLimit)] : []),
      ];
      if (manifests.length === 0) return [asComments(heading)];
      return manifests.map((manifest, index) => {
        const lines = [
          ...(index === 0 ? [...heading, ''] : []),
          `${source.kind} ${source.name}: ${purposeOf(source, manifest)}`,
        ];
        return `${asComments(lines)}${yamlText(manifest, KUBECTL_YAML)}`;
      });
    })
    .join('---\n');
}

/** As one object, without comments. */
export function exportAsObject(exported: readonly ExportedManifests[]): object {
  return { apiVersion: 'v1', kind: 'List', items: exported.flatMap(({ manifests }) => manifests) };
}

/** What the objects do not do, a line each. */
export function limitsOf({ source, limits }: ExportedManifests): string[] {
  return limits.map(({ field, message }) => printable(`${source.kind} ${source.name}: ${field}: ${message}`));
}

function formatLimit({ field, message }: ExportedPolicy['limits'][number]): string {
  return `- ${field}: ${message}`;
}

const FOLDERS = { validating: 'ValidatingAdmissionPolicy', mutating: 'MutatingAdmissionPolicy' } as const;
const FILE = 'taintkeeper.yaml';

/**
 * Writes manifests for the API server, which reads each kind from its own folder and does not start if there is another kind. Each file is
 * replaced at once, because a running API server reads changed files immediately. The file of a kind without objects is empty.
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
        throw new InputError([`cannot write ${path}: ${reasonOf(error)}`]);
      }
      return path;
    }),
  );
}

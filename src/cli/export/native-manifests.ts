import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Document } from 'yaml';
import { KUBECTL_YAML } from '../../files/documents.ts';
import { yamlText } from '../../files/printed-data.ts';
import { InputError, makeDirectory, reasonOf } from '../../files/text-files.ts';
import { printable } from '../../kubernetes/text.ts';
import type { NativeManifest } from '../../native/native-policy.ts';
import type { ExportedPolicy, NativeCapabilities } from '../../native/translate.ts';
import type { Policy } from '../../policy/policy.ts';
import { asComments } from '../output/format.ts';

/** The objects of a policy, and what they do not do. */
export interface ExportedManifests extends Pick<ExportedPolicy, 'source' | 'limits'> {
  readonly manifests: readonly NativeManifest[];
}

/** The purpose of an object, by the part of its name after the policy's. */
const PURPOSES: Readonly<Record<string, string>> = {
  protect: 'refuses updates of nodes that remove a protected taint',
  report: 'reports updates of nodes that remove a protected taint',
  restore: 'restores taints that an update of a node removes',
  disallow: 'deletes the annotation allow-removal from a node that registers',
  register: 'sets the required taints when a node registers',
  select: 'sets the required taints when a change of labels makes the policy select a node',
  'report-registration': 'reports a new node that lacks a required taint',
  tolerate: 'adds tolerations to DaemonSets that are created, or whose pod template changes',
  'report-tolerations': 'reports DaemonSets that lack tolerations',
  'authorize-pods': 'asks who may tolerate, when a pod is created',
  'warn-workloads': 'warns users who write a template of pods that may not',
};

const TIDIES = 'removes the entries of a taint that was removed on purpose from the annotation of the node';

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
        const document = new Document(manifest, KUBECTL_YAML);
        const lines = [
          ...(index === 0 ? [...heading, ''] : []),
          `${source.kind} ${source.name}: ${purposeOf(source, manifest)}`,
        ];
        return `${asComments(lines)}${yamlText(document)}`;
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

function purposeOf(source: Policy, { kind, metadata: { name } }: NativeManifest): string {
  if (kind.endsWith('Binding')) return 'puts the policy above in force';
  const [part = ''] = name
    .replace(/\.taintkeeper\.dev(\.static\.k8s\.io)?$/, '')
    .split('.')
    .slice(-1);
  // Only a policy in mode Restore restores. In other modes, the mutation removes used entries of the annotation.
  if (part === 'restore' && !(source.kind === 'TaintPolicy' && source.spec.mode === 'Restore')) return TIDIES;
  return PURPOSES[part] ?? part;
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

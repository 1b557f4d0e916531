import type { SourceDocument } from '../files/documents.ts';
import { InputError, readBoundedText } from '../files/text-files.ts';
import { isMapping, valueAt } from '../kubernetes/json.ts';
import type { Path } from '../policy/problem.ts';
import { type FieldLocation, type Located, type Malformed, malformed } from './field-location.ts';
import { type FileLabel, malformedAnnotations, readLabels } from './file-labels.ts';
import { type FileTaint, readTaints } from './file-taints.ts';
import { unwrapped } from './live-configuration.ts';
import { declaring, directives, isPatchOnly } from './patches.ts';
import { tabs } from './tabs.ts';
import { booleanAt, kindOf, parseTalosDocuments, textAt } from './tree.ts';

/** The fields of the document without a kind. */
const ROOT_FIELDS = ['version', 'debug', 'persist', 'machine', 'cluster'] as const;

/** A file that is neither a machine configuration of Talos nor a patch of one. */
export class ForeignFileError extends InputError {
  override name = 'ForeignFileError';
}

/** @throws ForeignFileError for a document that Talos does not know */
function requireOwn(document: SourceDocument): void {
  const fault = foreignness(document.value);
  if (fault !== undefined) throw new ForeignFileError([`${document.locate([])}: ${fault}`]);
}

/** Kinds that occur at most once, of those that concern nodes. Undefined is the machine configuration itself. */
const SINGLE: readonly unknown[] = [undefined, 'KubeNodeConfig', 'KubeletConfig', 'HostnameConfig'];

/**
 * Talos refuses a second one (container.New of its machinery), and here the taints of one machine would count for another.
 * @throws InputError for two machine configurations in one file
 */
function requireSingle(documents: readonly SourceDocument[]): void {
  const seen = new Map<unknown, SourceDocument>();
  for (const document of documents) {
    const { value } = document;
    if (!isMapping(value) || value.$patch === 'delete' || !SINGLE.includes(value.kind)) continue;
    const first = seen.get(value.kind);
    if (first) {
      const what = value.kind === undefined ? 'machine configuration' : value.kind;
      throw new InputError([
        `${document.locate([])}: a second ${what} in one file (the first: ${first.locate([])}): give each machine a file of its own`,
      ]);
    }
    seen.set(value.kind, document);
  }
}

function foreignness(value: unknown): string | undefined {
  if (!isMapping(value)) return 'expected a machine configuration of Talos, or a patch of one';
  if (isMapping(value.sops)) return 'this is encrypted by SOPS: decrypt it first, and pass it by standard input';
  if (SECRETS_BUNDLE.every((field) => Object.hasOwn(value, field))) {
    return 'these are the secrets of a cluster (talosctl gen secrets), and no machine configuration';
  }
  if (value.kind !== undefined) {
    return value.apiVersion === 'v1alpha1'
      ? undefined
      : 'this is no document of Talos: those have apiVersion: v1alpha1';
  }
  return ROOT_FIELDS.some((field) => Object.hasOwn(value, field))
    ? undefined
    : 'this is no machine configuration of Talos, nor a patch of one: it has neither machine nor cluster';
}

/** From `talosctl gen secrets`, which also has a section `cluster`. */
const SECRETS_BUNDLE: readonly string[] = ['certs', 'secrets'];

/** `init`, of a cluster's first machine in early versions, counts as controlplane. */
export type MachineRole = 'controlplane' | 'worker';

/**
 * The content of one file about a machine: a whole machine configuration or a patch of one, in each form of Talos 1.3 to 1.15.
 */
export interface MachineConfiguration {
  /** The file. */
  readonly source: string;
  /** `machine.type`; undefined in a patch without it. */
  readonly role: MachineRole | undefined;
  /** True for a patch that Talos merges: an absent field then means nothing. */
  readonly isPatch: boolean;
  /** True for what is a whole configuration for certain: it has the CA of the machine, which Talos requires. */
  readonly isWhole: boolean;
  /** Where a whole configuration has `$patch`, which Talos reads in patches only. */
  readonly directives: readonly FieldLocation[];
  readonly taints: readonly FileTaint[];
  readonly labels: readonly FileLabel[];
  /** Also `allowSchedulingOnMasters`, its name before Talos 1.2. */
  readonly allowSchedulingOnControlPlanes: Located<boolean> | undefined;
  /** What cannot be used, in the order of the file. */
  readonly malformed: readonly Malformed[];
  /** The declarations of the file; for patches, without what they delete. */
  readonly documents: readonly SourceDocument[];
}

/**
 * Reads one file's documents.
 * @param source names the file
 * @param text the file, if it is to be searched for what only Talos' parser refuses
 * @throws InputError for a document that belongs to no machine configuration or patch, and for a second one of a kind
 */
export function readMachineConfiguration(
  documents: readonly SourceDocument[],
  source: string,
  text = '',
): MachineConfiguration {
  const declared = documents.flatMap(declaring);
  declared.forEach(requireOwn);
  requireSingle(documents);
  const type = firstOf(declared, MACHINE_TYPE, textAt);
  const role = type && Object.hasOwn(ROLES, type.value) ? ROLES[type.value] : undefined;
  const isTyped = type !== undefined && type.value !== '';
  const isWhole = isTyped && documents.some(({ value }) => valueAt(value, ['machine', 'ca']) != null);
  const taints = declared.map(readTaints);
  const labels = declared.map(readLabels);
  return {
    source,
    role,
    isPatch: !isTyped || (!isWhole && documents.some(isPatchOnly)),
    isWhole,
    directives: isWhole ? documents.flatMap(directives) : [],
    taints: taints.flatMap(({ found }) => found),
    labels: labels.flatMap(({ found }) => found),
    allowSchedulingOnControlPlanes: readSchedulingOnControlPlanes(declared),
    malformed: [
      ...tabs(text, source),
      ...(isTyped && !role ? [malformed(type, 'there is no such type of machine', 'controlplane or worker')] : []),
      ...[...taints, ...labels].flatMap((each) => each.malformed),
      ...declared.flatMap(malformedAnnotations),
    ],
    documents: declared,
  };
}

const MACHINE_TYPE: Path = ['machine', 'type'];

/** `machine.type`, by ParseType of Talos' machinery. */
const ROLES: Readonly<Record<string, MachineRole>> = {
  init: 'controlplane',
  controlplane: 'controlplane',
  worker: 'worker',
  // The name of workers before Talos 0.13, which Talos still accepts.
  join: 'worker',
};

function readSchedulingOnControlPlanes(documents: readonly SourceDocument[]): Located<boolean> | undefined {
  for (const field of ['allowSchedulingOnControlPlanes', 'allowSchedulingOnMasters']) {
    const declared = firstOf(documents, ['cluster', field], booleanAt);
    if (declared) return declared;
  }
  return undefined;
}

/** The first of the documents without a kind that has a value there. */
function firstOf<T>(
  documents: readonly SourceDocument[],
  path: Path,
  read: (document: SourceDocument, path: Path) => T | undefined,
): Located<T> | undefined {
  for (const document of documents) {
    const value = kindOf(document) === undefined ? read(document, path) : undefined;
    if (value !== undefined) return { value, document, path };
  }
  return undefined;
}

/**
 * The maximum size of a file in bytes. Inline manifests make the largest configurations, some hundred kilobytes. Parsing YAML of this size takes
 * about a second.
 */
const MAX_CONFIGURATION_BYTES = 2 * 1024 * 1024;

/**
 * Reads machine configurations and patches, one from each file; `-` is standard input.
 * @throws InputError with one line for each unusable file. It quotes nothing of a file, because most of it is secret
 */
export async function readMachineConfigurations(files: readonly string[]): Promise<MachineConfiguration[]> {
  const faults: string[] = [];
  const configurations: MachineConfiguration[] = [];
  for (const file of files) {
    try {
      configurations.push((await readMachineConfigurationText(file)).configuration);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      // The first error is the cause of the others.
      faults.push(...error.faults.slice(0, 1));
    }
  }
  if (faults.length > 0) throw new InputError(faults);
  return configurations;
}

/**
 * Reads one file, or standard input (`-`): a machine configuration, or what `talosctl get machineconfig -o yaml` prints.
 * @throws InputError for an unusable file; its subclass ForeignFileError for a file that is not Talos'
 */
export async function readMachineConfigurationText(
  file: string,
): Promise<{ readonly configuration: MachineConfiguration; readonly text: string }> {
  const source = file === '-' ? 'standard input' : file;
  const text = await readBoundedText(file, MAX_CONFIGURATION_BYTES);
  const documents = unwrapped(parseTalosDocuments(text, source), text, source);
  if (documents.length === 0)
    throw new ForeignFileError([`${source}: there is nothing in it: expected a machine configuration`]);
  return { configuration: readMachineConfiguration(documents, source, text), text };
}

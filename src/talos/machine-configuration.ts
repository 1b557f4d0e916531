import type { SourceDocument } from '../files/documents.ts';
import { valueAt } from '../kubernetes/json.ts';
import type { Path } from '../policy/problem.ts';
import { requireOwn, requireSingle } from './accepted-documents.ts';
import { booleanAt, kindOf, textAt } from './document-values.ts';
import { type FieldLocation, type Located, type Malformed, malformed } from './field-location.ts';
import { malformedAnnotations } from './file-annotations.ts';
import { type FileLabel, readLabels } from './file-labels.ts';
import { type FileTaint, readTaints } from './file-taints.ts';
import { declaring, directives, isPatchOnly } from './patches.ts';
import { tabs } from './tabs.ts';

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

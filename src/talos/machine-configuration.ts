import type { SourceDocument } from '../files/documents.ts';
import { InputError } from '../files/input-error.ts';
import type { Path } from '../policy/problem.ts';
import type { Declared, Malformed } from './declared.ts';
import { type DeclaredLabel, type LabelShape, readLabels } from './declared-labels.ts';
import { readTaints, type TaintShape } from './declared-taints.ts';
import { requireOwn, requireSingle } from './own-documents.ts';
import { declaring, isPatchOnly } from './patches.ts';
import type { DeclaredTaint } from './taint-notation.ts';
import { booleanAt, kindOf, valueAt } from './tree.ts';

/** `init`, of a cluster's first machine in the days of old, counts as controlplane. */
export type MachineRole = 'controlplane' | 'worker';

/**
 * What one file says about a machine: a whole machine configuration or a patch of one, in whichever shape of Talos 1.3 to
 * 1.15.
 */
export interface MachineConfiguration {
  /** The file. */
  readonly source: string;
  /** Of `machine.type`; undefined in a patch that does not say. */
  readonly role: MachineRole | undefined;
  /** True for what Talos merges into something else: that something is absent there means nothing. */
  readonly isPatch: boolean;
  readonly taints: readonly (Declared<DeclaredTaint> & { readonly shape: TaintShape })[];
  readonly labels: readonly (Declared<DeclaredLabel> & { readonly shape: LabelShape })[];
  /** Also of `allowSchedulingOnMasters`, its name before Talos 1.2. */
  readonly allowSchedulingOnControlPlanes: Declared<boolean> | undefined;
  /** Taints and labels that cannot be read, in the order of the file. */
  readonly malformed: readonly Malformed[];
  /** What the file declares: of patches, without what they delete. */
  readonly documents: readonly SourceDocument[];
}

/**
 * Reads one file's documents.
 * @param source names the file
 * @throws InputError for a document that is no part of a machine configuration, nor of a patch, and for one too many
 */
export function readMachineConfiguration(documents: readonly SourceDocument[], source: string): MachineConfiguration {
  const declared = documents.flatMap(declaring);
  declared.forEach(requireOwn);
  requireSingle(documents);
  const role = firstOf(declared, ['machine', 'type'], readRole)?.value;
  const taints = declared.map(readTaints);
  const labels = declared.map(readLabels);
  return {
    source,
    role,
    isPatch: role === undefined || documents.some(isPatchOnly),
    taints: taints.flatMap(({ found }) => found),
    labels: labels.flatMap(({ found }) => found),
    allowSchedulingOnControlPlanes: readSchedulingOnControlPlanes(declared),
    malformed: [...taints, ...labels].flatMap(({ malformed }) => malformed),
    documents: declared,
  };
}

const ROLES: Readonly<Record<string, MachineRole>> = {
  init: 'controlplane',
  controlplane: 'controlplane',
  worker: 'worker',
  // What workers were called before Talos 0.13, and still may be.
  join: 'worker',
};

/** @throws InputError for a type that Talos refuses (ParseType of its machinery): nothing could be said of such a machine */
function readRole(document: SourceDocument, path: Path): MachineRole | undefined {
  const text = String(valueAt(document.value, path) ?? '');
  if (text === '' || text === 'unknown') return undefined;
  if (!Object.hasOwn(ROLES, text)) {
    throw new InputError([`${document.locate(path)}: machine.type is controlplane or worker`]);
  }
  return ROLES[text];
}

function readSchedulingOnControlPlanes(documents: readonly SourceDocument[]): Declared<boolean> | undefined {
  for (const field of ['allowSchedulingOnControlPlanes', 'allowSchedulingOnMasters']) {
    const found = firstOf(documents, ['cluster', field], booleanAt);
    if (found) return found;
  }
  return undefined;
}

/** Of the documents without a kind, the first that says something there. */
function firstOf<T>(
  documents: readonly SourceDocument[],
  path: Path,
  read: (document: SourceDocument, path: Path) => T | undefined,
): Declared<T> | undefined {
  for (const document of documents) {
    const value = kindOf(document) === undefined ? read(document, path) : undefined;
    if (value !== undefined) return { value, document, path };
  }
  return undefined;
}

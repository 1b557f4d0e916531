import type { SourceDocument } from '../files/documents.ts';
import { isMapping, valueAt } from '../kubernetes/json.ts';
import { booleanAt, kindOf, textAt } from './document-values.ts';
import { below, type FieldLocation } from './field-location.ts';

/** The differences between a new configuration and the one that it replaces, and their effect in Talos. */
export interface Change {
  /** Fields of the document without a kind: `machine.type`, `cluster.etcd`, `machine.features.hostDNS`. */
  readonly fields: readonly string[];
  /** Kinds of documents of which one was added, removed or changed. */
  readonly kinds: readonly string[];
  /** Fields for which Talos reboots: `--mode=no-reboot` and `--mode=try` are refused, `--mode=auto` reboots. */
  readonly rebooting: readonly string[];
  /** Fields and kinds that are applied without a reboot, but may take effect only at the next one. */
  readonly late: readonly string[];
}

/** From this minor version on, Talos applies everything at once, and refuses `--mode=reboot` (ApplyConfiguration of its machined). */
export const NEVER_REBOOTS_SINCE = 14;

/** Fields that are applied without a reboot, and since which minor version (CanApplyImmediate of machined, at the tags v1.3.0 to v1.13.9). */
const WITHOUT_REBOOT: Readonly<Record<string, number>> = {
  debug: 3,
  cluster: 3,
  'machine.time': 3,
  'machine.certSANs': 3,
  'machine.install': 3,
  'machine.network': 3,
  'machine.sysfs': 3,
  'machine.sysctls': 3,
  'machine.logging': 3,
  'machine.controlPlane': 3,
  'machine.kubelet': 3,
  'machine.kernel': 3,
  'machine.registries': 3,
  'machine.pods': 3,
  'machine.seccompProfiles': 3,
  'machine.nodeLabels': 3,
  'machine.features.kubernetesTalosAPIAccess': 3,
  'machine.features.kubePrism': 5,
  'machine.nodeTaints': 6,
  'machine.ca': 7,
  'machine.acceptedCAs': 7,
  'machine.features.hostDNS': 7,
  'machine.nodeAnnotations': 8,
  'machine.features.imageCache': 9,
  'machine.features.nodeAddressSortAlgorithm': 9,
};

/** The fields that Talos' own pages name since 1.14 ("Changes which might need a reboot"). The pages say that their list is incomplete. */
const LATE: readonly string[] = [
  'cluster.etcd',
  'machine.env',
  'machine.kernel',
  'EnvironmentConfig',
  'KernelModuleConfig',
  'SecurityProfileConfig',
];

/**
 * The changes of a configuration in comparison with another one. Values are compared as written, as in Talos: a default that is written out is a
 * change.
 * @param live the documents of the configuration in force
 * @param desired the documents of a whole configuration, no patch
 * @param version the minor version of Talos 1 on the node
 */
export function changeOf(live: readonly SourceDocument[], desired: readonly SourceDocument[], version: number): Change {
  const [before, after] = [live, desired].map((documents) => documents.find((each) => kindOf(each) === undefined));
  const fields = before && after ? changedFields(before, after) : [];
  const kinds = changedKinds(live, desired);
  const isRebooting = version < NEVER_REBOOTS_SINCE;
  return {
    fields,
    kinds,
    rebooting: fields.filter((field) => isRebooting && !isImmediate(field, version)),
    late: [...fields, ...kinds].filter((each) => !isRebooting && LATE.includes(each)),
  };
}

function isImmediate(field: string, version: number): boolean {
  const [section = ''] = field.split('.');
  return version >= (WITHOUT_REBOOT[field] ?? WITHOUT_REBOOT[section] ?? Number.POSITIVE_INFINITY);
}

/** Each field below these is named separately. */
const SECTIONS: readonly string[] = ['', 'machine', 'cluster', 'machine.features'];

function changedFields(before: SourceDocument, after: SourceDocument, path: readonly string[] = []): string[] {
  const [valueBefore, valueAfter] = [valueAt(before.value, path), valueAt(after.value, path)];
  // Talos compares a whole section if only one of them has it.
  if (SECTIONS.includes(path.join('.')) && isMapping(valueBefore) && isMapping(valueAfter)) {
    return [...new Set([...Object.keys(valueBefore), ...Object.keys(valueAfter)])].flatMap((name) =>
      changedFields(before, after, [...path, name]),
    );
  }
  return isSame({ document: before, path }, { document: after, path }) ? [] : [path.join('.')];
}

function changedKinds(live: readonly SourceDocument[], desired: readonly SourceDocument[]): string[] {
  const kinds = [...new Set([...live, ...desired].map(kindOf))].filter((kind) => typeof kind === 'string');
  return kinds.filter((kind) => {
    const [before, after] = [live, desired].map((documents) => documents.filter((each) => kindOf(each) === kind));
    const isIn = (others: readonly SourceDocument[]) => (document: SourceDocument) =>
      others.some((other) => isSame({ document, path: [] }, { document: other, path: [] }));
    return before?.length !== after?.length || !before?.every(isIn(after ?? [])) || !after?.every(isIn(before));
  });
}

/**
 * Structs that Talos' types have by value, not by pointer: absent and `{}` are the same (v1alpha1_types.go of 1.3 to 1.15). `talosctl gen config` writes
 * an empty `machine.registries`.
 */
const ALWAYS_THERE: readonly string[] = [
  'machine.registries',
  'cluster.discovery.registries',
  'cluster.discovery.registries.kubernetes',
  'cluster.discovery.registries.service',
];

/** The value as Go reads it. Null is absent. */
function read({ document, path }: FieldLocation): NonNullable<unknown> | undefined {
  const value = valueAt(document.value, path) ?? undefined;
  if (value !== undefined || kindOf(document) !== undefined) return value;
  return ALWAYS_THERE.includes(path.join('.')) ? {} : undefined;
}

/** Whether Go reads the same value: for a text, `1` is "1". */
function isSame(one: FieldLocation, other: FieldLocation): boolean {
  const [a, b] = [read(one), read(other)];
  if (a === undefined || b === undefined) return a === b;
  if (Array.isArray(a) !== Array.isArray(b) || isMapping(a) !== isMapping(b)) return false;
  if (Array.isArray(a) && Array.isArray(b) && a.length !== b.length) return false;
  if (typeof a === 'object' && typeof b === 'object') {
    const keys = Array.isArray(a) ? [...a.keys()] : [...new Set([...Object.keys(a), ...Object.keys(b)])];
    return keys.every((key) => isSame(below(one, key), below(other, key)));
  }
  if (typeof a === 'boolean' || typeof b === 'boolean')
    return booleanAt(one.document, one.path) === booleanAt(other.document, other.path);
  return textAt(one.document, one.path) === textAt(other.document, other.path);
}

/** The minor versions of Talos 1 that the table of fields has. */
export const FIRST_VERSION = 3;
export const LAST_VERSION = 15;

/** The first and the last version of Talos to which something applies. */
export interface Versions {
  readonly since: number;
  readonly until: number;
}

/** A minor version of Talos 1. Undefined if it is not known: it may be any. */
type Version = number | undefined;

/** A known version in words. The first one of the table also stands for all earlier ones. */
export function formatVersion(version: Version): string {
  return version === FIRST_VERSION ? `Talos up to 1.${version}` : `Talos 1.${version}`;
}

/** The version that introduced `machine.nodeTaints`. */
export const NODE_TAINTS_VERSION = 6;

/** The version in which documents replaced most of `machine` and `cluster`. */
export const MULTI_DOCUMENT_VERSION = 14;

/** Whether the version is known, and is this one or a later one. */
export function surelySince(version: Version, since: number): boolean {
  return version !== undefined && version >= since;
}

/** Whether the version is known, and is an earlier one. */
export function surelyBefore(version: Version, since: number): boolean {
  return version !== undefined && version < since;
}

/**
 * Whether something applies to the version. If the version is unknown: whether it applies to all versions since `from`.
 * @param from the first version of the subject
 */
export function surelyIn({ since, until }: Versions, version: Version, from: number): boolean {
  return version === undefined ? since <= from && until === LAST_VERSION : version >= since && version <= until;
}

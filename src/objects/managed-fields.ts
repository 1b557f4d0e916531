/** The fields of an entry of `metadata.managedFields` (meta/v1, ManagedFieldsEntry) that are read here. */
export interface ManagedFields {
  readonly manager?: string;
  /** `Apply` or `Update`. */
  readonly operation?: string;
  /** RFC 3339. */
  readonly time?: string;
  readonly subresource?: string;
  readonly fieldsV1?: unknown;
}

/** `metadata.managedFields` of an object that the API server returned. */
export function managedFieldsOf(object: unknown): readonly ManagedFields[] {
  return (object as { metadata: { managedFields?: readonly ManagedFields[] | null } }).metadata.managedFields ?? [];
}

/**
 * Which manager wrote a field last, if it is recorded. Writes through a subresource such as `status` do not count.
 * @param path for example `['spec', 'template']`
 */
export function lastWriter(entries: readonly ManagedFields[], path: readonly string[]): ManagedFields | undefined {
  return entries
    .filter(({ subresource }) => !subresource)
    .filter(({ fieldsV1 }) => owns(fieldsV1, path))
    .toSorted((a, b) => (a.time ?? '').localeCompare(b.time ?? ''))
    .at(-1);
}

function owns(fields: unknown, [segment, ...rest]: readonly string[]): boolean {
  if (segment === undefined) return true;
  const below = (fields as Record<string, unknown> | null | undefined)?.[`f:${segment}`];
  return below !== undefined && owns(below, rest);
}

/** The field manager of what taintkeeper writes. */
export const FIELD_MANAGER = 'taintkeeper';

/**
 * The last writer of a field, apart from taintkeeper. A field that was removed has none.
 *
 * @param path as of {@link lastWriter}
 */
export function fieldOwner(entries: readonly ManagedFields[], path: readonly string[]): ManagedFields | undefined {
  return lastWriter(
    entries.filter(({ manager }) => manager !== FIELD_MANAGER),
    path,
  );
}

/** The last writer of any part of the object apart from its status, and apart from taintkeeper. A writer that only removes a field does not own it. */
export function lastOtherWriter(entries: readonly ManagedFields[]): ManagedFields | undefined {
  return fieldOwner(entries, []);
}

/** In words. A client names its field manager, else it is the beginning of its user agent. */
export function describeOwner({ manager = '', operation, time }: ManagedFields): string {
  return `field manager "${manager}" (${[operation, time].filter(Boolean).join(' at ')})`;
}

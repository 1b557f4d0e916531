/** As much of an entry of `metadata.managedFields` (meta/v1, ManagedFieldsEntry) as is read here. */
export interface ManagedFields {
  readonly manager?: string;
  /** `Apply` or `Update`. */
  readonly operation?: string;
  /** RFC 3339. */
  readonly time?: string;
  readonly subresource?: string;
  readonly fieldsV1?: unknown;
}

/** What taintkeeper calls itself where it writes. */
export const FIELD_MANAGER = 'taintkeeper';

/**
 * Who owns a field, taintkeeper left out: who wrote it last. Nobody owns what was taken out altogether.
 *
 * @param path for example `['spec', 'template']`
 */
export function fieldOwner(entries: readonly ManagedFields[], path: readonly string[]): ManagedFields | undefined {
  return lastWriter(
    entries.filter(({ manager }) => manager !== FIELD_MANAGER),
    path,
  );
}

/** Who wrote a field last, as far as it is there. @param path as of {@link fieldOwner} */
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

/** For people: the name is what a client calls itself, or else the beginning of its user agent. */
export function describeOwner({ manager = '', operation, time }: ManagedFields): string {
  return `field manager "${manager}" (${[operation, time].filter(Boolean).join(' at ')})`;
}

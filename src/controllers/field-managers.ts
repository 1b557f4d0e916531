/** An entry of `metadata.managedFields` (meta/v1). */
interface ManagedFields {
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  readonly time?: string;
  readonly fieldsV1?: Readonly<Record<string, unknown>>;
}

/**
 * Who wrote a field last, for people: `field manager NAME (Update)`. The name is what the client calls itself, or else the
 * beginning of its user agent. Undefined where the object does not show it.
 *
 * @param path as fieldsV1 has it, for example `['f:spec', 'f:taints']`
 */
export function writerOf(object: unknown, path: readonly string[]): string | undefined {
  const { managedFields = [] } = (object as { metadata: { managedFields?: readonly ManagedFields[] } }).metadata;
  const [latest] = managedFields
    .filter(({ fieldsV1 }) => path.reduce<unknown>(inner, fieldsV1) !== undefined)
    .toSorted((a, b) => (b.time ?? '').localeCompare(a.time ?? ''));
  return latest?.manager === undefined ? undefined : `field manager ${latest.manager} (${latest.operation})`;
}

function inner(fields: unknown, name: string): unknown {
  return typeof fields === 'object' && fields !== null ? (fields as Record<string, unknown>)[name] : undefined;
}

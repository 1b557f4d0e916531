/** The part of JSON Schema that the policies' schemas are made of. */
interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
}

/** Every field of a schema, for example `spec.taints[].key`; where it is a choice, each of its values too: `spec.mode: Deny`. */
export function fieldsOf(schema: object, path: string): string[] {
  const { type, properties = {}, items, enum: choices = type === 'boolean' ? [true, false] : [] } = schema as Schema;
  return [
    path,
    ...choices.map((choice) => `${path}: ${choice}`),
    ...Object.entries(properties).flatMap(([name, field]) => fieldsOf(field, `${path}.${name}`)),
    ...(items ? fieldsOf(items, `${path}[]`) : []),
  ];
}

/** Every field of a value, in the same words; whatever is neither a list nor a map is taken for a choice. */
export function fieldsIn(value: unknown, path: string): string[] {
  if (typeof value !== 'object' || value === null) return [path, `${path}: ${value}`];
  const parts = Array.isArray(value)
    ? value.map((item) => [`${path}[]`, item] as const)
    : Object.entries(value).map(([name, field]) => [`${path}.${name}`, field] as const);
  return [path, ...parts.flatMap(([at, part]) => fieldsIn(part, at))];
}

import type { Field } from './talos-go-types.ts';

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly enum?: readonly string[];
}

/** The fields of all documents, by path, from the JSON Schema of Talos' configuration. */
export function fieldsOfSchema(root: { $defs: Record<string, Schema>; oneOf: Schema[] }): Map<string, Field> {
  const fields = new Map<string, Field>();
  const resolve = (schema: Schema): Schema =>
    schema.$ref === undefined ? schema : (root.$defs[schema.$ref.replace('#/$defs/', '')] ?? {});
  const walk = (schema: Schema, path: string): void => {
    const { properties = {}, patternProperties = {}, items } = resolve(schema);
    for (const [name, below] of Object.entries(properties)) {
      fields.set(`${path}.${name}`, { deprecated: false, successor: undefined, hidden: false });
      walk(below, `${path}.${name}`);
    }
    for (const below of [...Object.values(patternProperties), ...(items ? [items] : [])]) walk(below, `${path}.*`);
  };
  for (const document of root.oneOf) {
    const kind = resolve(document).properties?.kind?.enum?.[0] ?? 'v1alpha1';
    fields.set(kind, { deprecated: false, successor: undefined, hidden: false });
    walk(document, kind);
  }
  return fields;
}

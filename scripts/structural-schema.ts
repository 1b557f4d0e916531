/** A schema as a CRD requires it: apiextensions.k8s.io/v1 JSONSchemaProps, of which this is what comes out here. */
export interface StructuralSchema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, StructuralSchema>>;
  readonly items?: StructuralSchema;
  readonly additionalProperties?: StructuralSchema;
  readonly [keyword: string]: unknown;
}

/** What means the same in both, and is copied. */
const COPIED: ReadonlySet<string> = new Set([
  'type',
  'format',
  'pattern',
  'required',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'maxProperties',
  'minimum',
  'maximum',
  'x-kubernetes-validations',
  'x-kubernetes-map-type',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
]);

/**
 * Converts a JSON Schema, as TypeBox makes it, to a structural schema
 * (kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema).
 *
 * Defaults become the API server's, so that an object shows what it means; but not those within list items, which only
 * the description tells. `kubectl apply` replaces a list that differs from the one in the file, so it would report a
 * change each time.
 *
 * @throws Error for a keyword that it does not know: left out in silence, the API server would admit more than the program
 */
export function structuralSchema(schema: object): StructuralSchema {
  return converted(schema, { inList: false });
}

interface Place {
  readonly inList: boolean;
}

function converted(schema: object, place: Place): StructuralSchema {
  const { description, default: value, ...rest } = schema as { description?: string; default?: unknown };
  const told = place.inList && value !== undefined ? `${description} Default: ${String(value)}.` : description;
  return {
    ...(told === undefined ? {} : { description: told }),
    ...Object.fromEntries(Object.entries(rest).flatMap(([keyword, inner]) => convert(keyword, inner, place))),
    ...(place.inList || value === undefined ? {} : { default: value }),
  };
}

function convert(keyword: string, value: unknown, place: Place): [keyword: string, value: unknown][] {
  if (COPIED.has(keyword)) return [[keyword, value]];
  switch (keyword) {
    case 'const':
      return convert('enum', [value], place);
    case 'enum':
      // A structural schema states a type everywhere; TypeBox states none beside an enum.
      return [
        ['type', typeOfEnum(value as unknown[])],
        ['enum', value],
      ];
    case 'properties':
      return [[keyword, mapValues(value as Record<string, object>, (property) => converted(property, place))]];
    case 'items':
      return [[keyword, converted(value as object, { inList: true })]];
    case 'uniqueItems':
      return [['x-kubernetes-list-type', 'set']];
    case 'patternProperties':
      return [['additionalProperties', converted(onlyValue(value as Record<string, object>), place)]];
    case 'additionalProperties':
      // The API server prunes what a schema does not list, or refuses it where asked to be strict.
      if (value === false) return [];
  }
  throw new Error(`no structural schema has ${keyword}: ${JSON.stringify(value)}`);
}

function typeOfEnum(values: readonly unknown[]): string {
  if (values.every((value) => typeof value === 'string')) return 'string';
  throw new Error(`only texts are expected in an enum: ${JSON.stringify(values)}`);
}

/** Of a map whose keys may be anything; a CRD has no place for a pattern of keys. */
function onlyValue(patterns: Readonly<Record<string, object>>): object {
  const [[pattern, value] = [], ...more] = Object.entries(patterns);
  if (value && pattern === '^.*$' && more.length === 0) return value;
  throw new Error(`only one pattern for every key is expected: ${Object.keys(patterns).join(', ')}`);
}

function mapValues<From, To>(map: Readonly<Record<string, From>>, change: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value)]));
}

import Schema, { type XSchema } from 'typebox/schema';
import { valueAt } from '../kubernetes/json.ts';
import { pointerNames, pointerPath } from '../kubernetes/json-patch.ts';
import type { Path } from '../policy/problem.ts';
import { withMaxErrors } from '../policy/schema-problems.ts';
import { type Entry, type FieldLife, isStruct, typeIn } from './fields.ts';

/** A field that Go does not decode. */
export type TypeFault = { readonly path: Path } & (
  | { readonly fault: 'unknown field' }
  /** `type` is that of the table, such as `[]text`. */
  | { readonly fault: 'wrong type'; readonly type: string }
);

/**
 * How values are decoded. `talos`: by Go's YAML, where any scalar is a text. `kubelet`: as JSON, where each value has one type
 * (FromUnstructuredWithValidation of k8s.io/apimachinery).
 */
export type Decoder = 'talos' | 'kubelet';

export interface TypeTable {
  readonly entry: Entry;
  /** Stable, for the cache. */
  readonly decoder: Decoder;
  /** The minor version of Talos 1. Without one: what some version takes. */
  readonly version: number | undefined;
  /** Whether an argument may be a list of texts, if there is one of type `arg`. */
  readonly argumentLists?: boolean;
  /** Fields that do not count as known. */
  readonly without?: ((life: FieldLife) => boolean) | undefined;
}

/**
 * All parts of a value that are not of the table's types, in the order of the table. Below an unknown field nothing is checked. Null is absent, as
 * in Go.
 */
export function typeFaults(value: unknown, { entry, argumentLists = true, ...rest }: TypeTable): TypeFault[] {
  const schema = schemaOf(entry, { argumentLists, ...rest });
  return errorsOf(schema, value).flatMap(({ keyword, instancePath, params, schemaPath }): TypeFault[] => {
    const path = pointerPath(instancePath, value);
    if (keyword === 'additionalProperties') {
      const { additionalProperties } = params as { readonly additionalProperties: readonly string[] };
      return additionalProperties.map((name) => ({ fault: 'unknown field', path: [...path, name] }));
    }
    const type = typeAt(schema, schemaPath);
    return type === undefined ? [] : [{ fault: 'wrong type', path, type }];
  });
}

/** A part of a schema, with the type of the table that it is made of. */
interface TypeSchema {
  readonly title?: string;
  readonly type?: readonly string[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: TypeSchema;
  readonly properties?: Readonly<Record<string, TypeSchema>>;
  readonly patternProperties?: Readonly<Record<string, TypeSchema>>;
  readonly additionalProperties?: false;
}

const schemas = new WeakMap<Entry, Map<string, TypeSchema>>();

type Context = Omit<TypeTable, 'entry'>;

function schemaOf(entry: Entry, context: Context): TypeSchema {
  if (context.without) return buildSchema(entry, 'struct', context);
  const cached = schemas.get(entry) ?? new Map<string, TypeSchema>();
  schemas.set(entry, cached);
  const key = `${context.decoder} ${context.version} ${context.argumentLists}`;
  const schema = cached.get(key) ?? buildSchema(entry, 'struct', context);
  cached.set(key, schema);
  return schema;
}

function buildSchema(entry: Entry | undefined, type: string, context: Context): TypeSchema {
  const item = () => buildSchema(entry?.children.get('*'), type.slice(2), context);
  if (type.startsWith('[]')) return { title: type, type: ['array', 'null'], items: item() };
  if (type.startsWith('{}')) return { title: type, type: ['object', 'null'], patternProperties: { '': item() } };
  if (!isStruct(type))
    return {
      title: type,
      ...(type === 'arg' && !context.argumentLists ? SCALARS.talos.text : SCALARS[context.decoder][type]),
    };
  const { version, without } = context;
  const properties = [...(entry?.children ?? [])].flatMap(([name, below]): [string, TypeSchema][] => {
    const { life } = below;
    if (!life || (version !== undefined && (version < life.since || version > life.until)) || without?.(life))
      return [];
    return [[name, buildSchema(below, typeIn(below, version), context)]];
  });
  return {
    title: type,
    type: ['object', 'null'],
    properties: Object.fromEntries(properties),
    additionalProperties: false,
  };
}

/** time.ParseDuration of Go. */
const DURATION = '^[-+]?(0|([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$';

const SCALARS: Readonly<Record<Decoder, Readonly<Record<string, TypeSchema>>>> = {
  talos: {
    text: { type: ['string', 'number', 'boolean', 'null'] },
    bool: { type: ['boolean', 'string', 'null'], pattern: '^(y|Y|yes|Yes|YES|on|On|ON|n|N|no|No|NO|off|Off|OFF)$' },
    int: { type: ['integer', 'null'] },
    uint: { type: ['integer', 'null'], minimum: 0 },
    float: { type: ['number', 'null'] },
    duration: { type: ['string', 'integer', 'null'], pattern: DURATION, minimum: 0, maximum: 0 },
    arg: {
      type: ['string', 'number', 'boolean', 'null', 'array'],
      items: { title: 'text', type: ['string', 'number', 'boolean', 'null'] },
    },
  },
  kubelet: {
    text: { type: ['string', 'null'] },
    bool: { type: ['boolean', 'null'] },
    int: { type: ['integer', 'null'] },
    uint: { type: ['integer', 'null'] },
    float: { type: ['number', 'null'] },
    duration: { type: ['string', 'null'], pattern: DURATION },
    quantity: { type: ['string', 'number', 'null'] },
  },
};

type SchemaError = ReturnType<typeof Schema.Errors>[1][number];

function errorsOf(schema: TypeSchema, value: unknown): SchemaError[] {
  return withMaxErrors(Number.POSITIVE_INFINITY, () => Schema.Errors(schema as XSchema, value)[1]);
}

/** The type in the table of the part of a schema that a value does not fit. */
function typeAt(schema: TypeSchema, schemaPath: string): string | undefined {
  return (valueAt(schema, pointerNames(schemaPath.replace(/^#/, ''))) as TypeSchema | undefined)?.title;
}

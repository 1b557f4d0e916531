import type { TSchema } from 'typebox';
import { Settings } from 'typebox/system';
import Value from 'typebox/value';
import type { Path, Problem } from './problem.ts';

// The default is 8, and some of TypeBox's errors are echoes of others.
Settings.Set({ maxErrors: 100 });

/** What a schema finds wrong with a value, in words that say what was expected and what stands there instead. */
export function schemaProblems(schema: TSchema, value: unknown): Problem[] {
  return Value.Errors(schema, value).flatMap((error): Problem[] => {
    const path = fromPointer(error.instancePath, value);
    const found = valueAt(value, path);
    switch (error.keyword) {
      case 'boolean': // The echo of additionalProperties, which says it better.
      case '~refine': // A quicker way of asking what is asked beside it.
        return [];
      case 'additionalProperties':
        return error.params.additionalProperties.map((name) => ({
          path: [...path, name],
          message: `unknown field; known here: ${knownFields(schema, error.schemaPath).join(', ')}`,
        }));
      case 'required':
        return error.params.requiredProperties.map((name) => ({ path, message: `${name} is missing` }));
      case 'enum':
        return [{ path, message: `expected ${error.params.allowedValues.join(' or ')}, got ${show(found)}` }];
      case 'type':
        return [{ path, message: `expected ${article(String(error.params.type))}, got ${show(found)}` }];
      case 'pattern':
        return [{ path, message: `${show(found)} is not allowed here: it must match ${error.params.pattern}` }];
      default:
        return [{ path, message: `${error.message}, got ${show(found)}` }];
    }
  });
}

/** The fields that a schema of objects and lists does not know. */
export function unknownFieldsIn(schema: TSchema, value: unknown, path: Path = []): Path[] {
  const { properties, items, additionalProperties } = schema as {
    properties?: Readonly<Record<string, TSchema>>;
    items?: TSchema;
    additionalProperties?: unknown;
  };
  if (Array.isArray(value)) {
    return items ? value.flatMap((item, index) => unknownFieldsIn(items, item, [...path, index])) : [];
  }
  if (typeof value !== 'object' || value === null || !properties) return [];
  return Object.entries(value).flatMap(([name, field]): Path[] => {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (known) return unknownFieldsIn(known, field, [...path, name]);
    return additionalProperties === false ? [[...path, name]] : [];
  });
}

/** A JSON pointer (RFC 6901) as a path; list indexes become numbers where the value has a list there. */
function fromPointer(pointer: string, root: unknown): Path {
  const path: (string | number)[] = [];
  let at = root;
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(at) ? Number(name) : name);
    at = child(at, name);
  }
  return path;
}

function valueAt(root: unknown, path: Path): unknown {
  return path.reduce<unknown>((at, part) => child(at, String(part)), root);
}

function child(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

function knownFields(schema: TSchema, schemaPath: string): string[] {
  const at = valueAt(schema, fromPointer(schemaPath.replace(/^#/, ''), schema));
  return Object.keys((child(at, 'properties') as object | undefined) ?? {});
}

function article(type: string): string {
  return type === 'array'
    ? 'a list'
    : type === 'object'
      ? 'a map'
      : type === 'integer'
        ? 'a whole number'
        : `a ${type}`;
}

const SHOWN_CHARACTERS = 60;

/** A value as an error message shows it: short, and on one line. */
export function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'a map';
  const text = JSON.stringify(value);
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}

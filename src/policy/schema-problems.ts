import type { TSchema } from 'typebox';
import { Settings } from 'typebox/system';
import * as Value from 'typebox/value';
import { valueAt } from '../kubernetes/json.ts';
import { pointerNames, pointerPath } from '../kubernetes/json-patch.ts';
import { type Path, type Problem, shownValue } from './problem.ts';

/** TypeBox's default is 8, which is too few, because some of its errors repeat others. */
const MAX_ERRORS = 100;

/** Runs `find` with another limit on the errors that TypeBox reports: TypeBox has one for the whole program. */
export function withMaxErrors<Result>(maxErrors: number, find: () => Result): Result {
  const { maxErrors: earlier } = Settings.Get();
  Settings.Set({ maxErrors });
  try {
    return find();
  } finally {
    Settings.Set({ maxErrors: earlier });
  }
}

/** The problems of a value by a schema, with the expected and the actual value. */
export function schemaProblems(schema: TSchema, value: unknown): Problem[] {
  return withMaxErrors(MAX_ERRORS, () => Value.Errors(schema, value)).flatMap((error): Problem[] => {
    const path = pointerPath(error.instancePath, value);
    const found = valueAt(value, path);
    switch (error.keyword) {
      case 'boolean': // Repeats additionalProperties, which says more.
      case '~refine': // A faster form of another check in the same schema, which also reports the problem.
        return [];
      case 'additionalProperties':
        return error.params.additionalProperties.map((name) => ({
          path: [...path, name],
          message: `unknown field; known here: ${knownFields(schema, error.schemaPath).join(', ')}`,
        }));
      case 'required':
        return error.params.requiredProperties.map((name) => ({ path, message: `${name} is missing` }));
      case 'enum':
        return [{ path, message: `expected ${error.params.allowedValues.join(' or ')}, got ${shownValue(found)}` }];
      case 'type':
        return [{ path, message: `expected ${article(String(error.params.type))}, got ${shownValue(found)}` }];
      case 'pattern':
        return [{ path, message: `${shownValue(found)} is not allowed here: it must match ${error.params.pattern}` }];
      default:
        return [{ path, message: `${error.message}, got ${shownValue(found)}` }];
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

function knownFields(schema: TSchema, schemaPath: string): string[] {
  return Object.keys((valueAt(schema, [...pointerNames(schemaPath), 'properties']) as object | undefined) ?? {});
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

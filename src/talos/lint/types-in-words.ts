import { isMapping } from '../../kubernetes/json.ts';
import { isStruct } from '../fields.ts';

/** Each type of the table as what it takes, and how to write that. */
const SCALARS: Readonly<Record<string, readonly [takes: string, write: string]>> = {
  text: ['a text', 'write one text'],
  arg: ['a text', 'write one text'],
  bool: ['a boolean', 'write true or false, without quotes'],
  int: ['a whole number', 'write a whole number, without quotes'],
  uint: ['a whole number, 0 or more', 'write a whole number, 0 or more, without quotes'],
  float: ['a number', 'write a number, without quotes'],
  duration: ['a duration', 'write a number with a unit, such as 30s or 1h30m'],
  quantity: ['a quantity', 'write a number, or one with a unit, such as 100Mi'],
  any: ['a value', 'write a value'],
};

const PLURALS: Readonly<Record<string, string>> = {
  text: 'texts',
  arg: 'texts',
  bool: 'booleans',
  int: 'whole numbers',
  uint: 'whole numbers',
  quantity: 'quantities',
};

/** `a mapping of names to texts`. @param type of the table, such as `{}text` */
export function typeInWords(type: string): string {
  if (isStruct(type)) return 'a mapping of its fields';
  const inside = type.slice(2);
  if (type.startsWith('[]'))
    return isStruct(inside) || !PLURALS[inside] ? 'a list of mappings' : `a list of ${PLURALS[inside]}`;
  if (type.startsWith('{}')) return `a mapping of names to ${PLURALS[inside] ?? 'values'}`;
  return SCALARS[type]?.[0] ?? 'another value';
}

/** What kind of value this is. Never the value, which may be a secret. */
export function valueInWords(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (isMapping(value)) return 'a mapping';
  return typeof value === 'string' ? 'a text' : typeof value === 'boolean' ? 'a boolean' : 'a number';
}

/**
 * What to write for a value of that type.
 * @param value what stands there
 * @param field one of a struct's fields
 */
export function writeInstead(type: string, value: unknown, field: string | undefined): string {
  if (isStruct(type)) return `write a mapping of its fields below it${field ? `, such as "${field}: …"` : ''}`;
  if (type.startsWith('[]')) {
    return isMapping(value)
      ? 'write a list: "- " before each item'
      : 'write a list: "- VALUE" for each, on a line of its own';
  }
  if (type.startsWith('{}')) return 'write a mapping: "NAME: VALUE" for each, on a line of its own';
  return SCALARS[type]?.[1] ?? 'write another value';
}

import { valueAt } from './json.ts';

/** The JSON pointer (RFC 6901) of these names, such as `/metadata/annotations/example.com~1a`. */
export function jsonPointer(...names: readonly string[]): string {
  return names.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** The names of a JSON pointer. */
export function pointerNames(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** A JSON pointer as a path in the value: names, and numbers for the indexes of lists. */
export function pointerPath(pointer: string, value: unknown): (string | number)[] {
  const path: (string | number)[] = [];
  for (const name of pointerNames(pointer)) path.push(Array.isArray(valueAt(value, path)) ? Number(name) : name);
  return path;
}

/** An operation of a JSON patch (RFC 6902), of those that taintkeeper writes. */
export type Operation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };

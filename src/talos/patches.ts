import type { SourceDocument } from '../files/documents.ts';
import { InputError } from '../files/text-files.ts';
import { isMapping, valueAt } from '../kubernetes/json.ts';
import { pointerNames } from '../kubernetes/json-patch.ts';
import type { Path } from '../policy/problem.ts';
import type { FieldLocation } from './field-location.ts';
import { documentEntry, entryAt, typeIn } from './fields.ts';

/**
 * The declarations of a document. For a strategic-merge patch, what it does not delete (`$patch: delete`). For a JSON patch (RFC 6902), one document
 * for each value that it adds or replaces, with its places in the patch.
 * @throws InputError for an invalid JSON patch
 */
export function declaring(document: SourceDocument): SourceDocument[] {
  if (Array.isArray(document.value)) return document.value.flatMap((_, index) => operation(document, index));
  const value = withoutDeleted(document.value);
  return value === undefined ? [] : [{ ...document, value }];
}

/** True for a document that only a patch can be. */
export function isPatchOnly({ value }: SourceDocument): boolean {
  return Array.isArray(value) || hasDirective(value);
}

function hasDirective(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasDirective);
  return isMapping(value) && (Object.hasOwn(value, '$patch') || Object.values(value).some(hasDirective));
}

/** Where a document has `$patch`. None in a JSON patch, whose values are whole. */
export function directives(document: SourceDocument): FieldLocation[] {
  if (Array.isArray(document.value)) return [];
  const directivesIn = (value: unknown, path: Path): FieldLocation[] => {
    const entries: [string | number, unknown][] = Array.isArray(value)
      ? [...value.entries()]
      : isMapping(value)
        ? Object.entries(value)
        : [];
    return entries.flatMap(([name, below]) =>
      name === '$patch' ? [{ document, path: [...path, name] }] : directivesIn(below, [...path, name]),
    );
  };
  return directivesIn(document.value, []);
}

/** The value without what `$patch: delete` removes. Items of lists keep their index, which locates them. */
function withoutDeleted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutDeleted(item) ?? null);
  if (!isMapping(value)) return value;
  if (value.$patch === 'delete') return undefined;
  const kept = Object.entries(value).flatMap(([key, below]): [string, unknown][] => {
    if (key === '$patch') return [];
    const lasting = withoutDeleted(below);
    return lasting === undefined ? [] : [[key, lasting]];
  });
  return Object.fromEntries(kept);
}

function operation(patch: SourceDocument, index: number): SourceDocument[] {
  const step: unknown = (patch.value as unknown[])[index];
  const refuse = (at: string, message: string): never => {
    throw new InputError([`${patch.locate([index, at])}: ${message}`]);
  };
  if (!isMapping(step) || typeof step.op !== 'string' || typeof step.path !== 'string') {
    return refuse('op', 'expected an operation of a JSON patch, with op and path');
  }
  if (!/^(\/|$)/.test(step.path))
    return refuse('path', 'expected a JSON pointer, which begins with a slash: /machine/…');
  switch (step.op) {
    case 'add':
    case 'replace':
      return [declaredBy(patch, index, step.path, step.value)];
    case 'remove':
    case 'test':
      return [];
    default:
      return refuse('op', 'only the operations add, replace, remove and test are read: write the value with add');
  }
}

function declaredBy(patch: SourceDocument, index: number, pointer: string, value: unknown): SourceDocument {
  const parts = pointerNames(pointer);
  const tree = parts.reduceRight<unknown>((below, part, i) => (isItem(parts, i) ? [below] : { [part]: below }), value);
  const inPatch = (path: Path): Path => {
    const within =
      path.length > parts.length ||
      (path.length === parts.length && parts.every((part, i) => isItem(parts, i) || part === path[i]));
    return within ? [index, 'value', ...path.slice(parts.length)] : [index, 'path'];
  };
  return {
    value: tree,
    locate: (path) => patch.locate(inPatch(path)),
    scalar: (path) => {
      const text = patch.scalar(inPatch(path));
      return text !== undefined && isKept(text, valueAt(tree, path)) ? text : undefined;
    },
    // Talos decodes the patch without types, so it accepts any notation.
    notation: () => undefined,
  };
}

/**
 * Whether this part of a pointer is an item of a list: a number may also be the key of a label. An item that is added to a list is alone in the result,
 * because the patch does not contain the rest of the list.
 */
function isItem(parts: readonly string[], index: number): boolean {
  const part = parts[index] ?? '';
  if (part === '-') return true;
  const above = entryAt(documentEntry(undefined), parts.slice(0, index));
  return /^\d+$/.test(part) && !(above && typeIn(above).startsWith('{}'));
}

/**
 * Whether Talos reads the text of a value in a JSON patch as it is written. It decodes the patch and the patched configuration without their types (LoadPatch
 * and JSON6902 of its configpatcher): of a number or boolean, only the value is kept, and written as Go writes it. `0010` is 8, `1.10` is 1.1.
 */
function isKept(text: string, value: unknown): boolean {
  return typeof value === 'string' || /^(true|false|0|[1-9]\d{0,14}|(0|[1-9]\d{0,5})\.\d{0,3}[1-9])$/.test(text);
}

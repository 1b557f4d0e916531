import jsonPatch from 'fast-json-patch';
import { isMapping, valueAt } from '../kubernetes/json.ts';
import { type Operation, pointerNames } from '../kubernetes/json-patch.ts';
import type { DecidedChange } from './state.ts';

/** How much of a patch and of the changed values is kept, in characters of JSON. */
const MAX_CHARACTERS = 8_192;

/** More operations, or items of a list that is changed, would be more characters than that, whatever they say. */
const MAX_ITEMS = 1_024;

/**
 * Keeps what a patch changes: only those lists and values of the object that the patch names. The returned function computes the values
 * before and after. Undefined if that is too large to be kept.
 * @param patch JSON patch for the object
 */
export function keepPatch(object: unknown, patch: readonly Operation[]): (() => readonly DecidedChange[]) | undefined {
  if (patch.length === 0) return () => [];
  if (patch.length > MAX_ITEMS) return undefined;
  const outline = {};
  for (const path of changedPaths(patch)) {
    const names = pointerNames(path);
    const value = valueAt(object, names);
    if (Array.isArray(value) && value.length > MAX_ITEMS) return undefined;
    copyValue(object, outline, names);
  }
  const text = boundedJson({ outline, patch });
  if (text === undefined) return undefined;

  return () => {
    const kept: { outline: object; patch: Operation[] } = JSON.parse(text);
    const after = jsonPatch.applyPatch(structuredClone(kept.outline), kept.patch).newDocument;
    return changedPaths(kept.patch).map((path) => {
      const [old, now] = [kept.outline, after].map((document) => valueAt(document, pointerNames(path)));
      return { path, ...(old === undefined ? {} : { before: old }), ...(now === undefined ? {} : { after: now }) };
    });
  };
}

/** The JSON pointers of what the patch changes. Lists are compared by position, and a list is read as a whole. */
function changedPaths(patch: readonly Operation[]): string[] {
  return [...new Set(patch.map(({ path }) => path.replace(/\/(\d+|-)(\/.*)?$/s, '')))];
}

/** The value as JSON, unless it is too long, or nested deeper than the stack. */
function boundedJson(value: unknown): string | undefined {
  try {
    const text = JSON.stringify(value);
    return text.length <= MAX_CHARACTERS ? text : undefined;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Copies the value at the path, and the maps that lead to it. */
function copyValue(from: unknown, to: Record<string, unknown>, [key, ...rest]: readonly string[]): void {
  if (key === undefined || !isMapping(from) || !Object.hasOwn(from, key)) return;
  const value = from[key];
  if (rest.length === 0 || !isMapping(value)) {
    to[key] = value;
    return;
  }
  const inner = isMapping(to[key]) ? to[key] : {};
  to[key] = inner;
  copyValue(value, inner, rest);
}

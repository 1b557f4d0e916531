import jsonPatch, { type Operation } from 'fast-json-patch';
import { isMap } from '../files/reviewables.ts';
import { pointerNames } from '../kubernetes/json-pointer.ts';
import type { DecidedChange } from './state.ts';

/** How much of a patch, and of what it changes, is remembered: characters of JSON. */
const MAX_CHARACTERS = 8_192;

/** More operations, or items of a list that is changed, would be more characters than that, whatever they say. */
const MAX_ITEMS = 1_024;

/**
 * Remembers what a patch changes: of the object only the lists and values that it names. The function that is returned says what
 * was there and what is. Undefined when that is too much to be remembered.
 * @param patch JSON patch for the object
 */
export function keepPatch(object: unknown, patch: readonly Operation[]): (() => readonly DecidedChange[]) | undefined {
  if (patch.length === 0) return () => [];
  if (patch.length > MAX_ITEMS) return undefined;
  const outline = {};
  for (const place of placesOf(patch)) {
    const value = valueAt(object, pointerNames(place));
    if (Array.isArray(value) && value.length > MAX_ITEMS) return undefined;
    copyPlace(object, outline, pointerNames(place));
  }
  const text = boundedJson({ outline, patch });
  if (text === undefined) return undefined;

  return () => {
    const kept: { outline: object; patch: Operation[] } = JSON.parse(text);
    const after = jsonPatch.applyPatch(structuredClone(kept.outline), kept.patch).newDocument;
    return placesOf(kept.patch).map((path) => {
      const [old, now] = [kept.outline, after].map((document) => valueAt(document, pointerNames(path)));
      return { path, ...(old === undefined ? {} : { before: old }), ...(now === undefined ? {} : { after: now }) };
    });
  };
}

/** What the patch changes. Lists are compared by position, and a list is read as a whole. */
function placesOf(patch: readonly Operation[]): string[] {
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

/** Copies what is at the path, and the maps that lead there, as far as there are any. */
function copyPlace(from: unknown, to: Record<string, unknown>, [key, ...rest]: readonly string[]): void {
  if (key === undefined || !isMap(from) || !Object.hasOwn(from, key)) return;
  const value = from[key];
  if (rest.length === 0 || !isMap(value)) {
    to[key] = value;
    return;
  }
  const inner = isMap(to[key]) ? to[key] : {};
  to[key] = inner;
  copyPlace(value, inner, rest);
}

function valueAt(document: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (isMap(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    document,
  );
}

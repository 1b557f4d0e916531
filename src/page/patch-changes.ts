import jsonPatch, { type Operation } from 'fast-json-patch';
import { isMap } from '../files/reviewables.ts';
import type { DecidedChange } from './state.ts';

/** How much of a patch, and of what it changes, is remembered: counted as in {@link weight}. */
const MAX_WEIGHT = 8_192;

/** What each value weighs besides its characters; about what it takes in JSON. */
const VALUE_WEIGHT = 8;

/**
 * Remembers what a patch changes: of the object only the lists and values that it names. The function that is returned says what
 * was there and what is. Undefined when that is too much to be remembered.
 * @param patch JSON patch for the object
 */
export function keepPatch(object: unknown, patch: readonly Operation[]): (() => readonly DecidedChange[]) | undefined {
  if (patch.length === 0) return () => [];
  if (patch.length > MAX_WEIGHT / VALUE_WEIGHT) return undefined;
  // Lists are compared by position, and a list is read as a whole.
  const places = [...new Set(patch.map(({ path }) => path.replace(/\/(\d+|-)(\/.*)?$/s, '')))];
  const outline = {};
  for (const place of places) copyPlace(object, outline, segments(place));
  if (weight(patch, MAX_WEIGHT) + weight(outline, MAX_WEIGHT) > MAX_WEIGHT) return undefined;

  return () => {
    const after = jsonPatch.applyPatch(structuredClone(outline), structuredClone([...patch])).newDocument;
    return places.map((path) => {
      const [old, now] = [outline, after].map((document) => valueAt(document, segments(path)));
      return { path, ...(old === undefined ? {} : { before: old }), ...(now === undefined ? {} : { after: now }) };
    });
  };
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

/** The parts of a JSON pointer (RFC 6901). */
function segments(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** About how many characters the value has as JSON; counting ends soon after the limit. */
function weight(value: unknown, limit: number): number {
  if (typeof value === 'string') return VALUE_WEIGHT + value.length;
  if (typeof value !== 'object' || value === null) return VALUE_WEIGHT;
  let sum = VALUE_WEIGHT;
  for (const key in value) {
    // Before going deeper: how deep a value is, is up to who sends it.
    if (sum > limit) break;
    sum += key.length + weight(value[key as keyof typeof value], limit - sum);
  }
  return sum;
}

import { locateField, parseDocuments, type SourceDocument } from '../files/documents.ts';
import { InputError } from '../files/input-error.ts';
import { isMapping, valueAt } from '../kubernetes/json.ts';
import type { Path } from '../policy/problem.ts';

/**
 * Parses a text of Talos, most of which is secret. Keys and scalars keep their spelling, which Talos reads where it expects a text.
 * @param source names the text in locations
 * @throws InputError, which quotes nothing of the text
 */
export function parseTalosDocuments(text: string, source: string): SourceDocument[] {
  return parseDocuments(text, source, { secret: true, asWritten: true });
}

/** The kind of a document; undefined for the one with `machine` and `cluster`, which has none. */
export function kindOf({ value }: SourceDocument): unknown {
  return valueAt(value, ['kind']);
}

/** The entries of the mapping at the path. None if there is no mapping. */
export function entriesAt({ value }: SourceDocument, path: Path): [key: string, value: unknown][] {
  const mapping = valueAt(value, path);
  return isMapping(mapping) ? Object.entries(mapping) : [];
}

/**
 * A scalar as the text that Talos reads: Go reads `true` and `1.10` as written where it expects a text. Undefined for lists, mappings and absent
 * values.
 * @throws InputError with the place of a number or boolean whose spelling is not known: `0010` and `10` are two texts
 */
export function textAt(document: SourceDocument, path: Path): string | undefined {
  const value = valueAt(document.value, path);
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
    case 'boolean':
    case 'bigint':
      return document.scalar(path) ?? refuseUnknown(document, path, typeof value);
    default:
      return value === null ? '' : undefined;
  }
}

function refuseUnknown(document: SourceDocument, path: Path, type: string): never {
  const what = `Talos reads a text here, and how it spells this ${type} is not known`;
  throw new InputError([`${locateField(document, path)}: ${what}: put the value in quotes`]);
}

/** The entries of the mapping at the path whose values are scalars, as Talos reads them. type-check.ts reports the others. */
export function entryTexts(document: SourceDocument, path: Path): [key: string, text: string][] {
  return entriesAt(document, path).flatMap(([key]): [string, string][] => {
    const text = textAt(document, [...path, key]);
    return text === undefined ? [] : [[key, text]];
  });
}

const TRUE = /^(y|yes|true|on)$/i;
const FALSE = /^(n|no|false|off)$/i;

/** A boolean as Go's YAML reads one; undefined for anything else. */
export function booleanAt(document: SourceDocument, path: Path): boolean | undefined {
  const value = valueAt(document.value, path);
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string') return undefined;
  if (TRUE.test(value)) return true;
  return FALSE.test(value) ? false : undefined;
}

/** Flags are a text or, since Talos 1.13, a list of texts, which repeats the flag. */
export function flagTexts(document: SourceDocument, path: Path): [at: Path, text: string][] {
  const value = valueAt(document.value, path);
  const places = Array.isArray(value) ? [...value.keys()].map((index) => [...path, index]) : [path];
  return places.flatMap((at): [Path, string][] => {
    const text = textAt(document, at);
    return text === undefined ? [] : [[at, text]];
  });
}

import type { SourceDocument } from '../files/documents.ts';
import type { Path } from '../policy/problem.ts';

/** A mapping of YAML or JSON. */
export type Mapping = Readonly<Record<string, unknown>>;

export function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What the path leads to; undefined where it leads nowhere. */
export function valueAt(value: unknown, path: Path): unknown {
  let found = value;
  for (const part of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, part)) return undefined;
    found = (found as Record<string | number, unknown>)[part];
  }
  return found;
}

/** The kind of a document; undefined for the one with `machine` and `cluster`, which has none. */
export function kindOf({ value }: SourceDocument): unknown {
  return valueAt(value, ['kind']);
}

/** The entries of the mapping that the path leads to; none where there is no mapping. */
export function entriesAt({ value }: SourceDocument, path: Path): [key: string, value: unknown][] {
  const found = valueAt(value, path);
  return isMapping(found) ? Object.entries(found) : [];
}

/**
 * A scalar as the text that Talos takes it for: Go reads `true` and `1.10` as they are written where it expects a text.
 * Undefined for lists, mappings and what is not there.
 */
export function textAt(document: SourceDocument, path: Path): string | undefined {
  const value = valueAt(document.value, path);
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
    case 'boolean':
    case 'bigint':
      return document.scalar(path) ?? String(value);
    default:
      return value === null ? '' : undefined;
  }
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

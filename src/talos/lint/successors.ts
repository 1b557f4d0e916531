import type { SourceDocument } from '../../files/documents.ts';
import { isMapping, valueAt } from '../../kubernetes/json.ts';
import type { Path } from '../../policy/problem.ts';
import { kindOf } from '../document-values.ts';
import { documentEntry, documentLife, type Entry, entryAt } from '../fields.ts';
import { surelyBefore } from '../versions.ts';
import { lifeFact } from './field-facts.ts';

/** The kind of document that replaces a field of the older form, in this version or beside these documents. */
export function successorIn(place: Path, version: number | undefined, kinds: readonly unknown[]): string | undefined {
  const lives = place.flatMap((_, index) => entryAt(documentEntry(undefined), place.slice(0, index + 1))?.life ?? []);
  const life = lives.findLast(({ successor }) => typeof successor === 'string' && isKindName(successor));
  if (!life?.successor) return undefined;
  const isMeant = lives.some((each) => lifeFact(each, version) === 'deprecated') || kinds.includes(life.successor);
  return isMeant ? life.successor : undefined;
}

/** Where that version expects the content of a field of the older form: `set the same in …`. Undefined if that is not known. */
export function insteadOf(document: SourceDocument, path: Path, version: number | undefined): string | undefined {
  const places = new Set<string>();
  const orphans: string[] = [];
  const place = (field: Entry, value: unknown, outer: string | undefined, at: Path): void => {
    const successor = field.life?.successor;
    const own = successor === undefined ? outer : successor === null ? undefined : placeOf(successor, at, version);
    if (successor === null) orphans.push(String(at.at(-1)));
    const parts = partsOf(field, value, at);
    if (successor !== null && own !== undefined && parts.length === 0) places.add(own);
    for (const { field: part, value: below, at: inner } of parts) place(part, below, own, inner);
  };
  const field = entryAt(documentEntry(undefined), path);
  if (!field || kindOf(document) !== undefined) return undefined;
  place(field, valueAt(document.value, path), undefined, path);
  const belongs = [...places].map((each) => (isKindName(each) ? `a ${each} document` : each)).join(' or ');
  return (
    [
      ...(belongs === '' ? [] : [`set the same in ${belongs}${belongs.includes('KubeNodeConfig') ? ROLE : ''}`]),
      ...(orphans.length === 0 ? [] : [`nothing takes the place of ${orphans.join(' and ')}`]),
    ].join('; ') || undefined
  );
}

const ROLE = ' (where Talos adds neither label nor taint to a control plane by itself)';

/** Whether a successor is a kind of document, and not a field: fields begin with a small letter. */
function isKindName(successor: string): boolean {
  return /^[A-Z]/.test(successor);
}

/** A kind of document, or the path of a field beside this one, with its own replacement. */
function placeOf(successor: string, at: Path, version: number | undefined): string | undefined {
  if (isKindName(successor)) {
    return surelyBefore(version, documentLife(successor)?.since ?? 0) ? undefined : successor;
  }
  const path = [...at.slice(0, -1), successor];
  const life = entryAt(documentEntry(undefined), path)?.life;
  const next = life && lifeFact(life, version) === 'deprecated' ? life.successor : undefined;
  return typeof next === 'string' ? placeOf(next, path, version) : path.join('.');
}

/** The known fields in a value, also in the items of a list or mapping. */
function partsOf(entry: Entry, value: unknown, at: Path): { field: Entry; value: unknown; at: Path }[] {
  const item = entry.children.get('*');
  if (item) {
    const items = isMapping(value) || Array.isArray(value) ? Object.entries(value) : [];
    return items.flatMap(([key, below]) => partsOf(item, below, [...at, key]));
  }
  if (!isMapping(value)) return [];
  return Object.entries(value).flatMap(([name, below]) => {
    const field = entry.children.get(name);
    return field?.life ? [{ field, value: below, at: [...at, name] }] : [];
  });
}

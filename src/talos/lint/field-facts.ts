import { oncePer } from '../../collections/once-per.ts';
import type { SourceDocument } from '../../files/documents.ts';
import { isMapping, valueAt } from '../../kubernetes/json.ts';
import { formatPath } from '../../policy/problem.ts';
import { kindOf } from '../document-values.ts';
import type { FieldLocation } from '../field-location.ts';
import { documentEntry, type Entry, entryAt, type FieldLife } from '../fields.ts';
import { typeFaults } from '../type-check.ts';
import type { LintSubject } from './finding.ts';

/** The possible findings about a field of a document. */
export type FieldFact = FieldLocation & { readonly name: string } & (
    | { readonly fact: 'unknown'; readonly beside: readonly string[] }
    | { readonly fact: 'too new' | 'gone' | 'deprecated'; readonly life: FieldLife }
    /** `type` is that of the table, such as `[]text`. */
    | { readonly fact: 'wrong type'; readonly type: string; readonly entry: Entry | undefined }
  );

/**
 * The fields of all documents that the version of Talos does not have, only accepts without effect, or reads with another type. Without a version:
 * those that no version has, or reads. The parts of a deprecated field are not reported as deprecated, and nothing below an unknown field or in a
 * document of an unknown kind is reported.
 */
export const fieldFacts = oncePer(
  ({ configuration, version, patch }: Pick<LintSubject, 'configuration' | 'version' | 'patch'>): readonly FieldFact[] =>
    configuration.documents.flatMap((document) => {
      const kind = kindOf(document);
      if (kind !== undefined && typeof kind !== 'string') return [];
      const entry = documentEntry(kind);
      if (!entry?.life || lifeFact(entry.life, version)) return [];
      const decodingFacts = decoding(document, entry, version, readsArgumentLists(version, patch));
      const wrong = decodingFacts.filter(({ fact }) => fact === 'wrong type').map(({ path }) => formatPath(path));
      return [
        ...decodingFacts,
        ...deprecated(document, entry, version).filter(({ path }) => !wrong.includes(formatPath(path))),
      ];
    }),
);

/** A list of texts for one argument. Earlier patches of 1.13 have the type, and cannot read it (siderolabs/gen 0.8.7). */
export const ARGUMENT_LISTS_SINCE = { minor: 13, patch: 6 } as const;

function readsArgumentLists(version: number | undefined, patch: number | undefined): boolean {
  if (version === undefined) return true;
  return (
    version > ARGUMENT_LISTS_SINCE.minor ||
    (version === ARGUMENT_LISTS_SINCE.minor && (patch ?? 0) >= ARGUMENT_LISTS_SINCE.patch)
  );
}

function decoding(
  document: SourceDocument,
  entry: Entry,
  version: number | undefined,
  argumentLists: boolean,
): FieldFact[] {
  return typeFaults(document.value, { entry, decoder: 'talos', version, argumentLists }).flatMap(
    (fault): FieldFact[] => {
      const { path } = fault;
      const at = { document, path, name: String(path.at(-1) ?? '') };
      const field = entryAt(entry, path);
      if (fault.fault === 'wrong type') return [{ ...at, fact: 'wrong type', type: fault.type, entry: field }];
      if (at.path.length === 1 && WRITTEN_BY_TALOS.includes(at.name)) return [];
      const beside = [...(entryAt(entry, path.slice(0, -1))?.children.keys() ?? [])];
      const fact = field?.life && lifeFact(field.life, version);
      return field?.life && fact ? [{ ...at, fact, life: field.life }] : [{ ...at, fact: 'unknown', beside }];
    },
  );
}

/** What is left out of the version without its deprecated fields. */
function deprecated(document: SourceDocument, entry: Entry, version: number | undefined): FieldFact[] {
  if (version === undefined) return [];
  const without = (life: FieldLife) => lifeFact(life, version) === 'deprecated';
  return typeFaults(document.value, { entry, decoder: 'talos', version, without }).flatMap(({ path }): FieldFact[] => {
    const field = entryAt(entry, path);
    if (!field?.life || !without(field.life) || isEmptyValue(field, valueAt(document.value, path))) return [];
    const name = String(path.at(-1));
    if (path.length === 1 && WRITTEN_BY_TALOS.includes(name)) return [];
    return [{ document, path, name, fact: 'deprecated', life: field.life }];
  });
}

/** Go has such a struct whether it is written or not: an empty one, as Talos itself writes it, says nothing. */
function isEmptyValue({ types }: Entry, value: unknown): boolean {
  return types.some(({ type }) => type === 'value') && isMapping(value) && Object.keys(value).length === 0;
}

/** If the version is outside of the known versions of the field. */
export function lifeFact(life: FieldLife, version: number | undefined): 'too new' | 'gone' | 'deprecated' | undefined {
  if (version === undefined) return undefined;
  if (version < life.since) return 'too new';
  if (version > life.until) return 'gone';
  return life.deprecated !== undefined && version >= life.deprecated ? 'deprecated' : undefined;
}

/** Talos itself writes them into every configuration that it generates. */
const WRITTEN_BY_TALOS: readonly string[] = ['persist'];

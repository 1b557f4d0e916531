import type { SourceDocument } from '../../files/documents.ts';
import type { Path } from '../../policy/problem.ts';
import type { Place } from '../declared.ts';
import { documentLife, documentSection, type FieldLife, type Section } from '../fields.ts';
import { isMapping, kindOf } from '../tree.ts';
import type { LintSubject } from './finding.ts';

/** What there is to say of a field of a document. */
export type FieldFact = Place & { readonly name: string } & (
    | { readonly fact: 'unknown'; readonly beside: readonly string[] }
    | { readonly fact: 'too new' | 'gone' | 'deprecated'; readonly life: FieldLife }
  );

/**
 * The fields of all documents that the version of Talos does not have, or has no longer in earnest; where nobody says which
 * version it is, those that no version has. Nothing is said of what stands below one of them, nor of documents of a kind
 * that is none.
 */
export function fieldFacts({ configuration, version }: LintSubject): FieldFact[] {
  return configuration.documents.flatMap((document) => {
    const kind = kindOf(document);
    const life = documentLife(typeof kind === 'string' ? kind : undefined);
    if (!life || lifeFact(life, version) || (kind !== undefined && typeof kind !== 'string')) return [];
    return [...walk(document, document.value, documentSection(kind), [], version)];
  });
}

/** Where the version is outside of what is known of the field. */
export function lifeFact(life: FieldLife, version: number | undefined): 'too new' | 'gone' | 'deprecated' | undefined {
  if (version === undefined) return undefined;
  if (version < life.since) return 'too new';
  if (version > life.until) return 'gone';
  return life.deprecated !== undefined && version >= life.deprecated ? 'deprecated' : undefined;
}

/** Talos itself writes them into every configuration that it makes. */
const WRITTEN_BY_TALOS: readonly string[] = ['persist'];

function* walk(
  document: SourceDocument,
  value: unknown,
  section: Section,
  path: Path,
  version: number | undefined,
): Generator<FieldFact> {
  switch (section.kind) {
    case 'free':
      return;
    case 'items': {
      const items = Array.isArray(value) ? [...value.entries()] : isMapping(value) ? Object.entries(value) : [];
      for (const [key, below] of items) yield* walk(document, below, section.item, [...path, key], version);
      return;
    }
    case 'fields':
      if (!isMapping(value)) return;
      for (const [name, below] of Object.entries(value)) {
        const field = section.fields.get(name);
        const at = { document, path: [...path, name], name };
        if (!field) {
          yield { ...at, fact: 'unknown', beside: [...section.fields.keys()] };
          continue;
        }
        const fact = path.length === 0 && WRITTEN_BY_TALOS.includes(name) ? undefined : lifeFact(field.life, version);
        if (fact) yield { ...at, fact, life: field.life };
        else yield* walk(document, below, field.section, at.path, version);
      }
  }
}

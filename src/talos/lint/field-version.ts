import type { SourceDocument } from '../../files/documents.ts';
import type { Path } from '../../policy/problem.ts';
import type { Place } from '../declared.ts';
import { documentLife, documentSection, FIRST_VERSION, type FieldLife, type Section } from '../fields.ts';
import { entriesAt, isMapping, kindOf } from '../tree.ts';
import type { Finding, LintSubject, Rule } from './finding.ts';

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

export const FIELD_VERSION: Rule = {
  id: 'field-version',
  about:
    'A field, or a kind of document, that this version of Talos does not have yet, or has no longer: it refuses the whole configuration. Needs the version, from `--talos-version` or the tag of `machine.install.image`.',
  check: (subject) => [
    ...documents(subject, ['too new', 'gone']),
    ...facts(subject, ['too new', 'gone']),
    ...flagLists(subject),
  ],
};

export const DEPRECATED_FIELD: Rule = {
  id: 'deprecated-field',
  about: 'A field that this version of Talos still reads, and a later one will not. Needs the version.',
  check: (subject) => facts(subject, ['deprecated']),
};

type Fact = 'too new' | 'gone' | 'deprecated';

function documents({ configuration, version }: LintSubject, wanted: readonly Fact[]): Omit<Finding, 'rule'>[] {
  return configuration.documents.flatMap((document) => {
    const kind = kindOf(document);
    const life = typeof kind === 'string' ? documentLife(kind) : undefined;
    const fact = life && lifeFact(life, version);
    if (!life || !fact || !wanted.includes(fact)) return [];
    return [{ document, path: ['kind'], ...explain(`documents of kind ${kind}`, life, fact, version) }];
  });
}

function facts(subject: LintSubject, wanted: readonly Fact[]): Omit<Finding, 'rule'>[] {
  return fieldFacts(subject).flatMap((found) => {
    if (found.fact === 'unknown' || !wanted.includes(found.fact)) return [];
    const { document, path, name, life, fact } = found;
    return [{ document, path, ...explain(name, life, fact, subject.version) }];
  });
}

function explain(what: string, life: FieldLife, fact: Fact, version = 0): { reason: string; fix: string } {
  const { successor } = life;
  const instead =
    successor && (/^[A-Z]/.test(successor) ? `write a document of kind ${successor}` : `write ${successor}`);
  switch (fact) {
    case 'too new':
      return {
        reason: `Talos 1.${version} does not have ${what}, which came with 1.${life.since}: it refuses the configuration`,
        fix: `upgrade to Talos 1.${life.since} or later first, or take it out`,
      };
    case 'gone':
      return {
        reason: `Talos 1.${version} no longer has ${what}, which went after 1.${life.until}: it refuses the configuration`,
        fix: instead ?? 'take it out',
      };
    case 'deprecated':
      return {
        reason: `${what} is deprecated since Talos 1.${life.deprecated}${life.deprecated === FIRST_VERSION ? ' or before' : ''}, and a later one may not read it`,
        fix: instead ?? 'take it out, and see the upgrade notes of Talos for what took its place',
      };
  }
}

/** Since 1.13 a flag may be a list of texts. */
const FLAG_LISTS_SINCE = 13;

function flagLists({ configuration, version }: LintSubject): Omit<Finding, 'rule'>[] {
  if (version === undefined || version >= FLAG_LISTS_SINCE) return [];
  const path = ['machine', 'kubelet', 'extraArgs'];
  return configuration.documents.flatMap((document) =>
    entriesAt(document, path).flatMap(([flag, value]) => {
      if (kindOf(document) !== undefined || !Array.isArray(value)) return [];
      return [
        {
          document,
          path: [...path, flag],
          reason: `Talos 1.${version} takes one text for a flag, lists came with 1.${FLAG_LISTS_SINCE}: it refuses the configuration`,
          fix: 'write one text, with commas between the parts',
        },
      ];
    }),
  );
}

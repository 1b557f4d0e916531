import type { SourceDocument } from '../../files/documents.ts';
import type { Path } from '../../policy/problem.ts';
import type { FieldLocation } from '../declared.ts';
import {
  documentLife,
  documentSection,
  FIRST_VERSION,
  type FieldLife,
  type FieldSection,
  type Section,
} from '../fields.ts';
import { entriesAt, isMapping, kindOf, valueAt } from '../tree.ts';
import type { LintSubject, Rule, RuleFinding } from './finding.ts';

/** The possible findings about a field of a document. */
export type FieldFact = FieldLocation & { readonly name: string } & (
    | { readonly fact: 'unknown'; readonly beside: readonly string[] }
    | { readonly fact: 'too new' | 'gone' | 'deprecated'; readonly life: FieldLife }
  );

/**
 * The fields of all documents that the version of Talos does not have, or only accepts without effect. Without a version: those that no version has.
 * The parts of a deprecated field are not reported separately, nor is anything below an unknown field or in a document of an unknown kind.
 */
export function fieldFacts({ configuration, version }: LintSubject): FieldFact[] {
  return configuration.documents.flatMap((document) => {
    const kind = kindOf(document);
    const life = documentLife(typeof kind === 'string' ? kind : undefined);
    if (!life || lifeFact(life, version) || (kind !== undefined && typeof kind !== 'string')) return [];
    return [...walk(document, document.value, documentSection(kind), [], version, false)];
  });
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

function* walk(
  document: SourceDocument,
  value: unknown,
  section: Section,
  path: Path,
  version: number | undefined,
  isDeprecated: boolean,
): Generator<FieldFact> {
  switch (section.kind) {
    case 'free':
      return;
    case 'items': {
      const items = Array.isArray(value) ? [...value.entries()] : isMapping(value) ? Object.entries(value) : [];
      for (const [key, below] of items) {
        yield* walk(document, below, section.item, [...path, key], version, isDeprecated);
      }
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
        if (fact && !(fact === 'deprecated' && isDeprecated)) yield { ...at, fact, life: field.life };
        if (fact !== 'too new' && fact !== 'gone') {
          yield* walk(document, below, field.section, at.path, version, isDeprecated || fact === 'deprecated');
        }
      }
  }
}

export const FIELD_VERSION: Rule = {
  id: 'field-version',
  severity: 'refused',
  about:
    'A field, or a kind of document, that this version of Talos does not have yet, or has no longer: it refuses the whole configuration. Needs the version, from `--talos-version` or the tag of `machine.install.image`.',
  check: (subject) => [...documents(subject), ...facts(subject, ['too new', 'gone']), ...flagLists(subject)],
};

export const DEPRECATED_FIELD: Rule = {
  id: 'deprecated-field',
  severity: 'deprecated',
  about: 'A field that this version of Talos still reads, and a later one will not. Needs the version.',
  check: (subject) => facts(subject, ['deprecated']),
};

type Fact = 'too new' | 'gone' | 'deprecated';

function documents({ configuration, version }: LintSubject): RuleFinding[] {
  return configuration.documents.flatMap((document) => {
    const kind = kindOf(document);
    const life = typeof kind === 'string' ? documentLife(kind) : undefined;
    const fact = life && lifeFact(life, version);
    if (!life || !fact || fact === 'deprecated') return [];
    return [{ document, path: ['kind'], ...explain(`documents of kind ${kind}`, life, fact, version) }];
  });
}

function facts(subject: LintSubject, reported: readonly Fact[]): RuleFinding[] {
  return fieldFacts(subject).flatMap((found) => {
    if (found.fact === 'unknown' || !reported.includes(found.fact)) return [];
    const { document, path, name, life, fact } = found;
    const instead = insteadOf(document, path, subject.version);
    return [{ document, path, ...explain(name, life, fact, subject.version, instead) }];
  });
}

function explain(
  what: string,
  life: FieldLife,
  fact: Fact,
  version = 0,
  instead?: string,
): { reason: string; fix: string } {
  switch (fact) {
    case 'too new':
      return {
        reason: `Talos 1.${version} does not have ${what}, which came with 1.${life.since}: it refuses the configuration`,
        fix: `upgrade to Talos 1.${life.since} or later first, or take it out`,
      };
    case 'gone':
      return {
        reason: `Talos 1.${version} no longer has ${what}, which went after 1.${life.until}: it refuses the configuration`,
        fix: instead ? `take it out; ${instead}` : 'take it out',
      };
    case 'deprecated':
      return {
        reason: `${what} is deprecated since Talos 1.${life.deprecated}${life.deprecated === FIRST_VERSION ? ' or before' : ''}, and a later one may not read it`,
        fix: `take it out${instead ? `; ${instead}` : ', and see the upgrade notes of Talos for what took its place'}`,
      };
  }
}

/** Where that version expects the content of a field of the older form: `what it says belongs into …`. Undefined if that is not known. */
export function insteadOf(document: SourceDocument, path: Path, version: number | undefined): string | undefined {
  const places = new Set<string>();
  const orphans: string[] = [];
  const place = (field: FieldSection, value: unknown, outer: string | undefined, at: Path): void => {
    const { successor } = field.life;
    const own = successor === undefined ? outer : successor === null ? undefined : placeOf(successor, at, version);
    if (successor === null) orphans.push(String(at.at(-1)));
    const parts = partsOf(field.section, value, at);
    if (successor !== null && own !== undefined && parts.length === 0) places.add(own);
    for (const { field: part, value: below, at: inner } of parts) place(part, below, own, inner);
  };
  const field = fieldAt(documentSection(undefined), path);
  if (!field || kindOf(document) !== undefined) return undefined;
  place(field, valueAt(document.value, path), undefined, path);
  const belongs = [...places].map((each) => (/^[A-Z]/.test(each) ? `a ${each} document` : each)).join(' or ');
  return (
    [
      ...(belongs === ''
        ? []
        : [`what it says belongs into ${belongs}${belongs.includes('KubeNodeConfig') ? ROLE : ''}`]),
      ...(orphans.length === 0 ? [] : [`nothing takes the place of ${orphans.join(' and ')}`]),
    ].join('; ') || undefined
  );
}

const ROLE = ' (where Talos adds neither label nor taint to a control plane by itself)';

/** A kind of document, or the path of a field beside this one, with its own replacement. */
function placeOf(successor: string, at: Path, version: number | undefined): string | undefined {
  if (/^[A-Z]/.test(successor)) {
    return version !== undefined && version < (documentLife(successor)?.since ?? 0) ? undefined : successor;
  }
  const path = [...at.slice(0, -1), successor];
  const life = fieldAt(documentSection(undefined), path)?.life;
  const next = life && lifeFact(life, version) === 'deprecated' ? life.successor : undefined;
  return typeof next === 'string' ? placeOf(next, path, version) : path.join('.');
}

/** What is known of a field of a section. */
export function fieldAt(section: Section, path: Path): FieldSection | undefined {
  const [name, ...rest] = path;
  if (section.kind === 'items') return rest.length > 0 ? fieldAt(section.item, rest) : undefined;
  const field = section.kind === 'fields' ? section.fields.get(String(name)) : undefined;
  return !field || rest.length === 0 ? field : fieldAt(field.section, rest);
}

/** The known fields in a value, also in the items of a list or mapping. */
function partsOf(section: Section, value: unknown, at: Path): { field: FieldSection; value: unknown; at: Path }[] {
  if (section.kind === 'items') {
    const items = isMapping(value) || Array.isArray(value) ? Object.entries(value) : [];
    return items.flatMap(([key, below]) => partsOf(section.item, below, [...at, key]));
  }
  if (section.kind === 'free' || !isMapping(value)) return [];
  return Object.entries(value).flatMap(([name, below]) => {
    const field = section.fields.get(name);
    return field ? [{ field, value: below, at: [...at, name] }] : [];
  });
}

/** Since 1.13 a flag may be a list of texts. */
const FLAG_LISTS_SINCE = 13;

function flagLists({ configuration, version }: LintSubject): RuleFinding[] {
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

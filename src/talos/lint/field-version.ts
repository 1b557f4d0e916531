import type { SourceDocument } from '../../files/documents.ts';
import { isMapping, valueAt } from '../../kubernetes/json.ts';
import type { Path } from '../../policy/problem.ts';
import { documentEntry, documentLife, type Entry, entryAt, FIRST_VERSION, type FieldLife } from '../fields.ts';
import { kindOf } from '../tree.ts';
import { fieldFacts, lifeFact } from './field-facts.ts';
import type { LintSubject, Rule, RuleFinding } from './finding.ts';

export const FIELD_VERSION: Rule = {
  id: 'field-version',
  severity: 'refused',
  about:
    'A field, or a kind of document, that this version of Talos does not have yet, or has no longer: it refuses the whole configuration. Needs the version, from `--talos-version` or the tag of `machine.install.image`.',
  check: (subject) => [...documents(subject), ...facts(subject, ['too new', 'gone'])],
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
  return fieldFacts(subject).flatMap((fieldFact) => {
    if (!('life' in fieldFact) || !reported.includes(fieldFact.fact)) return [];
    const { document, path, name, life, fact } = fieldFact;
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

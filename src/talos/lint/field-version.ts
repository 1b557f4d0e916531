import { kindOf } from '../document-values.ts';
import { documentLife, type FieldLife } from '../fields.ts';
import { FIRST_VERSION, formatVersion } from '../versions.ts';
import { fieldFacts, lifeFact } from './field-facts.ts';
import type { LintSubject, Rule, RuleFinding } from './finding.ts';
import { insteadOf } from './successors.ts';

export const FIELD_VERSION: Rule = {
  id: 'field-version',
  severity: 'refused',
  needsKnownVersion: true,
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
        reason: `${formatVersion(version)} does not have ${what}, which came with 1.${life.since}: it refuses the configuration`,
        fix: `upgrade to Talos 1.${life.since} or later first, or remove it`,
      };
    case 'gone':
      return {
        reason: `${formatVersion(version)} no longer has ${what}, which was removed after 1.${life.until}: it refuses the configuration`,
        fix: instead ? `remove it; ${instead}` : 'remove it',
      };
    case 'deprecated':
      return {
        reason: `${what} is deprecated since Talos 1.${life.deprecated}${life.deprecated === FIRST_VERSION ? ' or before' : ''}, and a later one may not read it`,
        fix: `remove it${instead ? `; ${instead}` : ', and see the upgrade notes of Talos for what took its place'}`,
      };
  }
}

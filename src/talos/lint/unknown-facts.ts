import type { SourceDocument } from '../../files/documents.ts';
import { formatPath } from '../../policy/problem.ts';
import { kindOf } from '../document-values.ts';
import { type FieldFact, fieldFacts } from './field-facts.ts';
import type { LintSubject } from './finding.ts';

export type UnknownFact = FieldFact & { readonly fact: 'unknown' };

/** The fields that no version of Talos has. */
export function unknownFacts(subject: LintSubject): UnknownFact[] {
  return fieldFacts(subject).filter((fact): fact is UnknownFact => fact.fact === 'unknown');
}

export function unknownReason({ document, path, name }: UnknownFact): string {
  return `there is no ${name} in ${sectionName(document, path)}: Talos refuses a configuration with fields that it does not know`;
}

/** Whether the unknown field is an old or new one for the names of a certificate. The rule certificate-names reports these fields. */
export function isCertificateField({ name }: UnknownFact): boolean {
  return /^cert(Extra)?SANs$/.test(name);
}

function sectionName(document: SourceDocument, path: FieldFact['path']): string {
  const kind = kindOf(document);
  const above = formatPath(path.slice(0, -1));
  if (typeof kind === 'string') return above === '' ? kind : `${above} of ${kind}`;
  return above === '' ? 'the top level' : above;
}

import type { SourceDocument } from '../../files/documents.ts';
import { formatPath } from '../../policy/problem.ts';
import { documentKinds, documentLife } from '../fields.ts';
import { kindOf } from '../tree.ts';
import { type FieldFact, fieldFacts } from './field-facts.ts';
import type { Finding, LintSubject, Rule } from './finding.ts';
import { nearest } from './nearest.ts';
import { kubeletSection, placesOf } from './places.ts';

type Unknown = FieldFact & { readonly fact: 'unknown' };

const isUnknown = (fact: FieldFact): fact is Unknown => fact.fact === 'unknown';
const REFUSED = 'Talos refuses a configuration with fields that it does not know';

/** A field of that name for certificates' names, old and new. */
const CERTIFICATE_FIELD = /^cert(Extra)?SANs$/;

export const UNKNOWN_FIELD: Rule = {
  id: 'unknown-field',
  about: 'A field, or a kind of document, that no Talos from 1.3 to 1.15 has: Talos refuses the whole configuration.',
  check: (subject) => [
    ...subject.configuration.documents.flatMap(unknownKind),
    ...fieldFacts(subject).filter(isUnknown).filter(isNowhere).map(nowhere),
  ],
};

export const MISPLACED_FIELD: Rule = {
  id: 'misplaced-field',
  about:
    'A setting in the wrong section: of the kubelet or the node under `cluster`, of the cluster under `machine.kubelet`, or one level too high or too low.',
  check: (subject) =>
    fieldFacts(subject)
      .filter(isUnknown)
      .filter((fact) => !isNowhere(fact) && !CERTIFICATE_FIELD.test(fact.name))
      .map(misplaced),
};

/** Part of the rule about names of certificates. */
export function misplacedCertificateNames(subject: LintSubject): Omit<Finding, 'rule'>[] {
  return fieldFacts(subject)
    .filter(isUnknown)
    .filter(({ name }) => CERTIFICATE_FIELD.test(name))
    .map(({ document, path, name }) => ({
      document,
      path,
      reason: `there is no ${name} in ${sectionName(document, path)}: ${REFUSED}`,
      fix: "use machine.certSANs for names of Talos' API (talosctl), and for names of the Kubernetes API (kubectl) cluster.apiServer.certSANs, or certExtraSANs of KubeAPIServerConfig since Talos 1.14",
    }));
}

function isNowhere({ document, name, beside }: Unknown): boolean {
  if (CERTIFICATE_FIELD.test(name)) return false;
  return kindOf(document) !== undefined || nearest(name, beside) !== undefined || placesOf(name).length === 0;
}

function nowhere({ document, path, name, beside }: Unknown): Omit<Finding, 'rule'> {
  const ofKubelet = kindOf(document) === undefined ? undefined : kubeletSection(name);
  const meant = nearest(name, beside) ?? beside.find((field) => name.toLowerCase().endsWith(field.toLowerCase()));
  return {
    document,
    path,
    reason: `there is no ${name} in ${sectionName(document, path)}: ${REFUSED}`,
    fix: meant
      ? `did you mean ${meant}?`
      : ofKubelet
        ? `move it to ${ofKubelet.newer} of a KubeletConfig document`
        : 'take it out',
  };
}

function misplaced({ document, path, name }: Unknown): Omit<Finding, 'rule'> {
  const places = placesOf(name).map(formatPath);
  return {
    document,
    path,
    reason: `there is no ${name} in ${sectionName(document, path)}: ${REFUSED}`,
    fix: `move it to ${places.join(' or ')}`,
  };
}

function sectionName(document: SourceDocument, path: FieldFact['path']): string {
  const kind = kindOf(document);
  const above = formatPath(path.slice(0, -1));
  if (typeof kind === 'string') return above === '' ? kind : `${above} of ${kind}`;
  return above === '' ? 'the top level' : above;
}

function unknownKind(document: SourceDocument): Omit<Finding, 'rule'>[] {
  const kind = kindOf(document);
  if (kind === undefined || (typeof kind === 'string' && documentLife(kind))) return [];
  const meant = nearest(String(kind), documentKinds());
  return [
    {
      document,
      path: ['kind'],
      reason: 'no Talos has documents of this kind: it refuses the whole configuration',
      fix: meant ? `did you mean ${meant}?` : 'take the document out',
    },
  ];
}

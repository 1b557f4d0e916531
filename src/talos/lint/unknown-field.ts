import type { SourceDocument } from '../../files/documents.ts';
import { formatPath, type Path } from '../../policy/problem.ts';
import {
  documentEntry,
  documentKinds,
  documentLife,
  type Entry,
  entryAt,
  FIRST_VERSION,
  kubeletEntry,
  LAST_VERSION,
} from '../fields.ts';
import { kindOf } from '../tree.ts';
import { type FieldFact, fieldFacts, lifeFact } from './field-facts.ts';
import type { LintSubject, Rule, RuleFinding } from './finding.ts';
import { PROTECTED } from './kubelet-configuration.ts';
import { KUBELET_FLAGS } from './misplaced-flag.ts';
import { nearest } from './nearest.ts';

let placesByName: ReadonlyMap<string, readonly Path[]> | undefined;

/** Where `machine` and `cluster` have a field of that name. Empty for common names, which identify nothing. */
function placesOf(name: string): readonly Path[] {
  placesByName ??= indexPlaces();
  const places = placesByName.get(name) ?? [];
  const ofKubelet = kubeletSection(name);
  if (places.length === 0 && ofKubelet) return [['machine', 'kubelet', ofKubelet.older, name]];
  return places.length <= MANY ? places : [];
}

/** The free section of the kubelet that has a setting, by the names of the older form and of KubeletConfig. */
function kubeletSection(name: string): { readonly older: string; readonly newer: string } | undefined {
  if (KUBELET_FLAGS.includes(name)) return { older: 'extraArgs', newer: 'extraArgs' };
  return kubeletEntry().children.has(name) && !PROTECTED.includes(name)
    ? { older: 'extraConfig', newer: 'config' }
    : undefined;
}

/** With more places than this, the name alone does not identify the field. */
const MANY = 2;

function indexPlaces(): ReadonlyMap<string, readonly Path[]> {
  const places = new Map<string, Path[]>();
  const walk = (entry: Entry | undefined, path: Path): void => {
    if (entry?.children.has('*')) return;
    for (const [name, below] of entry?.children ?? []) {
      const at = [...path, name];
      places.set(name, [...(places.get(name) ?? []), at]);
      walk(below, at);
    }
  };
  walk(documentEntry(undefined), []);
  return places;
}

type Unknown = FieldFact & { readonly fact: 'unknown' };

const isUnknown = (fact: FieldFact): fact is Unknown => fact.fact === 'unknown';
const REFUSED = 'Talos refuses a configuration with fields that it does not know';

/** A field of that name for certificates' names, old and new. */
const CERTIFICATE_FIELD = /^cert(Extra)?SANs$/;

export const UNKNOWN_FIELD: Rule = {
  id: 'unknown-field',
  severity: 'refused',
  about: 'A field, or a kind of document, that no Talos from 1.3 to 1.15 has: Talos refuses the whole configuration.',
  check: (subject) => [
    ...subject.configuration.documents.flatMap(unknownKind),
    ...fieldFacts(subject).filter(isUnknown).filter(isNowhere).map(nowhere),
  ],
};

export const MISPLACED_FIELD: Rule = {
  id: 'misplaced-field',
  severity: 'refused',
  about:
    'A setting in the wrong section: of the kubelet or the node under `cluster`, of the cluster under `machine.kubelet`, or one level too high or too low.',
  check: (subject) =>
    fieldFacts(subject)
      .filter(isUnknown)
      .filter((fact) => !isNowhere(fact) && !CERTIFICATE_FIELD.test(fact.name))
      .map((fact) => misplaced(fact, subject)),
};

/** Part of the rule about names of certificates. */
export function misplacedCertificateNames(subject: LintSubject): RuleFinding[] {
  return fieldFacts(subject)
    .filter(isUnknown)
    .filter(({ name }) => CERTIFICATE_FIELD.test(name))
    .map(({ document, path, name }) => ({
      document,
      path,
      severity: 'refused',
      reason: `there is no ${name} in ${sectionName(document, path)}: ${REFUSED}`,
      fix: "use machine.certSANs for names of Talos' API (talosctl), and for names of the Kubernetes API (kubectl) cluster.apiServer.certSANs, or certExtraSANs of KubeAPIServerConfig since Talos 1.14",
    }));
}

function isNowhere({ document, name, beside }: Unknown): boolean {
  if (CERTIFICATE_FIELD.test(name)) return false;
  return kindOf(document) !== undefined || nearest(name, beside) !== undefined || placesOf(name).length === 0;
}

function nowhere({ document, path, name, beside }: Unknown): RuleFinding {
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

function misplaced({ document, path, name }: Unknown, { configuration, version }: LintSubject): RuleFinding {
  const kinds = configuration.documents.map(kindOf);
  const places = placesOf(name).map((place) => {
    const newer = successorIn(place, version, kinds);
    return newer === undefined ? formatPath(place) : `a ${newer} document`;
  });
  return {
    document,
    path,
    reason: `there is no ${name} in ${sectionName(document, path)}: ${REFUSED}`,
    fix: `move it to ${places.join(' or ')}`,
  };
}

/** The kind of document that replaces a field of the older form, in this version or beside these documents. */
function successorIn(place: Path, version: number | undefined, kinds: readonly unknown[]): string | undefined {
  const lives = place.flatMap((_, index) => entryAt(documentEntry(undefined), place.slice(0, index + 1))?.life ?? []);
  const life = lives.findLast(({ successor }) => typeof successor === 'string' && /^[A-Z]/.test(successor));
  if (!life?.successor) return undefined;
  const isMeant = lives.some((each) => lifeFact(each, version) === 'deprecated') || kinds.includes(life.successor);
  return isMeant ? life.successor : undefined;
}

function sectionName(document: SourceDocument, path: FieldFact['path']): string {
  const kind = kindOf(document);
  const above = formatPath(path.slice(0, -1));
  if (typeof kind === 'string') return above === '' ? kind : `${above} of ${kind}`;
  return above === '' ? 'the top level' : above;
}

function unknownKind(document: SourceDocument): RuleFinding[] {
  const kind = kindOf(document);
  if (kind === undefined || (typeof kind === 'string' && documentLife(kind))) return [];
  const kinds = documentKinds();
  // Talos' own schema omits the end of two of them.
  const meant = kinds.find((each) => each === `${kind}Config`) ?? nearest(String(kind), kinds);
  return [
    {
      document,
      path: ['kind'],
      reason: `no Talos from 1.${FIRST_VERSION} to 1.${LAST_VERSION} has documents of this kind: it refuses the whole configuration`,
      fix: meant ? `did you mean ${meant}?` : 'take the document out',
    },
  ];
}

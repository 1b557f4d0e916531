import { lazy } from '../../collections/lazy.ts';
import type { SourceDocument } from '../../files/documents.ts';
import { formatPath, type Path } from '../../policy/problem.ts';
import { kindOf } from '../document-values.ts';
import { documentEntry, documentKinds, documentLife, type Entry, kubeletEntry } from '../fields.ts';
import { FIRST_VERSION, LAST_VERSION } from '../versions.ts';
import type { LintSubject, Rule, RuleFinding } from './finding.ts';
import { KUBELET_FLAGS, PROTECTED_FIELDS } from './kubelet-settings.ts';
import { nearest } from './nearest.ts';
import { successorIn } from './successors.ts';
import { isCertificateField, type UnknownFact, unknownFacts, unknownReason } from './unknown-facts.ts';

/** Where `machine` and `cluster` have a field of that name. Empty for common names, which identify nothing. */
function placesOf(name: string): readonly Path[] {
  const places = placesByName().get(name) ?? [];
  const ofKubelet = kubeletSection(name);
  if (places.length === 0 && ofKubelet) return [['machine', 'kubelet', ofKubelet.older, name]];
  return places.length <= MANY ? places : [];
}

/** The free section of the kubelet that has a setting, by the names of the older form and of KubeletConfig. */
function kubeletSection(name: string): { readonly older: string; readonly newer: string } | undefined {
  if (KUBELET_FLAGS.includes(name)) return { older: 'extraArgs', newer: 'extraArgs' };
  return kubeletEntry().children.has(name) && !PROTECTED_FIELDS.includes(name)
    ? { older: 'extraConfig', newer: 'config' }
    : undefined;
}

/** With more places than this, the name alone does not identify the field. */
const MANY = 2;

const placesByName = lazy((): ReadonlyMap<string, readonly Path[]> => {
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
});

export const UNKNOWN_FIELD: Rule = {
  id: 'unknown-field',
  severity: 'refused',
  needsKnownVersion: true,
  about: `A field, or a kind of document, that no Talos from 1.${FIRST_VERSION} to 1.${LAST_VERSION} has: Talos refuses the whole configuration.`,
  check: (subject) => [
    ...subject.configuration.documents.flatMap(unknownKind),
    ...unknownFacts(subject).filter(isNowhere).map(nowhere),
  ],
};

export const MISPLACED_FIELD: Rule = {
  id: 'misplaced-field',
  severity: 'refused',
  needsKnownVersion: true,
  about:
    'A setting in the wrong section: of the kubelet or the node under `cluster`, of the cluster under `machine.kubelet`, or one level too high or too low.',
  check: (subject) =>
    unknownFacts(subject)
      .filter((fact) => !isNowhere(fact) && !isCertificateField(fact))
      .map((fact) => misplaced(fact, subject)),
};

function isNowhere(fact: UnknownFact): boolean {
  if (isCertificateField(fact)) return false;
  const { document, name, beside } = fact;
  return kindOf(document) !== undefined || nearest(name, beside) !== undefined || placesOf(name).length === 0;
}

function nowhere(fact: UnknownFact): RuleFinding {
  const { document, path, name, beside } = fact;
  const ofKubelet = kindOf(document) === undefined ? undefined : kubeletSection(name);
  const meant = nearest(name, beside) ?? beside.find((field) => name.toLowerCase().endsWith(field.toLowerCase()));
  return {
    document,
    path,
    reason: unknownReason(fact),
    fix: meant
      ? `did you mean ${meant}?`
      : ofKubelet
        ? `move it to ${ofKubelet.newer} of a KubeletConfig document`
        : 'remove it',
  };
}

function misplaced(fact: UnknownFact, { configuration, version }: LintSubject): RuleFinding {
  const { document, path, name } = fact;
  const kinds = configuration.documents.map(kindOf);
  const places = placesOf(name).map((place) => {
    const newer = successorIn(place, version, kinds);
    return newer === undefined ? formatPath(place) : `a ${newer} document`;
  });
  return {
    document,
    path,
    reason: unknownReason(fact),
    fix: `move it to ${places.join(' or ')}`,
  };
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
      fix: meant ? `did you mean ${meant}?` : 'remove the document',
    },
  ];
}

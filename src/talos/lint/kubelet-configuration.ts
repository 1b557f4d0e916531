import type { SourceDocument } from '../../files/documents.ts';
import { isMapping, valueAt } from '../../kubernetes/json.ts';
import { formatPath, type Path } from '../../policy/problem.ts';
import { kindOf } from '../document-values.ts';
import { entryAt, kubeletEntry } from '../fields.ts';
import { type TypeFault, typeFaults } from '../type-check.ts';
import { formatVersion } from '../versions.ts';
import { lifeFact } from './field-facts.ts';
import type { LintSubject, Rule, RuleFinding } from './finding.ts';
import { KUBELET_CONFIGURATIONS, NOT_KUBELET_CONFIGURATION, PROTECTED_FIELDS } from './kubelet-settings.ts';
import { nearest } from './nearest.ts';
import { typeInWords, valueInWords, writeInstead } from './types-in-words.ts';

// Talos decodes the section with the types of the Kubernetes that it was built with, strictly (prepareExtraConfig of its KubeletSpecController).
// Validation accepts it all the same: only the controller fails, and repeats that.

const CONSEQUENCE = 'no change reaches the kubelet any more, and on a new node it does not start';

export const KUBELET_CONFIGURATION: Rule = {
  id: 'kubelet-configuration',
  severity: 'refused',
  about:
    "A value in the kubelet's configuration (`machine.kubelet.extraConfig`, since 1.14 `config` of KubeletConfig) of the wrong type, `timeAdded` of a taint, or one of the thirteen fields that Talos sets itself: Talos refuses it, or the kubelet gets no configuration.",
  check: (subject) => [...kubeletWrongTypes(subject), ...eachSection(subject, refusedFields)],
};

export const KUBELET_FIELD: Rule = {
  id: 'kubelet-field',
  severity: 'refused',
  needsKnownVersion: true,
  about:
    "A field in the kubelet's configuration that the kubelet does not have, such as `registerWithTaint`, or not in the version of Kubernetes that this Talos was built with: Talos decodes it strictly, and the kubelet gets no configuration.",
  check: (subject) =>
    eachSection(subject, (section) =>
      section.faults.flatMap((fault) =>
        fault.fault === 'unknown field' ? unknownField(section, fault.path, subject) : [],
      ),
    ),
};

/** Exported for the commands that read declarations, which a value of the wrong type hides. */
export function kubeletWrongTypes(subject: Pick<LintSubject, 'configuration' | 'version'>): RuleFinding[] {
  return eachSection(subject, (section) =>
    section.faults.flatMap((fault) => (fault.fault === 'wrong type' ? [wrongType(section, fault)] : [])),
  );
}

interface KubeletSection {
  readonly document: SourceDocument;
  readonly path: Path;
  readonly value: Readonly<Record<string, unknown>>;
  /** Without those of fields that Talos refuses as such. */
  readonly faults: readonly TypeFault[];
}

function eachSection(
  { configuration, version }: Pick<LintSubject, 'configuration' | 'version'>,
  check: (section: KubeletSection) => RuleFinding[],
): RuleFinding[] {
  return configuration.documents.flatMap((document) =>
    KUBELET_CONFIGURATIONS.filter(({ kind }) => kind === kindOf(document)).flatMap(({ path }) => {
      const value = valueAt(document.value, path);
      if (!isMapping(value)) return [];
      const faults = typeFaults(value, { entry: kubeletEntry(), decoder: 'kubelet', version }).filter(
        ({ path: [field] }) => !PROTECTED_FIELDS.includes(String(field)),
      );
      return check({ document, path, value, faults });
    }),
  );
}

function wrongType(
  { document, path, value }: KubeletSection,
  { path: within, type }: TypeFault & { type: string },
): RuleFinding {
  const wrongValue = valueAt(value, within);
  const text = document.scalar([...path, ...within]);
  const isUnquoted = type === 'text' && (typeof wrongValue === 'number' || typeof wrongValue === 'boolean');
  return {
    document,
    path: [...path, ...within],
    reason: `this is ${valueInWords(wrongValue)}, and the kubelet reads ${typeInWords(type)}: ${CONSEQUENCE}`,
    fix: isUnquoted
      ? `put the value in quotes${isOfTaint(within) && text !== undefined ? `: ${within.at(-1)}: "${text}"` : ''}`
      : writeInstead(type, wrongValue, undefined),
  };
}

/** What is in taints is no secret. */
function isOfTaint([list]: Path): boolean {
  return list === 'registerWithTaints';
}

function unknownField({ document, path }: KubeletSection, within: Path, { version }: LintSubject): RuleFinding[] {
  const name = String(within.at(-1));
  // misplaced-flag says where these belong.
  if (within.length === 1 && NOT_KUBELET_CONFIGURATION.has(name)) return [];
  const life = entryAt(kubeletEntry(), within)?.life;
  const at = { document, path: [...path, ...within] };
  const fact = life && lifeFact(life, version);
  if (life && fact) {
    const when = fact === 'too new' ? `only since Talos 1.${life.since}` : `up to Talos 1.${life.until}`;
    const reason = `${formatVersion(version)} was built with a Kubernetes whose kubelet has no ${name} (${when}): ${CONSEQUENCE}`;
    return [
      {
        ...at,
        reason,
        fix: fact === 'too new' ? `remove it, or upgrade to Talos 1.${life.since} first` : 'remove it',
      },
    ];
  }
  const beside = [...(entryAt(kubeletEntry(), within.slice(0, -1))?.children.keys() ?? [])];
  const meant = nearest(name, beside);
  const inside = formatPath(within.slice(0, -1));
  return [
    {
      ...at,
      reason: `the kubelet's configuration has no ${name}${inside === '' ? '' : ` in ${inside}`}: ${CONSEQUENCE}`,
      fix: meant
        ? `did you mean ${meant}?`
        : `remove it${beside.length <= MANY ? `; there are ${beside.join(', ')}` : ''}`,
    },
  ];
}

/** More fields than these are not listed. */
const MANY = 6;

function refusedFields({ document, path, value }: KubeletSection): RuleFinding[] {
  const taints: unknown = value.registerWithTaints;
  return [
    ...PROTECTED_FIELDS.filter((name) => Object.hasOwn(value, name)).map((name) => ({
      document,
      path: [...path, name],
      reason: `Talos sets ${name} of the kubelet itself, and refuses a configuration with it`,
      fix: 'remove it: it cannot be overridden',
    })),
    ...(Array.isArray(taints) ? [...taints.keys()] : [])
      .map((index) => ['registerWithTaints', index, 'timeAdded'])
      .filter((within) => valueAt(value, within) != null)
      .map((within) => ({
        document,
        path: [...path, ...within],
        reason: 'the kubelet does not start with a taint that has timeAdded: the API server sets it',
        fix: 'remove it',
      })),
  ];
}

import { isGoTimestamp } from '../../files/go-scalars.ts';
import { isMapping, valueAt } from '../../kubernetes/json.ts';
import { kindOf } from '../document-values.ts';
import { below, type FieldLocation } from '../field-location.ts';
import { documentEntry, type Entry, isStruct, typeIn } from '../fields.ts';
import { surelySince } from '../versions.ts';
import type { LintSubject, Rule, RuleFinding } from './finding.ts';

// Talos decodes each document by go-yaml, which merges, and then compares the keys of the text with those of its types (CheckUnknownKeys of
// siderolabs/gen/xyaml), where `<<` is a key like any other. An alias below it is followed only since gen 0.8.8. go-yaml refuses a timestamp for a text
// since 4.0.0-rc.6. Talos 1.14 has both. Every version copies its configuration, and cannot copy a date that is in a section of any content
// (deepCopyUnstructured of its Unstructured).

/** The first minor version of Talos 1 with both. */
const STRICTER_SINCE = 14;

export const NOTATION: Rule = {
  id: 'notation',
  severity: 'refused',
  about:
    'YAML that Talos does not decode: a merge key (`<<`) in a mapping of fields, such as `machine.kubelet`, or with something other than one alias, such as a list. A date without quotes in a section whose content Talos does not check, such as `extraConfig`: Talos cannot copy it. Since Talos 1.14 also a merge key in labels, taints and other mappings of names, and a date without quotes in place of a text. Talos refuses the whole configuration.',
  check: ({ configuration: { documents }, version }) =>
    documents.flatMap((document) => {
      const kind = kindOf(document);
      if (kind !== undefined && typeof kind !== 'string') return [];
      return within({ document, path: [] }, { entry: documentEntry(kind), type: 'struct', version });
    }),
};

/** The type of the table for a part of a section with any content. */
const ANY_VALUE = 'any';

/** The type of what is not in the table. */
const UNKNOWN = 'unknown';

/** The type of the table at a place. */
interface Expected extends Pick<LintSubject, 'version'> {
  readonly entry: Entry | undefined;
  readonly type: string;
}

function within(at: FieldLocation, expected: Expected): RuleFinding[] {
  const value = valueAt(at.document.value, at.path);
  if (typeof value === 'string') return date(at, value, expected);
  const withinPart = (key: string | number) => within(below(at, key), expectedBelow(expected, String(key)));
  if (Array.isArray(value)) return [...value.keys()].flatMap(withinPart);
  if (!isMapping(value) || !expected.entry) return [];
  return [...mergeKey(at, expected), ...Object.keys(value).flatMap(withinPart)];
}

function expectedBelow({ entry, type, version }: Expected, part: string): Expected {
  if (/^(\[\]|\{\})/.test(type)) return { entry: entry?.children.get('*') ?? entry, type: type.slice(2), version };
  if (type === ANY_VALUE) return { entry, type, version };
  const field = isStruct(type) ? entry?.children.get(part) : undefined;
  return { entry: field, type: field ? typeIn(field, version) : UNKNOWN, version };
}

function mergeKey({ document, path }: FieldLocation, { type, version }: Expected): RuleFinding[] {
  const notation = document.notation(path);
  const isAlias = notation === 'merged alias';
  if (!isAlias && notation !== 'merged mappings') return [];
  const found = (what: string, fix: string) => [
    { document, path: [...path, '<<'], reason: `${what}: it refuses the configuration`, fix },
  ];
  const instead = 'write its entries here, with an alias for each value (key: *name)';
  if (isStruct(type)) return found('Talos decodes no merge key (<<) in a mapping of fields', instead);
  // Anything may be below these, and an argument decodes itself.
  if (!type.startsWith('{}') || type === '{}any' || (type === '{}arg' && !isAlias)) return [];
  if (surelySince(version, STRICTER_SINCE)) return found(`Talos 1.${version} decodes no merge key (<<) here`, instead);
  return isAlias ? [] : found('Talos decodes a merge key (<<) here only up to 1.13, and only with one alias', instead);
}

function date({ document, path }: FieldLocation, value: string, { type, version }: Expected): RuleFinding[] {
  const isRefused = type === ANY_VALUE || (type === 'text' && surelySince(version, STRICTER_SINCE));
  if (!isRefused || document.notation(path) !== 'plain' || !isGoTimestamp(value)) return [];
  const reason =
    type === ANY_VALUE
      ? 'this is a date, which Talos cannot copy: it does not apply the configuration'
      : `this is a date, and Talos 1.${version} reads a text: it refuses the configuration`;
  return [{ document, path, reason, fix: 'put it in quotes' }];
}

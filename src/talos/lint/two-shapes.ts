import { groupsBy } from '../../collections/groups-by.ts';
import type { SourceDocument } from '../../files/documents.ts';
import { isMapping, valueAt } from '../../kubernetes/json.ts';
import { formatPath, type Path } from '../../policy/problem.ts';
import { allConflicts, type Conflict, namesakeVersions } from '../document-conflicts.ts';
import { booleanAt, kindOf, textAt } from '../document-values.ts';
import { documentLife } from '../fields.ts';
import { CONTROL_PLANE_TAINT } from '../node-declaration.ts';
import { surelyBefore, surelyIn } from '../versions.ts';
import type { Rule, RuleFinding } from './finding.ts';
import { insteadOf } from './successors.ts';

export const TWO_SHAPES: Rule = {
  id: 'two-shapes',
  severity: 'refused',
  about:
    'The same setting in `machine` or `cluster` and in the document that took its place: Talos refuses the whole configuration.',
  check({ configuration: { documents }, version }) {
    const older = documents.filter((document) => kindOf(document) === undefined);
    const conflicts = allConflicts().flatMap((conflict) => {
      const newer = documents.filter((document) => stands(conflict, document));
      if (newer.length === 0 || !isInForce(conflict, version)) return [];
      return older.flatMap((document) =>
        says(document, conflict.path, conflict.test) ? [{ document, path: conflict.path, newer }] : [],
      );
    });
    const places = groupsBy(conflicts, ({ document, path }) => `${older.indexOf(document)} ${formatPath(path)}`);
    return places.map((alike) => {
      const [{ document, path }] = alike;
      const newer = [...new Set(alike.flatMap((each) => each.newer))];
      return conflicting(document, path, newer, version);
    });
  },
};

/** field-version reports a document that is too new for this Talos. */
function isInForce(conflict: Conflict, version: number | undefined): boolean {
  const kindSince = documentLife(conflict.kind)?.since ?? conflict.since;
  // The versions of a field that was added to the document later.
  const from = conflict.when.length > 0 ? conflict.since : kindSince;
  return surelyIn(conflict, version, from) && !surelyBefore(version, kindSince);
}

function stands({ kind, when }: Conflict, document: SourceDocument): boolean {
  if (kindOf(document) !== kind) return false;
  return when.every((each) =>
    'name' in each ? textAt(document, ['name']) === each.name : says(document, [each.field], 'full'),
  );
}

/** As Go reads it: null is absent, and so is, for some fields, an empty or zero value. */
function says(document: SourceDocument, path: Path, test: Conflict['test']): boolean {
  const value = valueAt(document.value, path);
  if (value === undefined || value === null) return false;
  if (test === 'set') return true;
  if (test === 'true') return booleanAt(document, path) === true;
  if (Array.isArray(value)) return value.length > 0;
  if (isMapping(value)) return Object.keys(value).length > 0;
  return !/^(0[a-z]*)?$/.test(String(value));
}

function conflicting(
  document: SourceDocument,
  path: Path,
  newer: readonly SourceDocument[],
  version: number | undefined,
): RuleFinding {
  const kinds = [...new Set(newer.map(kindOf))];
  const places = newer.map((each) => each.locate([])).join(', ');
  return {
    document,
    path,
    reason: `beside documents of kind ${kinds.join(' and ')} (${places}), Talos refuses this in the older shape`,
    fix: /^allowScheduling/.test(String(path.at(-1)))
      ? `remove it: beside a KubeNodeConfig, nothing but the taint ${CONTROL_PLANE_TAINT.key} of its own keeps ordinary pods off`
      : `remove it, or those documents; ${insteadOf(document, path, version) ?? `set the same in a document of kind ${kinds[0]}`}`,
  };
}

export const SAME_NAME: Rule = {
  id: 'same-name',
  severity: 'refused',
  about:
    'Documents of two kinds for one thing, such as a BondConfig and a LinkConfig of the same name: Talos refuses the whole configuration.',
  check({ configuration: { documents }, version }) {
    return documents.flatMap((document, index) => {
      const name = textAt(document, ['name']);
      const kind = kindOf(document);
      if (name === undefined || name === '' || typeof kind !== 'string') return [];
      const other = documents.slice(0, index).find((earlier) => {
        const versions = namesakeVersions(kind, String(kindOf(earlier)));
        if (!versions || textAt(earlier, ['name']) !== name) return false;
        return surelyIn(versions, version, versions.since);
      });
      if (!other) return [];
      return [
        {
          document,
          path: ['name'],
          reason: `a document of kind ${kindOf(other)} (${other.locate([])}) has the same name: Talos refuses a configuration with both`,
          fix: 'keep one of the two, or give one another name',
        },
      ];
    });
  },
};

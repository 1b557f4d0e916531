import {
  all,
  any,
  cel,
  choose,
  type Expression,
  FALSE,
  LIST_COST,
  literal,
  referenced,
  STRUCT_COST,
  type Variable,
} from '../cel/expression.ts';
import { EMPTY, each, isEmpty, those, together } from '../cel/lists.ts';
import { ALLOWS_ITSELF } from '../cel-rules/annotations.ts';
import { EXACT_NAME, FORMATTED } from '../cel-rules/taints.ts';
import { ALLOW_REMOVAL_ANNOTATION, MAX_ALLOW_REMOVAL_LENGTH } from '../judge/allow-removal.ts';
import { jsonPointer } from '../kubernetes/json-patch.ts';
import { ENTRIES, MAX_ENTRIES, SPLIT_COST } from './allow-removal-entries.ts';

/** JSONPatch operations on the annotation `allow-removal`, and the variables that they use, in the order of use. */
export interface AllowRemovalRewrite {
  readonly variables: readonly Variable[];
  readonly operations: Expression;
}

/** The path of the annotation in an object, as a literal in CEL. */
const PATH = literal(jsonPointer('metadata', 'annotations', ALLOW_REMOVAL_ANNOTATION));

/** Cost of joining the longest annotation that is read, and as many new entries as fit: 0.2 for each of 59,000 characters, and room for the lists. */
const JOIN_COST = 14_000;

/** Cost of searching for each entry among two names of so many taints, with a comparison of 400 characters. */
const comparison = (size: number) => MAX_ENTRIES * (2 * size + 40);

/**
 * {@link rewriteAllowRemoval} in CEL.
 *
 * @param entriesEnded the taints whose entries end
 * @param more the taints that get an entry
 */
export function rewritingAllowRemoval(entriesEnded: Expression, more: Expression): AllowRemovalRewrite {
  const endedTaints: Variable = { name: 'ended', definition: entriesEnded };
  const endedNames: Variable = {
    name: 'endedNames',
    definition: together([each(endedTaints, FORMATTED), each(endedTaints, EXACT_NAME)]),
  };
  const keptEntries: Variable = {
    name: 'keptEntries',
    definition: cel(comparison)`${ENTRIES}.filter(e, e != "" && !(e in ${endedNames}))`,
  };
  const moreTaints: Variable = { name: 'more', definition: more };
  const isNew = cel(2 * MAX_ENTRIES)`!(${FORMATTED} in ${ENTRIES} || ${EXACT_NAME} in ${ENTRIES})`;
  const newTaints: Variable = { name: 'moreNew', definition: those(moreTaints, isNew) };
  const newNames: Variable = { name: 'newNames', definition: each(newTaints, FORMATTED) };
  const fits = all([
    cel(4)`size(${keptEntries}) + size(${newTaints}) <= ${MAX_ENTRIES}`,
    cel(JOIN_COST)`size((${keptEntries} + ${newNames}).join(",")) <= ${MAX_ALLOW_REMOVAL_LENGTH}`,
  ]);
  const newEntries: Variable = { name: 'newEntries', definition: choose(fits, referenced(newNames), EMPTY) };
  const allEntries: Variable = {
    name: 'allEntries',
    // Both lists are copied.
    definition: cel((size) => size + MAX_ENTRIES + 4)`${keptEntries} + ${newEntries}`,
  };
  const changes = any([
    entriesEnded === EMPTY ? FALSE : cel(comparison)`${ENTRIES}.exists(e, e in ${endedNames})`,
    more === EMPTY ? FALSE : cel(2)`size(${newEntries}) > 0`,
  ]);
  return {
    variables: [endedTaints, endedNames, keptEntries, moreTaints, newTaints, newNames, newEntries, allEntries],
    operations: choose(changes, written(allEntries), EMPTY),
  };
}

const DELETED = cel(LIST_COST + STRUCT_COST + 6)`[JSONPatch{op: "remove", path: ${PATH}}]`;

/** JSONPatch operations that delete the annotation of a new node. Another policy may have deleted it before. */
export const DELETED_FROM_NEW_NODE: Expression = choose(ALLOWS_ITSELF, DELETED, EMPTY);

/** The annotation with these entries, or none for none. */
function written(entries: Variable): Expression {
  return choose(
    isEmpty(entries),
    DELETED,
    cel(
      SPLIT_COST,
    )`(has(object.metadata.annotations) ? [] : [JSONPatch{op: "add", path: "/metadata/annotations", value: {}}]) +
[JSONPatch{op: "add", path: ${PATH}, value: ${entries}.join(",")}]`,
  );
}

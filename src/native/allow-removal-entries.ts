import { cel, type Expression, LIST_COST, type Variable } from '../cel/expression.ts';
import { those } from '../cel/lists.ts';
import { ALLOW_REMOVAL_AFTER, ALLOW_REMOVAL_BEFORE } from '../cel-rules/annotations.ts';
import { EXACT_NAME, FORMATTED } from '../cel-rules/taints.ts';
import { MAX_ALLOW_REMOVAL_ENTRIES, MAX_ALLOW_REMOVAL_LENGTH } from '../judge/allow-removal.ts';

/** The number of parts into which the annotation is divided: the last one has the rest, and names no taint. */
export const MAX_ENTRIES = MAX_ALLOW_REMOVAL_ENTRIES;

/** Cost of splitting an annotation, which can have 256 KiB, and of trimming its parts: 0.2 and 0.1 for each character, 79,000, and room for its size. */
export const SPLIT_COST = 110_000;

/** {@link parseAllowedRemovals} in CEL. */
function entriesOf(annotation: Variable): Expression {
  return cel(
    SPLIT_COST + MAX_ENTRIES * 30,
  )`size(${annotation}) > ${MAX_ALLOW_REMOVAL_LENGTH} ? [] : ${annotation}.split(",", ${MAX_ENTRIES}).map(e, e.trim())`;
}

/** The entries of the allow-removal annotation before an update, and after it. */
export const ALLOWED: Variable = { name: 'allowed', definition: entriesOf(ALLOW_REMOVAL_BEFORE) };
export const ENTRIES: Variable = { name: 'entries', definition: entriesOf(ALLOW_REMOVAL_AFTER) };

/** True for a taint `t` that an entry of the list names, with its value. */
function isNamedIn(list: Variable): Expression {
  return cel(LIST_COST + 2 * (MAX_ENTRIES + 12))`[${FORMATTED}, ${EXACT_NAME}]\n  .exists(name, name in ${list})`;
}

/** Those of the removed taints whose removal the annotation allows. */
export function allowedByAnnotation(removals: Variable): Variable {
  return { name: 'allowedByAnnotation', definition: those(removals, isNamedIn(ALLOWED)) };
}

import { cel, choose, type Expression, literal, type Variable } from '../cel/expression.ts';
import { EMPTY, each, isEmpty, together } from '../cel/lists.ts';
import { EXACT_NAME, IDENTITY } from '../conditions/taints.ts';
import { ALLOW_REMOVAL_ANNOTATION } from '../judge/allow-removal.ts';
import { jsonPointer } from '../kubernetes/json-pointer.ts';
import { ENTRIES, MAX_ALLOWED_REMOVALS, NOTICE, SPLIT_COST } from './node-variables.ts';

/** JSONPatch operations on the annotation `allow-removal`, and the variables that they use, in the order of use. */
export interface Bookkeeping {
  readonly variables: readonly Variable[];
  readonly operations: Expression;
}

/** The path of the annotation in an object, as a literal in CEL. */
const PATH = literal(jsonPointer('metadata', 'annotations', ALLOW_REMOVAL_ANNOTATION));

/** The taints of the list as entries name them. */
function namesOf(list: string): Expression {
  return together([each(list, IDENTITY), each(list, EXACT_NAME)]);
}

/** Cost of searching for entries among so many names. */
const comparison = (size: number) => MAX_ALLOWED_REMOVALS * (2 * size + 40);

const GONE_NAMES: Variable = { name: 'goneNames', definition: namesOf('gone') };
const UNSPENT: Variable = {
  name: 'unspent',
  definition: cel(comparison)`${ENTRIES}.filter(e, e != "" && !(e in ${GONE_NAMES}))`,
};
const NONE_SPENT: Expression = cel(comparison)`!${ENTRIES}.exists(e, e in ${GONE_NAMES})`;

/** Without taintkeeper in the cluster: deletes the announcements of taints that are `gone`, so that they work once. */
export const SPENDING: Bookkeeping = {
  variables: [GONE_NAMES, UNSPENT],
  operations: choose(NONE_SPENT, EMPTY, written(UNSPENT)),
};

const NOTICES: Variable = { name: 'notices', definition: each('gone', NOTICE) };
const NEW_NOTICES: Variable = {
  name: 'newNotices',
  definition: cel(comparison)`${NOTICES}.filter(e, !(e in ${UNSPENT}))`,
};
const ALL_ENTRIES: Variable = {
  name: 'allEntries',
  definition: cel((size) => size + 70)`${UNSPENT} + ${NEW_NOTICES}`,
};

/** With taintkeeper in the cluster: as the webhook's mutation, also writes a notice, by which the leader records the removal. */
export const NOTING: Bookkeeping = {
  variables: [GONE_NAMES, UNSPENT, NOTICES, NEW_NOTICES, ALL_ENTRIES],
  operations: choose(
    cel((size) => comparison(size) + 5)`size(${NEW_NOTICES}) == 0 && ${NONE_SPENT}`,
    EMPTY,
    written(ALL_ENTRIES),
  ),
};

/** The annotation with these entries, or none for none. */
function written(entries: Variable): Expression {
  return choose(
    isEmpty(entries.name),
    cel(60)`[JSONPatch{op: "remove", path: ${PATH}}]`,
    cel(
      SPLIT_COST,
    )`(has(object.metadata.annotations) ? [] : [JSONPatch{op: "add", path: "/metadata/annotations", value: {}}]) +
[JSONPatch{op: "add", path: ${PATH}, value: ${entries}.join(", ")}]`,
  );
}

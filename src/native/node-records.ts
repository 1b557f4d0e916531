import { all, any, cel, choose, type Expression, FALSE, literal, reference, type Variable } from '../cel/expression.ts';
import { EMPTY, each, those, together } from '../cel/lists.ts';
import { conditionsOf } from '../conditions/node-policies.ts';
import { annotationOf } from '../conditions/node-update.ts';
import { isProtected } from '../conditions/protected-taints.ts';
import { FORMATTED, IDENTITY, notAmong } from '../conditions/taints.ts';
import { MAX_RESTORED_LENGTH, RESTORED_ANNOTATION, RESTORED_SEPARATOR, TAKEN_OUT } from '../judge/node-view.ts';
import { MAX_REMOVED, REMOVED_ANNOTATION, REMOVED_SEPARATOR } from '../judge/removal.ts';
import { jsonPointer } from '../kubernetes/json-pointer.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { entriesOf, SPLIT_COST } from './node-variables.ts';

/** Where in an object an annotation stands (RFC 6901), as a literal in CEL. */
export function pathOf(annotation: string): string {
  return literal(jsonPointer('metadata', 'annotations', annotation));
}

/** Entries of the annotation that are told apart. */
const MAX_ENTRIES = 64;

const OLD_RECORD: Variable = { name: 'oldRecord', definition: annotationOf('object', RESTORED_ANNOTATION) };
const RECORDED: Variable = { name: 'recorded', definition: entriesOf(OLD_RECORD, MAX_ENTRIES) };
const JOINED_RECORDS: Variable = {
  name: 'records',
  definition: cel(
    (size) => size * 120 + SPLIT_COST,
  )`(${reference('news')} + ${RECORDED}.filter(e, e != "")).join(${literal(RESTORED_SEPARATOR)})`,
};
const NEW_RECORD: Variable = {
  name: 'record',
  definition: cel(
    SPLIT_COST,
  )`size(${JOINED_RECORDS}) > ${MAX_RESTORED_LENGTH} ? ${JOINED_RECORDS}.substring(0, ${MAX_RESTORED_LENGTH}) : ${JOINED_RECORDS}`,
};

/** What {@link RECORD} uses, of the taints that are `restored` for this policy, and with some that are `reverted`, of those. */
export function recordVariables(policy: string, reverts: boolean): Variable[] {
  const entries = (list: string, sign = '') =>
    each(list, cel(FORMATTED.cost(0))`${literal(`${policy} ${sign}`)} + ${FORMATTED}`);
  const all = reverts ? together([entries('restored'), entries('reverted', TAKEN_OUT)]) : entries('restored');
  const news = cel(
    (size) => 2 * size * (FORMATTED.cost(size) + 80 + MAX_ENTRIES),
  )`${reverts ? cel(0)`(${all})` : all}\n  .filter(e, !(e in ${RECORDED}))`;
  return [OLD_RECORD, RECORDED, { name: 'news', definition: news }, JOINED_RECORDS, NEW_RECORD];
}

/** JSONPatch operations that write the annotation, where there may be none yet. */
function writing(annotation: string, value: Variable): Expression {
  return cel(
    200,
  )`(has(object.metadata.annotations) ? [] : [JSONPatch{op: "add", path: "/metadata/annotations", value: {}}]) +
[JSONPatch{op: "add", path: ${pathOf(annotation)}, value: ${value}}]`;
}

/** JSONPatch operations that write down what was put back: for the webhook behind, which alone can tell the requester. */
export const RECORD: Expression = writing(RESTORED_ANNOTATION, NEW_RECORD);

/** In characters. What would make it longer is not recorded: 64 taints of ordinary names fit. */
const MAX_LENGTH = 8_192;

/** JSONPatch operations that record which required taints are `gone` by exemption, {@link recordRemovals} in CEL, and what they use. */
export interface RemovalRecord {
  readonly variables: readonly Variable[];
  /** None where the policy exempts nobody, or requires no taint. */
  readonly operations: readonly Expression[];
}

const OLD_REMOVED: Variable = { name: 'oldRemoved', definition: annotationOf('object', REMOVED_ANNOTATION) };
const REMOVALS: Variable = { name: 'removals', definition: entriesOf(OLD_REMOVED, MAX_REMOVED + 1) };
const NEW_REMOVALS: Variable = {
  name: 'newRemovals',
  definition: cel(
    (size) => size * (FORMATTED.cost(size) + 40 + MAX_REMOVED),
  )`${each('goneByExemption', FORMATTED)}\n  .filter(e, !(e in ${REMOVALS}))`,
};
const ALL_REMOVALS: Variable = {
  name: 'allRemovals',
  definition: cel(
    (size) => size * 120 + SPLIT_COST,
  )`(${REMOVALS}.filter(e, e != "") + ${NEW_REMOVALS}).join(${literal(REMOVED_SEPARATOR)})`,
};

/**
 * What is on the list already stays: to take out what is over is left to the webhook and the leader.
 * @param exempt true for a requester whom the policy exempts
 */
export function removalRecord(policy: CompiledTaintPolicy, exempt: Expression): RemovalRecord {
  const present = policy.rules.filter(({ ensure }) => ensure === 'Always');
  if (exempt === FALSE || present.length === 0) return { variables: [], operations: [] };
  const { named = [], others = [] } = Object.groupBy(present, ({ value }) =>
    value === undefined ? 'others' : 'named',
  );
  // Any other value is as good to a rule that names none.
  const isBare = notAmong(IDENTITY, 'afterIds');
  const goneByExemption = those('gone', any([isProtected(named, FALSE), all([isProtected(others, FALSE), isBare])]));
  const records = all([
    exempt,
    conditionsOf(policy).selects.after,
    cel(3)`size(${NEW_REMOVALS}) > 0`,
    cel(3)`size(${ALL_REMOVALS}) <= ${MAX_LENGTH}`,
  ]);
  return {
    variables: [
      OLD_REMOVED,
      REMOVALS,
      { name: 'goneByExemption', definition: goneByExemption },
      NEW_REMOVALS,
      ALL_REMOVALS,
    ],
    operations: [choose(records, writing(REMOVED_ANNOTATION, ALL_REMOVALS), EMPTY)],
  };
}

import { annotationOf } from '../cel/annotations.ts';
import { type Expression, literal, other, type Variable } from '../cel/expression.ts';
import { mapped } from '../cel/lists.ts';
import { WRITTEN } from '../cel/written-taint.ts';
import { pathOf } from './annotation-path.ts';
import { entriesOf, SPLIT_COST } from './node-subject.ts';
import { MAX_RESTORED_LENGTH, RESTORED_ANNOTATION, RESTORED_SEPARATOR } from './restored-annotation.ts';

/** Entries of the annotation that are told apart. */
const MAX_ENTRIES = 64;

/** What {@link RECORD} uses, of the taints that are `restored` for this policy. */
export function recordVariables(policy: string): Variable[] {
  return [
    { name: 'oldRecord', definition: annotationOf('object', RESTORED_ANNOTATION) },
    { name: 'recorded', definition: entriesOf('oldRecord', MAX_ENTRIES) },
    {
      name: 'news',
      definition: other(
        `${mapped('restored', `${literal(`${policy} `)} + ${WRITTEN.text}`)}\n  .filter(e, !(e in recorded))`,
        (size) => size * (WRITTEN.cost(size) + 80 + MAX_ENTRIES),
        ['restored', 'recorded'],
      ),
    },
    {
      name: 'records',
      definition: other(
        `(news + recorded.filter(e, e != "")).join(${literal(RESTORED_SEPARATOR)})`,
        (size) => size * 120 + SPLIT_COST,
        ['recorded', 'news'],
      ),
    },
    {
      name: 'record',
      definition: other(
        `size(records) > ${MAX_RESTORED_LENGTH} ? records.substring(0, ${MAX_RESTORED_LENGTH}) : records`,
        SPLIT_COST,
        ['records'],
      ),
    },
  ];
}

/** JSONPatch operations that write down what was put back: for the webhook behind, which alone can tell the requester. */
export const RECORD: Expression = other(
  `(has(object.metadata.annotations) ? [] : [JSONPatch{op: "add", path: "/metadata/annotations", value: {}}]) +
[JSONPatch{op: "add", value: record, path: ${pathOf(RESTORED_ANNOTATION)}}]`,
  200,
  ['record'],
);
